import type { StageRecord } from '../../core/pipeline/plugin-context.ts';
import { RouterError } from '../../errors.ts';
import type { Detector } from './detector.ts';
import type { PlacedFinding, Scan } from './scan.ts';

/** Places that a stage names; the rest is counted. */
const MAX_PLACES = 20;

const DONE = { flag: 'flagged', redact: 'redacted', block: 'blocked' } as const;

/**
 * The stages of what was found, in the order of the guardrails (gaps 6.5). They say which patterns were found and
 * where, and never what stood there. When something is blocked, nothing is redacted any more.
 */
export function stagesOf(scan: Scan): readonly StageRecord[] {
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
export function blockingError(scan: Scan): RouterError | undefined {
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
