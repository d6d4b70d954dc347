import type { ReasoningDetail } from '../../protocol/reasoning.ts';

type Loose = ReasoningDetail & { text?: string | null; summary?: string; data?: string; signature?: string | null };

/**
 * Joins the fragments of streamed reasoning details: neighbours of the same type and index become one, text runs on,
 * and a signature that comes last stays with the text it signs. Bytes are never changed.
 */
export function joinReasoningDetails(fragments: readonly ReasoningDetail[]): readonly ReasoningDetail[] {
  const joined: Loose[] = [];
  for (const fragment of fragments as readonly Loose[]) {
    const last = joined.at(-1);
    if (last !== undefined && continues(last, fragment)) joined[joined.length - 1] = append(last, fragment);
    else joined.push({ ...fragment });
  }
  return joined;
}

function continues(last: Loose, next: Loose): boolean {
  if (last.type !== next.type || next.type === 'reasoning.encrypted') return false;
  if (next.type === 'reasoning.server_tool_call') return false;
  if (last.index !== next.index) return false;
  return next.id == null || last.id == null || next.id === last.id;
}

function append(last: Loose, next: Loose): Loose {
  const joined = { ...last, ...next } as Loose;
  if (last.text != null || next.text != null) joined.text = `${last.text ?? ''}${next.text ?? ''}`;
  if (last.summary !== undefined) joined.summary = `${last.summary}${next.summary ?? ''}`;
  if (next.signature == null && last.signature != null) joined.signature = last.signature;
  if (next.id == null && last.id != null) Object.assign(joined, { id: last.id });
  if (next.format == null && last.format != null) Object.assign(joined, { format: last.format });
  return joined;
}
