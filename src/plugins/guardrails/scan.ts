import type { TextPlace, TextVisitor } from '../prompt/prompt-texts.ts';
import { type Detector, TextView } from './detector.ts';
import { type Finding, redact } from './verdict.ts';

/** A finding and the text in which it stands. */
export interface PlacedFinding extends Finding {
  readonly path: string;
}

/** Characters that are looked at in one go; nobody else is served meanwhile. */
const WINDOW = 65_536;
/** Characters that two windows share, so that nothing hides at a cut. */
const OVERLAP = 1_024;
/** Nothing that is looked for is shorter. */
const SHORTEST = 2;

/** What guardrails found in the texts of one request or answer. */
export class Scan {
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
    const texts: { readonly text: string; readonly place: TextPlace }[] = [];
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

  async #look(text: string, place: TextPlace): Promise<string> {
    const detectors = this.#detectors.filter((one) => looksAt(one, place));
    if (text.length < SHORTEST || detectors.length === 0) return text;
    const findings = new Map<Detector, Map<string, Finding>>();
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

  #note(detector: Detector, findings: readonly Finding[], path: string): void {
    const list = this.#found.get(detector) ?? [];
    for (const finding of findings) list.push({ ...finding, path });
    this.#found.set(detector, list);
  }
}

/** What is where two windows overlap is found twice and counted once. */
function note(
  findings: Map<Detector, Map<string, Finding>>,
  detector: Detector,
  finding: Finding,
  offset: number,
): void {
  const found = findings.get(detector) ?? new Map<string, Finding>();
  findings.set(detector, found);
  const [start, end] = [finding.start + offset, finding.end + offset];
  found.set(`${finding.pattern} ${start} ${end}`, { pattern: finding.pattern, start, end });
}

/** Who writes the system prompt may speak of instructions as they like. */
function looksAt({ guardrail }: Detector, { role }: TextPlace): boolean {
  return guardrail.type !== 'prompt-injection' || (role !== 'system' && role !== 'developer');
}
