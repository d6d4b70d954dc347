import type { FinishReason } from '../../protocol/chat-result.ts';
import { type AttemptFailure, failure } from '../fallback/failure.ts';
import type { FactsPiece, FinishPiece, ReportedUsage, StreamPiece } from './pieces.ts';

/** How a stream came to its end. */
export type StreamEnd =
  | { readonly ok: true; readonly finishes: readonly FinishPiece[] }
  | { readonly ok: false; readonly failure: AttemptFailure };

/**
 * Watches the pieces of one stream and knows at its end whether it was whole. Finish and usage are held back until
 * then, so that there is exactly one of each, after everything else, whatever the order in which a provider sent them.
 */
export class StreamTracker {
  readonly #finishes = new Map<number, FinishPiece>();
  readonly #toolCalls = new Set<number>();
  #usage: ReportedUsage | undefined;
  #facts: FactsPiece = { type: 'facts' };
  #ended = false;
  #textLength = 0;

  /** Looks at a piece that says something about the stream rather than to the caller. Text goes by uncounted. */
  observe(piece: Exclude<StreamPiece, string>): void {
    switch (piece.type) {
      case 'delta':
        if (piece.delta.tool_calls?.length) this.#toolCalls.add(piece.index);
        this.#textLength += lengthOf(piece.delta);
        break;
      case 'finish':
        if (!this.#finishes.has(piece.index) || piece.reason === 'content_filter') {
          this.#finishes.set(piece.index, piece);
        }
        break;
      case 'usage':
        this.#usage = piece.usage;
        break;
      case 'facts':
        this.#facts = mergeFacts(this.#facts, piece);
        break;
      case 'end':
        this.#ended = true;
        break;
      case 'failure':
        break;
    }
  }

  /** Counts text that went by. */
  countText(length: number): void {
    this.#textLength += length;
  }

  /** True once the wire's own end mark came. */
  get ended(): boolean {
    return this.#ended;
  }

  /** True once some choice has ended; what may still come is usage and the end mark. */
  get finishing(): boolean {
    return this.#finishes.size > 0;
  }

  get usage(): ReportedUsage | undefined {
    return this.#usage;
  }

  get facts(): FactsPiece {
    return this.#facts;
  }

  /** Characters of everything the model wrote, for an estimate where the provider counted nothing. */
  get textLength(): number {
    return this.#textLength;
  }

  /** Judges the stream when nothing more will come. A stream that just stops is cut off, never finished. */
  end(): StreamEnd {
    const finishes = [...this.#finishes.values()].sort((left, right) => left.index - right.index);
    if (finishes.some((finish) => finish.reason === 'error')) {
      return { ok: false, failure: failure('server', 'The provider ended its answer with an error') };
    }
    if (finishes.length > 0) return { ok: true, finishes: finishes.map((finish) => this.#withToolCalls(finish)) };
    if (this.#ended && this.#textLength > 0) {
      return { ok: true, finishes: [this.#withToolCalls({ type: 'finish', index: 0, reason: 'stop', native: null })] };
    }
    const message = this.#ended ? 'The provider sent an empty answer' : 'The provider broke off its answer';
    return { ok: false, failure: failure('bad_response', message) };
  }

  /** Some servers say "stop" although the model called tools. */
  #withToolCalls(finish: FinishPiece): FinishPiece {
    const called: FinishReason = 'tool_calls';
    return finish.reason === 'stop' && this.#toolCalls.has(finish.index) ? { ...finish, reason: called } : finish;
  }
}

function lengthOf(delta: {
  readonly content?: string | null;
  readonly reasoning?: string | null;
  readonly refusal?: string | null;
  readonly tool_calls?: readonly { readonly function?: { readonly name?: string; readonly arguments?: string } }[];
}): number {
  let length = (delta.content?.length ?? 0) + (delta.reasoning?.length ?? 0) + (delta.refusal?.length ?? 0);
  for (const call of delta.tool_calls ?? []) {
    length += (call.function?.name?.length ?? 0) + (call.function?.arguments?.length ?? 0);
  }
  return length;
}

function mergeFacts(known: FactsPiece, more: FactsPiece): FactsPiece {
  return {
    type: 'facts',
    systemFingerprint: more.systemFingerprint ?? known.systemFingerprint,
    serviceTier: more.serviceTier ?? known.serviceTier,
    upstreamId: more.upstreamId ?? known.upstreamId,
  };
}
