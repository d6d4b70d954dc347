/** Applies guardrails to a stream, over a window of text that is held back. */
import type { ChunkTransform } from '../../contracts/plugin.ts';
import type { StageRecord } from '../../contracts/plugin-context.ts';
import type { Delta, ToolCallDelta } from '../../protocol/chunk.ts';
import { visitCall } from '../services/prompt-texts.ts';
import { type Detector, TextView } from './detector.ts';
import { blockingError, type PlacedFinding, redact, stagesOf } from './verdict.ts';
import type { DeltaPiece } from '../../contracts/stream-piece.ts';

/** What rules found in a stream. */
interface Found {
  readonly found: Map<Detector, PlacedFinding[]>;
}

/** A stretch of a text that is taken out, in UTF-16 units from the beginning of the text. */
interface Cut {
  readonly start: number;
  readonly end: number;
  readonly placeholder: string;
}

/** One text of an answer as it grows: content, reasoning, or the arguments of one call. */
interface GrowingText {
  readonly path: string;
  /** True for a text that is looked at when it is complete: half of a JSON string cannot be read. */
  readonly isComplete: boolean;
  /** The end of it: what is held back, and what came right before. */
  tail: string;
  /** Where the tail begins in the text. */
  base: number;
  /** What comes before is decided. */
  boundary: number;
  readonly cuts: Cut[];
}

/** A piece that waits, and the stretches of texts that are in it. */
interface WaitingPiece {
  readonly piece: DeltaPiece;
  readonly parts: readonly {
    readonly text: GrowingText;
    readonly slot: Slot;
    readonly start: number;
    readonly end: number;
  }[];
}

/** A place in a delta where a text stands. */
interface Slot {
  readonly name: string;
  readonly text: string;
  readonly isComplete: boolean;
  put(delta: Delta, text: string): Delta;
}

/** Characters by which a text has to grow before it is looked at again. */
const STEP = 32;
/** Characters that were sent and are looked at again with what follows, for findings that are longer than the window. */
const MEMORY = 1_024;

/**
 * Looks at an answer while it streams. The newest characters of each text are held back, and the rest goes on; where
 * something is found it is taken out, or the stream ends with the error. Arguments of tool calls and what is spoken are
 * held back until they are complete. Whatever is not longer than the window is found before its first character is sent.
 *
 * Something longer, up to a thousand characters, is found as well, when its beginning was sent already.
 *
 * A text that is interrupted (by reasoning, by a call) is decided up to there: a finding across an interruption is
 * found, but its beginning may have been sent.
 *
 * @param window - Characters that are held back of each text.
 */
export function windowedStream(
  detectors: readonly Detector[],
  window: number,
  stage: (record: StageRecord) => void,
): ChunkTransform<StreamWindow | undefined> {
  return {
    start: undefined,
    step: (state = new StreamWindow(detectors, window, stage), chunk) => [state, state.push(chunk)],
    end: (state) => state?.finish() ?? [],
  };
}

/** What one stream holds back. */
class StreamWindow {
  readonly #detectors: readonly Detector[];
  readonly #window: number;
  readonly #stage: (record: StageRecord) => void;
  readonly #found: Found = { found: new Map() };
  readonly #choices = new Map<number, ChoiceWindow>();

  constructor(detectors: readonly Detector[], window: number, stage: (record: StageRecord) => void) {
    this.#detectors = detectors;
    this.#window = window;
    this.#stage = stage;
  }

