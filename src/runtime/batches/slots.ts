/** Shares the capacity for batch requests among the batches of a process. */
import { Turns } from '../../core/batch/shares.ts';
import {
  afterAnswer,
  afterComplaint,
  DEFAULT_PAUSE_MS,
  freshPace,
  mayBegin,
  type BatchPace,
} from '../../core/batch/webhook-schedule.ts';
import type { Concurrency, RequestSlot } from '../endpoints/concurrency.ts';
import type { Environment, Timer } from '../../platform/environment.ts';
import type { ResolvedBatchLimits } from '../../options/limits.ts';
import type { StateStore } from '../../contracts/state-store.ts';
import * as read from '../../platform/json.ts';

/** Who wants to run a request. */
interface SlotRequest {
  readonly account: string;
  /** Its part of the places, in relation to the others. Default 1. */
  readonly weight?: number | undefined;
  /** Slug of the provider that the plan of the request begins with. */
  readonly provider: string;
}

/** How a request went, as far as the pace depends on it. */
export type CallVerdict =
  | { readonly type: 'answered' }
  /** The provider wants to be called less often. */
  | { readonly type: 'complaint'; readonly retryAfterMs?: number | undefined }
  /** Something that says nothing about the pace. */
  | { readonly type: 'other' };

/** A place for one request. */
interface HeldSlot {
  /** Gives it back. */
  leave(verdict: CallVerdict): void;
}

interface Waiter extends SlotRequest {
  readonly grant: (slot: HeldSlot) => void;
}

interface ProviderState {
  pace: BatchPace;
  inside: number;
}

/**
 * The places for requests of batches in this process: so many in all, so many at a provider, and only where enough stay
 * free for interactive traffic. Accounts take turns by their weight, so one with a hundred thousand requests does not hold
 * up one with ten. What a provider complains about to another process counts here, too, where the state is shared.
 */
export class BatchPlaces {
  readonly #environment: Environment;
  readonly #limits: Pick<ResolvedBatchLimits, 'concurrency' | 'perProvider' | 'keepFree'>;
  readonly #admission: Concurrency;
  readonly #shared: SharedPaces | undefined;
  /** Waiters by account; whoever was served last is at the end. */
  readonly #waiting = new Map<string, Waiter[]>();
  readonly #turns = new Turns();
  readonly #providers = new Map<string, ProviderState>();
  #inside = 0;
  #timer: Timer | undefined;

  constructor(
    environment: Environment,
    limits: Pick<ResolvedBatchLimits, 'concurrency' | 'perProvider' | 'keepFree'>,
    admission: Concurrency,
    shared?: SharedPaces,
  ) {
    this.#environment = environment;
    this.#limits = limits;
    this.#shared = shared;
    this.#admission = admission;
    const serve = (): void => this.#serve();
    admission.onFree = serve;
  }

  /** Waits for a place; gives undefined when the signal is aborted first. */
  enter(request: SlotRequest, signal: AbortSignal): Promise<HeldSlot | undefined> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve(undefined);
      let isOver = false;
      const giveUp = (): void => {
        this.#forget(waiter);
        resolve(undefined);
      };
      const waiter: Waiter = {
        ...request,
        grant(slot) {
          isOver = true;
          signal.removeEventListener('abort', giveUp);
          resolve(slot);
        },
      };
      this.#queueOf(request.account).push(waiter);
      this.#shared?.look(request.provider, ({ pauseMs }) => this.#heard(request.provider, pauseMs));
      this.#serve();
      // Most have their place at once.
      if (!isOver) signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  #serve(): void {
    while (this.#inside < this.#limits.concurrency) {
      const waiter = this.#next();
      if (waiter === undefined) break;
      const slot = this.#admission.tryEnter(waiter.account, this.#limits.keepFree);
      // Whoever leaves next calls again.
      if (slot === undefined) return;
      this.#forget(waiter);
      this.#turns.served(waiter.account, waiter.weight ?? 1);
      this.#backOfTheLine(waiter.account);
      waiter.grant(this.#occupy(waiter, slot));
    }
    this.#wakeAfterPause();
  }

  /** The first who may begin, of the account whose turn it is. */
  #next(): Waiter | undefined {
    const now = this.#environment.now();
    let next: Waiter | undefined;
    for (const [account, queue] of this.#waiting) {
      if (next !== undefined && this.#turns.had(account) >= this.#turns.had(next.account)) continue;
      const first = queue.find(({ provider }) => {
        const { pace, inside } = this.#stateOf(provider);
        return mayBegin(pace, inside, now);
      });
      next = first ?? next;
    }
    return next;
  }

  #queueOf(account: string): Waiter[] {
    let queue = this.#waiting.get(account);
    if (queue === undefined) {
      queue = [];
      if (this.#waiting.size === 0) this.#turns.clear();
      this.#turns.join(account);
      this.#waiting.set(account, queue);
    }
    return queue;
  }

