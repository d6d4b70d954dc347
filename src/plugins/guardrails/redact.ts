/** A stretch of a text and what stands in its place. */
export interface Redaction {
  readonly start: number;
  readonly end: number;
  readonly placeholder: string;
}

/** Takes stretches out of a text. Those that overlap go together, under the placeholder of the longest. */
export function redact(text: string, redactions: readonly Redaction[]): string {
  if (redactions.length === 0) return text;
  const sorted = [...redactions].sort((left, right) => left.start - right.start || right.end - left.end);
  const parts: string[] = [];
  let open: Redaction | undefined;
  let at = 0;
  const close = (): void => {
    if (open === undefined) return;
    parts.push(text.slice(at, open.start), open.placeholder);
    at = open.end;
  };
  for (const next of sorted) {
    if (open === undefined || next.start >= open.end) {
      close();
      open = next;
      continue;
    }
    const longer = next.end - next.start > open.end - open.start ? next : open;
    open = { start: open.start, end: Math.max(open.end, next.end), placeholder: longer.placeholder };
  }
  close();
  return parts.join('') + text.slice(at);
}
