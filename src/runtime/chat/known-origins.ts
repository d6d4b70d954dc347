import type { Endpoint } from '../../catalog/endpoint.ts';
import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import { nameOfSeal, originOf, type ReasoningOrigins, sealsIn } from '../../core/normalize/reasoning-origin.ts';
import type { StateStore } from '../../contracts/state-store.ts';
import type { Environment } from '../../platform/environment.ts';
import { type MaybePromise, valueWithin } from '../../platform/wait.ts';
import type { RecordMap } from './endpoint-records.ts';

/** Milliseconds that a request waits for the store, which is only asked about what this process has not seen itself. */
const WAIT_MS = 50;

interface KnownOrigin {
  readonly origin: string;
}

/**
 * Remembers who made encrypted reasoning, so that it goes back only there: in this process first, in the state store
 * behind it. Costs nothing for conversations without any.
 */
export class KnownOrigins {
  readonly #store: StateStore | undefined;
  readonly #local: RecordMap<KnownOrigin>;
  readonly #ttlMs: number;
  readonly #environment: Environment;

  /**
   * @param store - Absent where state is not shared.
   * @param ttlMs - Milliseconds for which the store keeps an origin.
   */
  constructor(store: StateStore | undefined, local: RecordMap<KnownOrigin>, ttlMs: number, environment: Environment) {
    this.#store = store;
    this.#local = local;
    this.#ttlMs = ttlMs;
    this.#environment = environment;
  }

  /** Notes who made the seals of an answer. */
  note(account: string, endpoint: Endpoint, seals: readonly string[]): void {
    const origin = originOf(endpoint);
    for (const seal of seals) {
      const key = keyOf(account, seal);
      this.#local.set(key, { origin });
      if (this.#store !== undefined) void this.#keep(this.#store, key, origin);
    }
  }

  /** Who made the seals of a conversation, as far as it is known; undefined where there is nothing to know. */
  find({ account, messages }: NormalizedRequest): MaybePromise<ReasoningOrigins | undefined> {
    const seals = sealsIn(messages);
    if (seals.length === 0) return undefined;
    const known = new Map<string, string>();
    const unknown: string[] = [];
    for (const seal of seals) {
      const origin = this.#local.get(keyOf(account.id, seal))?.origin;
      if (origin === undefined) unknown.push(seal);
      else known.set(seal, origin);
    }
    const store = this.#store;
    if (store === undefined || unknown.length === 0) return inOrder(seals, known);
    const asked = Promise.all(unknown.map((seal) => this.#ask(store, account.id, seal, known)));
    return valueWithin(this.#environment, asked, WAIT_MS).then(() => inOrder(seals, known));
  }

  async #keep(store: StateStore, key: string, origin: string): Promise<void> {
    try {
      await store.set(key, origin, this.#ttlMs);
    } catch {
      // Other instances then do not know, and treat it as of unknown origin.
    }
  }

  async #ask(store: StateStore, account: string, seal: string, known: Map<string, string>): Promise<void> {
    try {
      const key = keyOf(account, seal);
      const origin = await store.get(key);
      if (typeof origin !== 'string') return;
      known.set(seal, origin);
      this.#local.set(key, { origin });
    } catch {
      // As unknown as before.
    }
  }
}

/** As in the conversation, so that the latest origin is last. */
function inOrder(seals: readonly string[], known: ReadonlyMap<string, string>): ReasoningOrigins | undefined {
  if (known.size === 0) return undefined;
  const origins = new Map<string, string>();
  for (const seal of seals) {
    const origin = known.get(seal);
    if (origin !== undefined) origins.set(seal, origin);
  }
  return origins;
}

function keyOf(account: string, seal: string): string {
  return `reasoning-origin\n{${encodeURIComponent(account)}}\n${nameOfSeal(seal)}`;
}
