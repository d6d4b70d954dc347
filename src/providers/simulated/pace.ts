/** The speed of simulated models. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { Environment, Timer } from '../../platform/environment.ts';
import type { Chance } from './chance.ts';
import type { PieceStream } from '../../contracts/provider-reply.ts';
import { type AttemptFailure, failure } from '../../contracts/failure.ts';
import type { StreamPiece } from '../../contracts/stream-piece.ts';

/** How fast a call answers. */
interface Speed {
  /** Milliseconds. */
  readonly firstTokenMs: number;
  /** 0 and Infinity mean at once. */
  readonly tokensPerSecond: number;
}

/** The time that one call takes. Once stopped, nothing waits any more and no timer is left. */
export class AnswerPace {
  readonly #environment: Environment;
  readonly #speed: Speed;
  readonly #chance: Chance;
  readonly #signal: AbortSignal;
  readonly #onAbort = (): void => this.stop(failure('aborted', 'The client disconnected'));
  #stopped: AttemptFailure | undefined;
  #timer: Timer;
  #wake: (() => void) | undefined;

  constructor(environment: Environment, speed: Speed, chance: Chance, signal: AbortSignal) {
    this.#environment = environment;
    this.#speed = speed;
    this.#chance = chance;
    this.#signal = signal;
    signal.addEventListener('abort', this.#onAbort);
    if (signal.aborted) this.#onAbort();
  }

  /** Milliseconds to the first token. */
  firstTokenMs(): number {
    return this.#speed.firstTokenMs * (0.8 + 0.4 * this.#chance.next());
  }

  /** Milliseconds that the given number of tokens takes. */
  tokensMs(count: number): number {
    if (this.atOnce) return 0;
    let ms = 0;
    for (let token = 0; token < count; token += 1)
      ms += (0.5 + this.#chance.next()) * (1_000 / this.#speed.tokensPerSecond);
    return ms;
  }

  /** True when tokens take no time. */
  get atOnce(): boolean {
    return this.#speed.tokensPerSecond === 0 || this.#speed.tokensPerSecond === Infinity;
  }

  /** Monotonic milliseconds. */
  now(): number {
    return this.#environment.now();
  }

  /** Waits; gives the reason if it was stopped meanwhile or before. Without milliseconds it waits for that alone. */
  async wait(ms?: number): Promise<AttemptFailure | undefined> {
    if (this.#stopped !== undefined || (ms !== undefined && ms <= 0)) return this.#stopped;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (ms !== undefined) this.#timer = this.#environment.setTimer(resolve, ms);
    });
    return this.#stopped;
  }

  /** Ends the wait under way and all later ones. May be called more than once. */
  stop(reason: AttemptFailure): void {
    this.#stopped ??= reason;
    this.#signal.removeEventListener('abort', this.#onAbort);
    if (this.#timer !== undefined) this.#environment.clearTimer(this.#timer);
    this.#wake?.();
  }
}

/** How much faster an endpoint is than the others, so that sorting by throughput has something to find. */
export function speedFactor({ tier, tag }: Endpoint): number {
  if (tier === 'flex') return 0.5;
  return tier === 'priority' || tag.endsWith('/turbo') ? 2 : 1;
}

/** Pieces that are handed out together when tokens take no time. */
const AT_ONCE = 16;

/** What a stream consists of. */
export interface PacedPieces {
  /** Comes with the first token. */
  readonly opening: readonly StreamPiece[];
  /** One piece per token. */
  readonly tokens: readonly StreamPiece[];
  /** Comes behind the last token and takes no time. */
  readonly closing: readonly StreamPiece[];
}

/**
 * Hands out one token after the other as time goes by. A token is only made when it is read, so that a slow
 * reader holds the answer back.
 */
export class PacedStream implements PieceStream {
  readonly #pieces: PacedPieces;
  readonly #pace: AnswerPace;
  readonly #onEnd: () => void;
  #position = 0;
  #lastAt: number;
  #over = false;

  /**
   * @param pace - Has waited for the first token already.
   * @param onEnd - Called once when nothing more will be read.
   */
  constructor(pieces: PacedPieces, pace: AnswerPace, onEnd: () => void) {
    this.#pieces = pieces;
    this.#pace = pace;
    this.#onEnd = onEnd;
    this.#lastAt = pace.now();
  }

  async read(): Promise<readonly StreamPiece[] | undefined> {
    if (this.#over) return undefined;
    const { opening, tokens, closing } = this.#pieces;
    const start = this.#position;
    const batch = tokens.slice(start, start + (this.#pace.atOnce ? AT_ONCE : 1));
    const dueAt = this.#lastAt + (start === 0 ? 0 : this.#pace.tokensMs(batch.length));
    const stopped = await this.#pace.wait(dueAt - this.#pace.now());
    if (stopped !== undefined) {
      this.#end();
      return [{ type: 'failure', failure: stopped }];
    }
    this.#lastAt = this.#pace.now();
    this.#position += batch.length;
    const isLast = this.#position >= tokens.length;
    if (isLast) this.#end();
    return [...(start === 0 ? opening : []), ...batch, ...(isLast ? closing : [])];
  }

  cancel(): void {
    this.#pace.stop(failure('aborted', 'The answer is no longer wanted'));
    this.#end();
  }

  #end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#onEnd();
  }
}
