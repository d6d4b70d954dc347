/** Turns what guardrails found into stages, errors and redacted texts. */
import type { StageRecord } from '../../contracts/plugin-context.ts';
import { errorOf, type RouterError } from '../../protocol/router-error.ts';
import { type Detector, TextView } from './detector.ts';
import type { PromptTextPlace, TextVisitor } from '../services/prompt-texts.ts';
import type { GuardrailFinding } from './finding.ts';

/** Places that a stage names; the rest is counted. */
const MAX_PLACES = 20;

const DONE = { flag: 'flagged', redact: 'redacted', block: 'blocked' } as const;

/**
 * The stages of what was found, in the order of the guardrails (gaps 6.5). They say which patterns were found and
 * where, and never what was there. When something is blocked, nothing is redacted any more.
 */
export function stagesOf(scan: Pick<GuardrailScan, 'found'>): readonly StageRecord[] {
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
export function blockingError(scan: Pick<GuardrailScan, 'found'>): RouterError | undefined {
  const blocking = [...scan.found].find(([{ guardrail }]) => guardrail.action === 'block');
  if (blocking === undefined) return undefined;
  const [detector, findings] = blocking;
  const patterns = patternsOf(findings);
  return errorOf(403, messageOf(detector, patterns), { metadata: { patterns } });
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

/** A finding and the text in which it stands. */
export interface PlacedFinding extends GuardrailFinding {
  readonly path: string;
}

/** Characters that are looked at in one go; nobody else is served meanwhile. */
const WINDOW = 65_536;
/** Characters that two windows share, so that nothing hides at a cut. */
const OVERLAP = 1_024;
/** Nothing that is looked for is shorter. */
const SHORTEST = 2;

/** What guardrails found in the texts of one request or answer. */
export class GuardrailScan {
  readonly #detectors: readonly Detector[];
  readonly #signal: AbortSignal;
  readonly #found = new Map<Detector, PlacedFinding[]>();
  /** Characters until others get a turn. */
  #left = WINDOW;

  /**
   * @param signal - Ends the work when nobody waits any more.
   */
  constructor(detectors: readonly Detector[], signal: AbortSignal) {
    this.#detectors = detectors;
    this.#signal = signal;
  }

  /** Guardrails that found something, in their order, with what they found. */
  get found(): ReadonlyMap<Detector, readonly PlacedFinding[]> {
    return new Map(this.#detectors.flatMap((one) => (this.#found.has(one) ? [[one, this.#found.get(one) ?? []]] : [])));
  }

  /**
   * Looks at all texts of something and takes out what is to be redacted. Long texts are looked at in parts, between
   * which others get their turn.
   *
   * @param visitAll - Shows all texts to a visitor, in the same order each time it is called.
   */
  async run<Value>(visitAll: (visit: TextVisitor) => Value): Promise<Value> {
    const texts: { readonly text: string; readonly place: PromptTextPlace }[] = [];
    const unchanged = visitAll((text, place) => {
      texts.push({ text, place });
      return text;
    });
    const results: string[] = [];
    for (const { text, place } of texts) results.push(await this.#look(text, place));
    if (results.every((result, index) => result === texts[index]?.text)) return unchanged;
    let at = 0;
    return visitAll((text) => results[at++] ?? text);
  }

  async #look(text: string, place: PromptTextPlace): Promise<string> {
    const detectors = this.#detectors.filter((one) => looksAt(one, place));
    if (text.length < SHORTEST || detectors.length === 0) return text;
    const findings = new Map<Detector, Map<string, GuardrailFinding>>();
    for (let start = 0; ; start += WINDOW - OVERLAP) {
      const part = text.slice(start, start + WINDOW);
      await this.#turn(part.length);
      const view = new TextView(part);
      for (const detector of detectors) {
        for (const finding of detector.find(view)) note(findings, detector, finding, start);
      }
      if (start + WINDOW >= text.length) break;
    }
    const redactions = [...findings].flatMap(([detector, found]) => {
      this.#note(detector, [...found.values()], place.path);
      if (detector.guardrail.action !== 'redact') return [];
      return [...found.values()].map((one) => ({ ...one, placeholder: detector.placeholder(one) }));
    });
    return redact(text, redactions);
  }

  async #turn(characters: number): Promise<void> {
    this.#left -= characters;
    if (this.#left > 0) return;
    this.#left = WINDOW;
    await new Promise((resolve) => setTimeout(resolve, 0));
    this.#signal.throwIfAborted();
  }

  #note(detector: Detector, findings: readonly GuardrailFinding[], path: string): void {
    const list = this.#found.get(detector) ?? [];
    for (const finding of findings) list.push({ ...finding, path });
    this.#found.set(detector, list);
  }
}

/** What is where two windows overlap is found twice and counted once. */
function note(
  findings: Map<Detector, Map<string, GuardrailFinding>>,
  detector: Detector,
  finding: GuardrailFinding,
  offset: number,
): void {
  const found = findings.get(detector) ?? new Map<string, GuardrailFinding>();
  findings.set(detector, found);
  const [start, end] = [finding.start + offset, finding.end + offset];
  found.set(`${finding.pattern} ${start} ${end}`, { pattern: finding.pattern, start, end });
}

/** Who writes the system prompt may speak of instructions as they like. */
function looksAt({ guardrail }: Detector, { role }: PromptTextPlace): boolean {
  return guardrail.type !== 'prompt-injection' || (role !== 'system' && role !== 'developer');
}
