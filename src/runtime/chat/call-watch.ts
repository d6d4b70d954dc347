/** Watches over the time limits of one upstream call. */
import type { Environment, Timer } from '../../platform/environment.ts';
import { soon } from '../../platform/wait.ts';
import type { CallTimeouts } from '../../catalog/endpoint.ts';
import type { Timeouts } from '../../options/fallback.ts';
import { type AttemptFailure, failure, TOOK_TOO_LONG } from '../../contracts/failure.ts';

/** Reason of every abort of a call; made once, because making it costs more than the abort itself. */
const CALL_OVER = new DOMException('The call is over', 'AbortError');

/** Marks a wait that was ended by the clock or by the caller. */
export const INTERRUPTED = Symbol('interrupted');

/** What a watch needs to know. */
interface CallWatchOptions {
  readonly environment: Environment;
  /** Monotonic milliseconds at which the request's own time is over. */
  readonly deadlineAt: number;
  /** The caller's signal. */
  readonly signal: AbortSignal;
  /** Whether a call is waited for although it did not begin, or end, its answer in time. Default: no. */
  readonly isWaitedFor?: (() => boolean) | undefined;
}

/** How often a call is looked at again that is waited for beyond its limit. */
const LOOK_AGAIN_MS = 1_000;

/** What a call is waiting for. */
export type Phase = 'connect' | 'first_token' | 'answer' | 'idle' | 'total';

/**
 * The one timer of an upstream call. Moving on to the next phase, or hearing from the provider, moves a number; the
 * timer itself is only set again when it has fired too early.
 */
export abstract class Deadline {
  readonly #environment: Environment;
  #phase: Phase = 'total';
  #phaseEndsAt = Infinity;
  /** Until when the phase may be extended: twice its time. A call that hangs is not waited for without end. */
  #extendableUntil = Infinity;
  #totalEndsAt: number;
  #timer: Timer | undefined;
  #firesAt = Infinity;
  #cleared = false;

  constructor(environment: Environment, totalEndsAt: number) {
    this.#environment = environment;
    this.#totalEndsAt = totalEndsAt;
  }

  /** The time of a phase is over, or all of it. */
  protected abstract onExpire(phase: Phase): void;

