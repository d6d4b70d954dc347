import type { StageRecord } from '../../contracts/plugin-context.ts';
import { RouterError } from '../../protocol/router-error.ts';
import type { Detector } from './detector.ts';
import type { PlacedFinding, Scan } from './scan.ts';

/** Places that a stage names; the rest is counted. */
const MAX_PLACES = 20;

const DONE = { flag: 'flagged', redact: 'redacted', block: 'blocked' } as const;

/**
 * The stages of what was found, in the order of the guardrails (gaps 6.5). They say which patterns were found and
 * where, and never what stood there. When something is blocked, nothing is redacted any more.
 */
export function stagesOf(scan: Pick<Scan, 'found'>): readonly StageRecord[] {
  const blocked = [...scan.found.keys()].some(({ guardrail }) => guardrail.action === 'block');
  return [...scan.found].map(([{ guardrail, scope }, findings]) => {
    const action = DONE[blocked && guardrail.action === 'redact' ? 'flag' : guardrail.action];
    const patterns = patternsOf(findings);
    const injection = guardrail.type === 'prompt-injection';
    return {
      type: 'guardrail',
      name: injection ? 'regex_pi_detection' : 'content-filter',
      summary: `${action}: ${patterns.join(', ')}`,
      guardrail_id: guardrail.id,
      guardrail_scope: scope,
      data: {
        action,
        [injection ? 'detected' : 'flagged']: true,
        engines: [injection ? 'phrases' : guardrail.type === 'pii' ? 'regex' : 'words'],
        patterns,
        ...(guardrail.type === 'pii' ? { matched_entity_types: patterns } : {}),
        count: findings.length,
        matches: findings.slice(0, MAX_PLACES).map(({ pattern, path, start, end }) => ({ pattern, path, start, end })),
      },
    };
  });
}

/** The error for what was found, if one of the guardrails blocks (gaps 7.4). */
export function blockingError(scan: Pick<Scan, 'found'>): RouterError | undefined {
  const blocking = [...scan.found].find(([{ guardrail }]) => guardrail.action === 'block');
  if (blocking === undefined) return undefined;
  const [detector, findings] = blocking;
  const patterns = patternsOf(findings);
  return new RouterError({
    status: 403,
    errorType: 'permission_denied',
    message: messageOf(detector, patterns),
    metadata: { patterns },
  });
}

function messageOf({ guardrail }: Detector, patterns: readonly string[]): string {
  switch (guardrail.type) {
    case 'prompt-injection':
      return 'Request blocked: prompt injection patterns detected';
    case 'pii':
      return `Blocked PII detected: ${patterns.join(', ')}`;
    case 'content':
      return `Request blocked by content filter: ${guardrail.label}`;
  }
}

function patternsOf(findings: readonly PlacedFinding[]): readonly string[] {
  return [...new Set(findings.map(({ pattern }) => pattern))];
}

/** Something that a guardrail looks for, found in a text. Holds no text, only where it stands. */
export interface Finding {
  /** Name of the pattern or kind. */
  readonly pattern: string;
  /** UTF-16 units from the beginning of the text. */
  readonly start: number;
  readonly end: number;
}

/** A stretch of a text and what is in its place. */
interface Redaction {
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
