import { checkShape, type OptionShape, text, withFunctions } from '../../platform/option-kinds.ts';
import { StorageError } from '../../contracts/storage-error.ts';
import type { ChangedCounters, StateStore } from '../../contracts/state-store.ts';
import type { JsonValue } from '../../protocol/json.ts';
import { LOCAL_FALLBACK_OPTIONS, type LocalFallbackOptions, withLocalFallback } from '../local-fallback.ts';
import type { StateQuestion } from './state-object.ts';
import * as read from '../../platform/json.ts';

/** A binding of a Worker to the class {@link StateObject}. */
export interface StateObjectNamespace {
  idFromName(name: string): unknown;
  get(id: never): { fetch(url: string, init: { method: 'POST'; body: string }): Promise<StateObjectReply> };
}

/** The part of the object's response that is read. */
export interface StateObjectReply {
  readonly ok: boolean;
  readonly status: number;
  json(): Promise<unknown>;
}

/** Options of {@link durableObjectStore}. */
export interface DurableObjectStoreOptions extends LocalFallbackOptions {
  /** The binding, such as `env.SIGNALBOX_STATE`. */
  readonly namespace: StateObjectNamespace;
  /** Name of the object that keeps the state. Routers with the same name share it. Default `signalbox`. */
  readonly name?: string | undefined;
}

const OPTIONS: OptionShape<DurableObjectStoreOptions> = {
  namespace: withFunctions('a binding of Durable Objects, such as env.SIGNALBOX_STATE', 'idFromName', 'get'),
  name: text,
  ...LOCAL_FALLBACK_OPTIONS,
};

/** Nobody looks it up: requests to an object go where its binding leads. */
const ADDRESS = 'https://state.signalbox/';

/**
 * Small state that the instances of a Worker share, in one Durable Object: sticky sessions, cooldowns, limits, budgets.
 * While the object cannot be reached each instance keeps state of its own, a warning says so, and no request fails.
 *
 * @example
 * ```ts
 * import { env } from 'cloudflare:workers';
 *
 * const router = createRouter({ providers, state: durableObjectStore({ namespace: env.SIGNALBOX_STATE }) });
 * ```
 * @throws {@link ConfigError}
 */
export function durableObjectStore(options: DurableObjectStoreOptions): StateStore {
  checkShape(OPTIONS, options, 'durableObjectStore', ['namespace']);
  const { namespace, name = 'signalbox', ...fallback } = options;
  async function ask(question: StateQuestion): Promise<unknown> {
    // A stub belongs to the request that made it, so each question makes its own.
    const stub = namespace.get(namespace.idFromName(name) as never);
    const reply = await stub.fetch(ADDRESS, { method: 'POST', body: JSON.stringify(question) });
    if (!reply.ok) throw new StorageError('unavailable', `The Durable Object answered ${reply.status}.`);
    return read.object(await reply.json())['answer'];
  }
  const shared: StateStore = {
    get: async (key) => (await ask({ ask: 'get', key })) as JsonValue | undefined,
    set: async (key, value, ttlMs) => void (await ask({ ask: 'set', key, value, ttlMs })),
    delete: async (key) => void (await ask({ ask: 'delete', key })),
    increment: async (key, by, ttlMs) => Number(await ask({ ask: 'increment', key, by, ttlMs })),
    change: async (changes) => (await ask({ ask: 'change', changes })) as ChangedCounters,
  };
  return withLocalFallback(shared, fallback);
}