  /** Enters a phase that may last this long from now. Without effect once the timer has been ended for good. */
  enter(phase: Phase, ms: number): void {
    if (this.#cleared) return;
    this.#phase = phase;
    const now = this.#environment.now();
    this.#phaseEndsAt = now + ms;
    this.#extendableUntil = now + 2 * ms;
    this.#schedule(now);
  }

  /** Lets a phase whose time is over last longer, up to twice its time; false where that is over, too. */
  extend(ms: number): boolean {
    const now = this.#environment.now();
    if (now >= this.#extendableUntil) return false;
    this.#phaseEndsAt = Math.min(now + ms, this.#extendableUntil);
    this.#schedule(now);
    return true;
  }

  /** Nothing is awaited from the provider: only the total time runs on. */
  pause(): void {
    this.#phaseEndsAt = Infinity;
  }

  /** The answer has begun: from here on only its progress counts, not its total time. */
  liftTotal(): void {
    this.#totalEndsAt = Infinity;
  }

  /** Ends the timer for good. */
  clear(): void {
    this.#cleared = true;
    this.#phaseEndsAt = Infinity;
    this.#totalEndsAt = Infinity;
    if (this.#timer !== undefined) this.#environment.clearTimer(this.#timer);
    this.#timer = undefined;
    this.#firesAt = Infinity;
  }

  #schedule(now: number): void {
    const endsAt = Math.min(this.#phaseEndsAt, this.#totalEndsAt);
    if (endsAt === Infinity || endsAt >= this.#firesAt) return;
    if (this.#timer !== undefined) this.#environment.clearTimer(this.#timer);
    this.#firesAt = endsAt;
    this.#timer = this.#environment.setTimer(this.#fire, endsAt - now);
  }

  // Not made where the timer is set: most calls of `#schedule` set none, and each would make what it refers to.
  readonly #fire = (): void => {
    this.#timer = undefined;
    this.#firesAt = Infinity;
    const now = this.#environment.now();
    if (now >= this.#totalEndsAt) this.onExpire('total');
    else if (now >= this.#phaseEndsAt) this.onExpire(this.#phase);
    else this.#schedule(now);
  };
}

/**
 * Watches over one upstream call: ends it when its time is up or its client disconnects, also if the provider's adapter
 * ignores the signal.
 */
export class CallWatch extends Deadline {
  readonly #options: CallWatchOptions;
  readonly #onInterrupt: () => void;
  readonly #controller: AbortController;
  // Not the watch itself: of a listener that is an object Node makes a function that outlives the young generation.
  readonly #onCallerAbort = (): void => this.interrupt(failure('aborted', 'The client disconnected'));
  #interruption: AttemptFailure | undefined;
  /** Called when the call is interrupted: who waits for an answer is told at once, a reader a little later. */
  #wake: ((marker: typeof INTERRUPTED) => void) | undefined;
  #reader: (() => void) | undefined;

  /** @param onInterrupt - Called once, when the clock or the caller ends the call. */
  constructor(options: CallWatchOptions, onInterrupt: () => void = ignore) {
    super(options.environment, options.deadlineAt);
    this.#options = options;
    this.#onInterrupt = onInterrupt;
    this.#controller = new AbortController();
  }

  protected override onExpire(phase: Phase): void {
    const isAnswer = phase === 'first_token' || phase === 'answer';
    if (isAnswer && this.#options.isWaitedFor?.() === true && this.extend(LOOK_AGAIN_MS)) return;
    this.interrupt(expired(phase));
  }

  /** For the provider. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** True once the clock or the caller has ended the call. */
  get isInterrupted(): boolean {
    return this.#interruption !== undefined;
  }

  /** Why the call was ended. */
  get reason(): AttemptFailure {
    return this.#interruption ?? expired('total');
  }

  /**
   * Begins to watch, and calls back, once, with what the provider gives, but not later than the clock and the caller
   * allow.
   *
   * @param onLate - Called with a value that comes after the interruption, when nobody waits for it any more.
   */
  whenThere<Value>(
    start: () => Value | PromiseLike<Value>,
    onValue: (value: Value | typeof INTERRUPTED) => void,
    onError: (error: unknown) => void,
    onLate: (value: Value) => void = ignore,
  ): void {
    const { signal } = this.#options;
    signal.addEventListener('abort', this.#onCallerAbort);
    if (signal.aborted) this.#onCallerAbort();
    if (this.#interruption !== undefined) return onValue(INTERRUPTED);
    this.#wake = onValue;
    const receive = (value: Value): void => (this.#interruption === undefined ? onValue(value) : onLate(value));
    const fail = (error: unknown): void => {
      if (this.#interruption === undefined) onError(error);
    };
    try {
      const given = start();
      // Promises of adapters may be of any kind.
      void (given instanceof Promise ? given : Promise.resolve(given)).then(receive, fail);
    } catch (error) {
      fail(error);
    }
  }

  /** Calls back when the call is interrupted; takes the place of what was to be called back before. */
  wakes(wake: () => void): void {
    this.#wake = undefined;
    this.#reader = wake;
  }

  /** Tells the provider that its answer is no longer wanted. */
  abort(): void {
    this.#controller.abort(CALL_OVER);
  }

  /** Ends the watch. */
  end(): void {
    this.clear();
    this.#options.signal.removeEventListener('abort', this.#onCallerAbort);
  }

  /** Ends the call for another reason than its own time or its caller. */
  interrupt(reason: AttemptFailure): void {
    if (this.#interruption !== undefined) return;
    this.#interruption = reason;
    this.#onInterrupt();
    this.abort();
    const wake = this.#wake;
    const reader = this.#reader;
    this.#wake = this.#reader = undefined;
    wake?.(INTERRUPTED);
    // Not at once: who interrupts has more to do.
    if (reader !== undefined) soon(reader);
  }
}

function ignore(): void {}

function expired(phase: Phase): AttemptFailure {
  switch (phase) {
    case 'connect':
      return failure('timeout', 'The provider did not take the connection in time');
    case 'first_token':
      return failure('timeout', 'The provider did not begin its answer in time', { overdue: true });
    case 'answer':
      return failure('timeout', 'The provider did not finish its answer in time', { overdue: true });
    case 'idle':
      return failure('timeout', 'The provider stopped in the middle of its answer');
    case 'total':
      return failure('deadline', TOOK_TOO_LONG);
  }
}

export type { Timeouts } from '../../options/fallback.ts';

/** The time limits of a call: those of its endpoint, then of its provider, then of the router. */
export function timeoutsOf(
  timeouts: Timeouts,
  provider: { readonly timeouts?: CallTimeouts | undefined },
  endpoint: { readonly timeouts?: CallTimeouts | undefined },
): Timeouts {
  if (provider.timeouts === undefined && endpoint.timeouts === undefined) return timeouts;
  const limit = (name: keyof CallTimeouts): number =>
    endpoint.timeouts?.[name] ?? provider.timeouts?.[name] ?? timeouts[name];
  return {
    ...timeouts,
    connectMs: limit('connectMs'),
    firstTokenMs: limit('firstTokenMs'),
    answerMs: limit('answerMs'),
    idleMs: limit('idleMs'),
  };
}
