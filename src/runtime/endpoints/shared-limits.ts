/** Applies declared rate limits of endpoints across all instances. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { ChangedCounters, StateStore } from '../../contracts/state-store.ts';
import {
  changesAfter,
  claimOf,
  type EndpointClaim,
  minuteCounters,
  waitForRoom,
} from '../../core/limits/endpoint-claim.ts';
import type { Environment } from '../../platform/environment.ts';
import { andThen, type MaybePromise, valueWithin } from '../../platform/wait.ts';

/** A call's place at an endpoint, counted for all instances. */
export interface SharedSlot {
  readonly endpoint: Endpoint;
  /**
   * Tells that the call is over.
   *
   * @param used - Tokens that it had; undefined where they are unknown, `nothing` for a call that was never made.
   */
  release(used: number | undefined | 'nothing'): void;
}

/** There is no place; in so many milliseconds there may be one. */
export interface NoSlot {
  readonly waitMs: number;
}

/** Milliseconds that a call waits for the store, unless it was slower the last time. */
const WAIT_MS = 50;

/**
 * Applies the `rpm`, `tpm` and `concurrency` that endpoints declare to all instances together: a call is counted in the
 * state store before it is made. Where the store does not answer in time the call goes on, limited by what its own
 * instance has counted.
 */
export class SharedLimits {
  readonly #state: StateStore;
  readonly #environment: Environment;
  /** Milliseconds in which the store answered the last time. */
  #storeMs = 0;

  constructor(state: StateStore, environment: Environment) {
    this.#state = state;
    this.#environment = environment;
  }

  /**
   * Takes a place for a call.
   *
   * @param tokens - Tokens that it is likely to have.
   * @param onLate - Called when the store says only after the wait that there was no place.
   */
  take(endpoint: Endpoint, tokens: number, onLate: (full: NoSlot) => void): MaybePromise<SharedSlot | NoSlot> {
    const claim = claimOf(endpoint, tokens, this.#environment.wallClock());
    const changed = this.#change(claim);
    return changed instanceof Promise ? this.#inTime(claim, changed, onLate) : this.#decided(claim, changed);
  }

  async #inTime(
    claim: EndpointClaim,
    changed: Promise<ChangedCounters>,
    onLate: (full: NoSlot) => void,
  ): Promise<SharedSlot | NoSlot> {
    const isSlow = this.#storeMs > WAIT_MS;
    const inTime = isSlow ? undefined : await valueWithin(this.#environment, changed, WAIT_MS);
    if (inTime !== undefined) return this.#decided(claim, inTime);
    const late = async (): Promise<void> => {
      const counters = await changed;
      if (!counters.applied) onLate(await this.#waitFor(claim, counters));
    };
    late().catch(() => undefined);
    return this.#placeOf(claim, changed);
  }

  #decided(claim: EndpointClaim, changed: ChangedCounters): MaybePromise<SharedSlot | NoSlot> {
    return changed.applied ? this.#placeOf(claim, changed) : this.#waitFor(claim, changed);
  }

  #placeOf(claim: EndpointClaim, changed: MaybePromise<ChangedCounters>): SharedSlot {
    let isOver = false;
    return {
      endpoint: claim.endpoint,
      release: (used) => {
        if (isOver) return;
        isOver = true;
        const changes = changesAfter(claim, used);
        if (changes.length === 0) return;
        const give = async (): Promise<void> => {
          if ((await changed).applied) await this.#state.change(changes);
        };
        // What cannot be given back is forgotten with its slice.
        give().catch(() => undefined);
      },
    };
  }

  async #waitFor({ changes }: EndpointClaim, { sums }: ChangedCounters): Promise<NoSlot> {
    const waits = await Promise.all(
      changes.map(async (change, index) => {
        const sum = sums[index] ?? 0;
        if (sum + change.by <= (change.max ?? Infinity)) return 0;
        const slices = await Promise.all(minuteCounters(change).map((key) => this.#count(key)));
        return waitForRoom(change, sum, slices, this.#environment.wallClock());
      }),
    );
    return { waitMs: Math.max(1, ...waits) };
  }

  async #count(key: string): Promise<number> {
    return Number((await this.#state.get(key)) ?? 0);
  }

  #change({ changes }: EndpointClaim): MaybePromise<ChangedCounters> {
    const startedAt = this.#environment.now();
    try {
      return andThen(this.#state.change(changes), (changed) => {
        this.#storeMs = this.#environment.now() - startedAt;
        return changed;
      });
    } catch {
      return NOT_COUNTED;
    }
  }
}

/** The store failed: the call goes on, and there is nothing to give back. */
const NOT_COUNTED: ChangedCounters = { applied: true, sums: [] };
