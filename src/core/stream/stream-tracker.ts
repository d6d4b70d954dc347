/** Watches a stream and decides whether it ended well. */
import type { Delta, ToolCallDelta } from '../../protocol/chunk.ts';
import { quarterTokens } from '../tokens/token-estimate.ts';
import { isCounted, moreUsage } from './usage.ts';
import { sealOf } from '../normalize/reasoning-origin.ts';
import type { ReasoningDetail } from '../../protocol/reasoning.ts';
import { commits, endReason, unescapeText } from './pieces.ts';
import { type AttemptFailure, failure } from '../../contracts/failure.ts';
import type { DeltaPiece, FactsPiece, FinishPiece, ReportedUsage, StreamPiece } from '../../contracts/stream-piece.ts';

/** How a stream came to its end. */
export type StreamEnd =
  | {
      readonly ok: true;
      readonly finishes: readonly FinishPiece[];
      /** What belongs before the finishes: the arguments of calls that came without any, which are an empty object. */
      readonly owed: readonly DeltaPiece[];
    }
  | { readonly ok: false; readonly failure: AttemptFailure };

const NO_FACTS: FactsPiece = { type: 'facts' };

/**
 * Watches the pieces of one stream and determines at its end whether it was complete. Finish and usage are held back
 * until then, so that there is exactly one of each, after everything else, whatever the order in which a provider sent
 * them.
 *
 * Some servers say with every event that the choice has ended. So the last word counts, and content behind a word takes
 * it back: only the next one, or the end mark, ends the choice.
 */
export class StreamTracker {
  /** Absent until there is one: non-streaming responses have a tracker, too, and hardly use it. */
  #finishes: Map<number, FinishPiece> | undefined;
  /** Choices of which content came behind their end. */
  #resumed: Set<number> | undefined;
  /** True once an end turned out to be none: then the words of this stream do not say that nothing follows. */
  #misled = false;
  /** By choice, its calls, and whether arguments of theirs came. */
  #toolCalls: Map<number, Map<number, boolean>> | undefined;
  #hasText = false;
  /** Choices that said something else than plain text. */
  #speakers: Set<number> | undefined;
  #usage: ReportedUsage | undefined;
  #facts: FactsPiece = NO_FACTS;
  #ended = false;
  /** Quarters of a token in everything the model wrote. */
  #quarters = 0;
  #images = 0;
  #seals: string[] | undefined;