  #occupy({ provider }: Waiter, slot: RequestSlot): HeldSlot {
    const state = this.#stateOf(provider);
    const { generation } = state.pace;
    const { perProvider } = this.#limits;
    let left = false;
    this.#inside += 1;
    state.inside += 1;
    return {
      leave: (verdict) => {
        if (left) return;
        left = true;
        this.#inside -= 1;
        state.inside -= 1;
        if (verdict.type === 'answered') state.pace = afterAnswer(state.pace, perProvider);
        if (verdict.type === 'complaint') {
          const isNews = generation === state.pace.generation;
          state.pace = afterComplaint(state.pace, generation, this.#environment.now(), verdict.retryAfterMs);
          if (isNews) this.#shared?.publish(provider, verdict.retryAfterMs ?? DEFAULT_PAUSE_MS);
        }
        slot.leave();
      },
    };
  }

  /** A provider complained to another process, about the rate of all together. */
  #heard(provider: string, pauseMs: number): void {
    const state = this.#stateOf(provider);
    state.pace = afterComplaint(state.pace, state.pace.generation, this.#environment.now(), pauseMs);
    this.#wakeAfterPause();
  }

  #stateOf(provider: string): ProviderState {
    let state = this.#providers.get(provider);
    if (state === undefined) {
      state = { pace: freshPace(this.#limits.perProvider), inside: 0 };
      this.#providers.set(provider, state);
    }
    return state;
  }

  #forget(waiter: Waiter): void {
    const queue = this.#waiting.get(waiter.account);
    const index = queue?.indexOf(waiter) ?? -1;
    if (queue === undefined || index < 0) return;
    queue.splice(index, 1);
    if (queue.length === 0) this.#waiting.delete(waiter.account);
  }

  #backOfTheLine(account: string): void {
    const queue = this.#waiting.get(account);
    if (queue === undefined) return;
    this.#waiting.delete(account);
    this.#waiting.set(account, queue);
  }

  /** Where everybody waits for a pause to end, nobody leaves and calls again. */
  #wakeAfterPause(): void {
    const now = this.#environment.now();
    this.#environment.clearTimer(this.#timer);
    if (this.#waiting.size === 0 || ![...this.#providers.values()].some(({ pace }) => pace.pausedUntil > now)) return;
    const ends = [...this.#waiting.values()]
      .flat()
      .map(({ provider }) => this.#stateOf(provider).pace.pausedUntil)
      .filter((end) => end > now);
    if (ends.length === 0) return;
    this.#timer = this.#environment.setTimer(() => this.#serve(), Math.ceil(Math.min(...ends) - now));
  }
}

/** Milliseconds after which another look is taken at what other processes were told. */
const LOOK_MS = 1_000;
/** Milliseconds for which a complaint is kept: all processes look within this time, if they send anything there. */
const KEPT_MS = 30_000;

/** A provider's complaint to another process. */
interface Heard {
  /** Milliseconds for which nothing new is to begin from now on. */
  readonly pauseMs: number;
}

/**
 * What providers complain about to one process and all of them should hear: a provider has one rate for all. Kept in the
 * state store, where the state is shared. Nobody waits for it, and what gets lost is said again by the provider.
 */
export class SharedPaces {
  readonly #state: StateStore;
  readonly #environment: Environment;
  readonly #lookedAt = new Map<string, number>();
  /** Names of the complaints that this process knows, by provider. */
  readonly #known = new Map<string, string>();

  constructor(state: StateStore, environment: Environment) {
    this.#state = state;
    this.#environment = environment;
  }

  /** Tells the others of a complaint. */
  publish(provider: string, pauseMs: number): void {
    const name = this.#environment.randomText(12);
    this.#known.set(provider, name);
    const until = this.#environment.wallClock() + pauseMs;
    const published = async (): Promise<void> =>
      this.#state.set(keyOf(provider), { name, until }, Math.max(KEPT_MS, pauseMs));
    published().catch(() => undefined);
  }

  /** Looks now and then whether others heard of a complaint. */
  look(provider: string, onHeard: (heard: Heard) => void): void {
    const now = this.#environment.now();
    if (now - (this.#lookedAt.get(provider) ?? -Infinity) < LOOK_MS) return;
    this.#lookedAt.set(provider, now);
    const looked = async (): Promise<void> => {
      const complaint = read.object(await this.#state.get(keyOf(provider)));
      const [name, until] = [read.string(complaint['name']), read.number(complaint['until'])];
      if (name === undefined || until === undefined || this.#known.get(provider) === name) return;
      this.#known.set(provider, name);
      onHeard({ pauseMs: Math.max(0, until - this.#environment.wallClock()) });
    };
    looked().catch(() => undefined);
  }
}

function keyOf(provider: string): string {
  return `batch-pace:${provider}`;
}