  /** The pieces that may go on when this one has come. */
  push(piece: DeltaPiece): readonly DeltaPiece[] {
    let choice = this.#choices.get(piece.index);
    if (choice === undefined) {
      choice = new ChoiceWindow(`choices[${piece.index}].delta`, this.#window, (text, tail) => this.#look(text, tail));
      this.#choices.set(piece.index, choice);
    }
    choice.push(piece);
    return this.#judged([choice]);
  }

  /** What was held back. */
  finish(): readonly DeltaPiece[] {
    const choices = [...this.#choices.values()];
    for (const choice of choices) choice.finishAll();
    const pieces = this.#judged(choices);
    for (const record of stagesOf(this.#found)) this.#stage(record);
    return pieces;
  }

  /** @throws {@link RouterError} when something was found that blocks. */
  #judged(choices: readonly ChoiceWindow[]): readonly DeltaPiece[] {
    const error = blockingError(this.#found);
    if (error === undefined) return choices.flatMap((choice) => choice.released());
    for (const record of stagesOf(this.#found)) this.#stage(record);
    throw error;
  }

  /** Looks at the end of a text; gives what is to be taken out, in its own places, up to a limit. */
  readonly #look: Look = (text, limit) => {
    const view = new TextView(text.tail);
    const cuts: Cut[] = [];
    for (const detector of this.#detectors) {
      for (const finding of detector.find(view)) {
        const [start, end] = [finding.start + text.base, finding.end + text.base];
        // Later, when more of what follows is known; and never again when it was decided before.
        if (start >= limit || end <= text.boundary) continue;
        // What begins where the memory ends may be the end of something else.
        if (finding.start === 0 && text.base > 0) continue;
        this.#note(detector, { pattern: finding.pattern, start, end, path: text.path });
        if (detector.guardrail.action === 'redact')
          cuts.push({ start, end, placeholder: detector.placeholder(finding) });
      }
    }
    return cuts;
  };

  /** What grew since it was found is the same finding. */
  #note(detector: Detector, finding: PlacedFinding): void {
    const list = this.#found.found.get(detector) ?? [];
    this.#found.found.set(detector, list);
    const known = list.some(
      (one) => one.path === finding.path && one.pattern === finding.pattern && one.start === finding.start,
    );
    if (!known) list.push(finding);
  }
}

type Look = (text: GrowingText, limit: number) => readonly Cut[];

/** What one choice of a stream holds back, in the order in which it came. */
class ChoiceWindow {
  readonly #path: string;
  readonly #window: number;
  readonly #look: Look;
  readonly #texts = new Map<string, GrowingText>();
  readonly #waiting: WaitingPiece[] = [];
  /** Texts that grew last. */
  #open: readonly GrowingText[] = [];

  constructor(path: string, window: number, look: Look) {
    this.#path = path;
    this.#window = window;
    this.#look = look;
  }

  push(piece: DeltaPiece): void {
    const slots = slotsOf(piece.delta);
    const parts = slots.map((slot) => {
      const text = this.#textOf(slot);
      const start = endOf(text);
      text.tail += slot.text;
      return { text, slot, start, end: endOf(text) };
    });
    this.#waiting.push({ piece, parts });
    if (parts.length === 0) return;
    const texts = parts.map(({ text }) => text);
    this.#interrupt(texts);
    this.#open = [...new Set([...this.#open, ...texts])];
    for (const text of texts) {
      const limit = endOf(text) - this.#window;
      if (!text.isComplete && limit - text.boundary >= STEP) this.#decide(text, limit);
    }
  }

  /** Decides everything: nothing more will come. */
  finishAll(): void {
    for (const text of this.#open) this.#finish(text);
    this.#open = [];
  }

  /** The pieces from the first on of which everything is decided. */
  released(): readonly DeltaPiece[] {
    let count = 0;
    for (const { parts } of this.#waiting) {
      if (parts.some(({ text, end }) => end > text.boundary)) break;
      count += 1;
    }
    return this.#waiting.splice(0, count).map(withoutCuts);
  }

  /** Calls may grow side by side; everything else that does not grow with the newest is over for now. */
  #interrupt(growing: readonly GrowingText[]): void {
    const areCalls = growing.every(({ isComplete }) => isComplete);
    const over = this.#open.filter((text) => !growing.includes(text) && !(areCalls && text.isComplete));
    for (const text of over) this.#finish(text);
    this.#open = this.#open.filter((text) => !over.includes(text));
  }

  #textOf({ name, isComplete }: Slot): GrowingText {
    let text = this.#texts.get(name);
    if (text === undefined) {
      text = { path: `${this.#path}.${name}`, isComplete, tail: '', base: 0, boundary: 0, cuts: [] };
      this.#texts.set(name, text);
    }
    return text;
  }

  #finish(text: GrowingText): void {
    if (text.isComplete) this.#decideWhole(text);
    else this.#decide(text, endOf(text));
  }

  #decide(text: GrowingText, limit: number): void {
    if (limit <= text.boundary) return;
    text.cuts.push(...this.#look(text, limit));
    text.boundary = limit;
    const base = Math.max(text.base, limit - MEMORY);
    text.tail = text.tail.slice(base - text.base);
    text.base = base;
  }

  /** What is said in JSON is looked at value by value, so that it stays JSON; changed, it takes the place of all of it. */
  #decideWhole(text: GrowingText): void {
    const { tail, base, path } = text;
    const before = { function: { name: '', arguments: tail } };
    const { function: after } = visitCall(before, path, 'assistant', (value) => {
      const one: GrowingText = { path, isComplete: false, tail: value, base: 0, boundary: 0, cuts: [] };
      return redact(value, this.#look(one, value.length));
    });
    if (after.arguments !== tail) text.cuts.push({ start: base, end: endOf(text), placeholder: after.arguments });
    text.boundary = endOf(text);
    text.base = text.boundary;
    text.tail = '';
  }
}

function endOf({ base, tail }: GrowingText): number {
  return base + tail.length;
}

/** A piece as it may be sent. Tokens with their likelihoods would say again what was taken out. */
function withoutCuts({ piece, parts }: WaitingPiece): DeltaPiece {
  let { delta } = piece;
  for (const { text, slot, start, end } of parts) {
    const cuts = text.cuts.filter((cut) => cut.start < end && cut.end > start);
    if (cuts.length === 0) continue;
    // What begins in an earlier piece has its placeholder there.
    const inside = cuts.map((cut) => ({
      start: Math.max(0, cut.start - start),
      end: Math.min(slot.text.length, cut.end - start),
      placeholder: cut.start < start ? '' : cut.placeholder,
    }));
    delta = slot.put(delta, redact(slot.text, inside));
  }
  if (delta === piece.delta) return piece;
  const { logprobs: _, ...rest } = piece;
  return { ...rest, delta };
}

const DETAIL_TEXTS = ['text', 'summary', 'arguments', 'result'] as const;

/** The texts in a delta that rules look at: the same as in a non-streaming response. */
function slotsOf(delta: Delta): readonly Slot[] {
  const slots: Slot[] = [];
  for (const name of ['content', 'refusal', 'reasoning'] as const) {
    const text = delta[name];
    if (text) slots.push({ name, text, isComplete: false, put: (to, put) => ({ ...to, [name]: put }) });
  }
  for (const [at, detail] of (delta.reasoning_details ?? []).entries()) {
    const members: Readonly<Record<string, unknown>> = { ...detail };
    for (const name of DETAIL_TEXTS) {
      const text = members[name];
      if (typeof text !== 'string' || text === '') continue;
      slots.push({
        name: `reasoning_details[${detail.index ?? at}].${name}`,
        text,
        isComplete: false,
        put(to, put) {
          const details = to.reasoning_details ?? [];
          return { ...to, reasoning_details: details.with(at, { ...(details[at] ?? detail), [name]: put }) };
        },
      });
    }
  }
  for (const [at, call] of (delta.tool_calls ?? []).entries()) {
    const text = call.function?.arguments;
    if (!text) continue;
    slots.push({
      name: `tool_calls[${call.index}].function.arguments`,
      text,
      isComplete: true,
      put: (to, put) => ({ ...to, tool_calls: (to.tool_calls ?? []).with(at, withArguments(call, put)) }),
    });
  }
  const spoken = delta.audio?.transcript;
  if (spoken) {
    slots.push({
      name: 'audio.transcript',
      text: spoken,
      isComplete: true,
      // What was said can be heard as long as there is sound.
      put: (to, put) => ({ ...to, audio: { ...to.audio, data: '', transcript: put } }),
    });
  }
  return slots;
}

function withArguments(call: ToolCallDelta, text: string): ToolCallDelta {
  return { ...call, function: { ...call.function, arguments: text } };
}
