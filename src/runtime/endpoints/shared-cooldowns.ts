/** Shares cooldowns among instances through the state store. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { Cooldown } from '../../core/fallback/health.ts';
import { isJsonObject, type JsonValue } from '../../protocol/json.ts';
import type { StateStore } from '../../contracts/state-store.ts';
import type { EndpointRecords } from './endpoint-records.ts';
import type { Environment } from '../../platform/environment.ts';
import { valueWithin } from '../../platform/wait.ts';
import { FAILURE_RULES } from '../../contracts/failure.ts';

/** Milliseconds for which a look at what others have told is good enough. */
const POLL_MS = 1_000;
/** Milliseconds that a request waits for such a look; it goes on with what is known otherwise. */
const WAIT_MS = 50;
/** Cooldowns that an instance reads at most when it has missed some. */
const MOST_MISSED = 100;
/** A cooldown that ends this many milliseconds later than one that was told is not worth telling. */
const SAME_MS = 1_000;
const TEN_YEARS_MS = 315_360_000_000;
const LAST = 'cooldowns\nlast';

/**
 * Cooldowns that instances tell each other through the state store: an endpoint that one of them was turned away from,
 * or whose breaker it opened, is not called by any. A numbered list, of which everybody reads what is new: one look a
 * second and instance, however many requests there are. Everything else about health stays with who has measured it.
 */
export class SharedCooldowns {
  readonly #state: StateStore;
  readonly #environment: Environment;
  readonly #records: EndpointRecords;
  readonly #published = new Map<string, number>();
  #polledAt = -Infinity;
  #seen = 0;
  /** Numbers that were given out and not yet written when we looked. */
  #missing: readonly number[] = [];

  constructor(state: StateStore, environment: Environment, records: EndpointRecords) {
    this.#state = state;
    this.#environment = environment;
    this.#records = records;
    const publish: EndpointRecords['onCooldown'] = (endpoint, cooldown) => this.#publish(endpoint, cooldown);
    records.onCooldown = publish;
  }

  /** Looks for news, unless somebody has just looked; who is told to wait need not wait for long. */
  refresh(): Promise<unknown> | undefined {
    const now = this.#environment.now();
    if (now - this.#polledAt < POLL_MS) return undefined;
    this.#polledAt = now;
    return valueWithin(this.#environment, this.#poll(), WAIT_MS);
  }

  #publish({ id }: Endpoint, { since, until, cause, asked = false, unproven = false }: Cooldown): void {
    const now = this.#environment.now();
    if (until <= now || until - (this.#published.get(id) ?? 0) < SAME_MS) return;
    this.#published.set(id, until);
    const write = async (): Promise<void> => {
      const number = await this.#state.increment(LAST, 1, TEN_YEARS_MS);
      await this.#state.set(
        `cooldowns\n${number}`,
        { endpoint: id, since, until, cause, asked, unproven },
        until - now,
      );
    };
    // Who is not told finds out by itself.
    write().catch(() => undefined);
  }

  async #poll(): Promise<void> {
    const last = Number((await this.#state.get(LAST)) ?? 0);
    // A store that has lost everything counts from the beginning.
    const from = Math.max(last < this.#seen ? 0 : this.#seen, last - MOST_MISSED);
    const fresh = Array.from({ length: last - from }, (_, index) => from + index + 1);
    this.#seen = last;
    const again = this.#missing;
    this.#missing = [];
    const read = async (number: number): Promise<number | undefined> =>
      this.#learn(await this.#state.get(`cooldowns\n${number}`)) ? undefined : number;
    await Promise.all(again.map(read));
    const missing = await Promise.all(fresh.map(read));
    this.#missing = missing.filter((number) => number !== undefined);
  }

  #learn(published: JsonValue | undefined): boolean {
    if (!isJsonObject(published)) return false;
    const { endpoint, since, until, cause, asked, unproven } = published;
    if (typeof endpoint !== 'string' || typeof since !== 'number' || typeof until !== 'number') return true;
    if (!isKind(cause)) return true;
    // What this instance told itself it knows better: a breaker lets probes through, a cooldown does not.
    if (this.#published.get(endpoint) === until) return true;
    this.#published.set(endpoint, Math.max(until, this.#published.get(endpoint) ?? 0));
    this.#records.cool(endpoint, { since, until, cause, asked: asked === true, unproven: unproven === true });
    return true;
  }
}

function isKind(cause: JsonValue | undefined): cause is Cooldown['cause'] {
  return typeof cause === 'string' && Object.hasOwn(FAILURE_RULES, cause);
}
