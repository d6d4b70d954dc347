import type { Endpoint } from '../../catalog/endpoint.ts';
import { type AttemptFailure, failure } from '../../core/fallback/failure.ts';
import type { Environment, Timer } from '../../runtime/environment.ts';
import type { Chance } from './chance.ts';

/** How fast a call answers. */
export interface Speed {
  /** Milliseconds. */
  readonly firstTokenMs: number;
  /** 0 and Infinity mean at once. */
  readonly tokensPerSecond: number;
}

/** The time that one call takes. Once stopped, nothing waits any more and no timer is left. */
export class Pace {
  readonly #environment: Environment;
  readonly #speed: Speed;
  readonly #chance: Chance;
  readonly #signal: AbortSignal;
  readonly #onAbort = (): void => this.stop(failure('aborted', 'The caller went away'));
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