  /** Looks at a piece that is not plain text; that goes to {@link StreamTracker.countText}. */
  observe(piece: Exclude<StreamPiece, string>): void {
    switch (piece.type) {
      case 'delta':
        if (commits(piece)) (this.#speakers ??= new Set()).add(piece.index);
        if (piece.delta.tool_calls?.length) this.#noteCalls(piece.index, piece.delta.tool_calls);
        if (this.#finishes !== undefined && goesOn(piece.delta)) this.#resume(piece.index);
        this.#quarters += quartersOf(piece.delta);
        this.#images += piece.delta.images?.length ?? 0;
        if (piece.delta.reasoning_details?.length) this.#noteSeals(piece.delta.reasoning_details);
        break;
      case 'finish':
        this.#finishes ??= new Map();
        this.#resumed?.delete(piece.index);
        if (this.#finishes.get(piece.index)?.reason !== 'content_filter') this.#finishes.set(piece.index, piece);
        break;
      case 'usage':
        if (isCounted(piece.usage)) this.#usage = moreUsage(this.#usage, piece.usage);
        break;
      case 'facts':
        this.#facts = mergeFacts(this.#facts, piece);
        break;
      case 'end':
        this.#ended = true;
        break;
      case 'failure':
      case 'native':
        break;
    }
  }

  #noteCalls(index: number, deltas: readonly ToolCallDelta[]): void {
    this.#toolCalls ??= new Map();
    let calls = this.#toolCalls.get(index);
    if (calls === undefined) this.#toolCalls.set(index, (calls = new Map()));
    for (const { index: call, function: called } of deltas) {
      if (calls.get(call) !== true) calls.set(call, /\S/.test(called?.arguments ?? ''));
    }
  }

  #resume(index: number): void {
    if (this.#finishes?.has(index) !== true) return;
    (this.#resumed ??= new Set()).add(index);
    this.#misled = true;
  }

  #noteSeals(details: readonly ReasoningDetail[]): void {
    for (const detail of details) {
      const seal = sealOf(detail);
      if (seal !== undefined) (this.#seals ??= []).push(seal);
    }
  }

  /** What was encrypted or signed in the reasoning; undefined where nothing was. */
  get seals(): readonly string[] | undefined {
    return this.#seals;
  }

  /** Counts plain text that went by, escaped as it appears in its piece. */
  countText(escaped: string): void {
    this.#hasText ||= escaped !== '';
    if (this.#finishes !== undefined && escaped !== '') this.#resume(0);
    this.#quarters += quarterTokens(unescapeText(escaped));
  }

  /** True once the wire's own end mark came. */
  get ended(): boolean {
    return this.#ended;
  }

  /** True once every choice that began has ended, as far as its words can be trusted. */
  get finishing(): boolean {
    return this.#finishes !== undefined && this.#unfinished().length === 0;
  }

  /**
   * True once every choice that began has ended beyond doubt: what may still come is usage and the end mark. An end that
   * came together with content is in doubt, and so is any in a stream that went on behind one.
   */
  get settled(): boolean {
    if (this.#misled || !this.finishing) return false;
    for (const { besideContent } of this.#finishes?.values() ?? []) if (besideContent === true) return false;
    return true;
  }

  get usage(): ReportedUsage | undefined {
    return this.#usage;
  }

  get facts(): FactsPiece {
    return this.#facts;
  }

  /** The likely number of tokens in everything the model wrote, for usage that the provider did not report. */
  get likelyTokens(): number {
    return Math.ceil(this.#quarters / 4);
  }

  /** Images that the model made, for prices per image. */
  get images(): number {
    return this.#images;
  }

  /** Judges the stream when nothing more will come. A stream that just stops is cut off, never finished. */
  end(): StreamEnd {
    const finishes = [...(this.#finishes?.values() ?? [])];
    if (finishes.some((finish) => finish.reason === 'error')) {
      return { ok: false, failure: failure('server', 'The provider ended its answer with an error') };
    }
    const unfinished = this.#unfinished();
    const isComplete = this.#ended ? finishes.length > 0 || this.#quarters > 0 : this.finishing;
    if (!isComplete) {
      const message = this.#ended ? 'The provider sent an empty answer' : 'The provider ended its response early';
      return { ok: false, failure: failure('bad_response', message) };
    }
    // Some servers send the end mark and no finish before it.
    const stops = unfinished
      .filter((index) => this.#finishes?.has(index) !== true)
      .map((index): FinishPiece => ({ type: 'finish', index, reason: 'stop', native: null }));
    const all = [...finishes, ...stops].sort((left, right) => left.index - right.index);
    return { ok: true, finishes: all.map((finish) => this.#withToolCalls(finish)), owed: this.#owed() };
  }

  /** Choices that said something and did not end, or went on behind their end. */
  #unfinished(): readonly number[] {
    const speakers = [...(this.#speakers ?? [])];
    if (this.#hasText && this.#speakers?.has(0) !== true) speakers.push(0);
    if (this.#finishes === undefined) return speakers;
    return speakers.filter((index) => this.#finishes?.has(index) !== true || this.#resumed?.has(index) === true);
  }

  #withToolCalls({ index, reason, native }: FinishPiece): FinishPiece {
    return { type: 'finish', index, reason: endReason(reason, this.#toolCalls?.get(index)?.size ?? 0), native };
  }

  #owed(): readonly DeltaPiece[] {
    const owed: DeltaPiece[] = [];
    for (const [index, calls] of this.#toolCalls ?? []) {
      const empty = [...calls].filter(([, filled]) => !filled);
      if (empty.length === 0) continue;
      const deltas = empty.map(([call]) => ({ index: call, function: { arguments: '{}' } }));
      owed.push({ type: 'delta', index, delta: { tool_calls: deltas } });
    }
    return owed;
  }
}

/** Whether a delta says that its choice goes on. Sources and signatures come behind the end as well. */
function goesOn({ content, reasoning, refusal, tool_calls: calls, images, audio }: Delta): boolean {
  return (
    Boolean(content) ||
    Boolean(reasoning) ||
    Boolean(refusal) ||
    Boolean(calls?.length) ||
    Boolean(images?.length) ||
    Boolean(audio?.data) ||
    Boolean(audio?.transcript)
  );
}

function quartersOf({ content, reasoning, refusal, tool_calls: calls = [] }: Delta): number {
  let quarters = quarterTokens(content ?? '') + quarterTokens(reasoning ?? '') + quarterTokens(refusal ?? '');
  for (const { function: called } of calls) {
    quarters += quarterTokens(called?.name ?? '') + quarterTokens(called?.arguments ?? '');
  }
  return quarters;
}

function mergeFacts(known: FactsPiece, more: FactsPiece): FactsPiece {
  return {
    type: 'facts',
    systemFingerprint: more.systemFingerprint ?? known.systemFingerprint,
    serviceTier: more.serviceTier ?? known.serviceTier,
    upstreamId: more.upstreamId ?? known.upstreamId,
    cacheMiss: more.cacheMiss ?? known.cacheMiss,
    refusal: more.refusal ?? known.refusal,
  };
}
