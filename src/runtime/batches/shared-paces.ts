import type { StateStore } from '../../contracts/state-store.ts';
import type { Environment } from '../../platform/environment.ts';
import * as read from '../../platform/json.ts';

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
  tell(provider: string, pauseMs: number): void {
    const name = this.#environment.randomText(12);
    this.#known.set(provider, name);
    const until = this.#environment.wallClock() + pauseMs;
    const told = async (): Promise<void> =>
      this.#state.set(keyOf(provider), { name, until }, Math.max(KEPT_MS, pauseMs));
    told().catch(() => undefined);
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
