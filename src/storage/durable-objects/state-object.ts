/** The state store over Cloudflare Durable Objects. */
import { fromByteText, toByteText } from '../../platform/byte-text.ts';
import * as read from '../../platform/json.ts';
import type { ChangedCounters, ChangeName, CounterChange, StateStore } from '../../contracts/state-store.ts';
import type { JsonValue } from '../../protocol/json.ts';
import { checkShape } from '../../platform/check-options.ts';
import { type OptionShape, nonEmptyString, withFunctions } from '../../options/values.ts';
import { StorageError } from '../../contracts/storage-error.ts';
import { AcknowledgedChanges } from '../acknowledged-changes.ts';
import { LOCAL_FALLBACK_OPTIONS, type LocalFallbackOptions, withLocalFallback } from '../local-fallback.ts';

/** The part of a Durable Object's state that is used. */
export interface DurableObjectContext {
  readonly storage: {
    readonly sql: { exec(query: string, ...values: (string | number)[]): { toArray(): unknown[] } };
    setAlarm(at: number): Promise<void>;
  };
}

/** What the object is called, and what it answers: one request for each function of a store. */
type StateQuestion =
  | { readonly ask: 'get' | 'delete'; readonly key: string }
  | { readonly ask: 'set'; readonly key: string; readonly value: JsonValue; readonly ttlMs: number }
  | {
      readonly ask: 'append';
      readonly key: string;
      readonly text: string;
      readonly at: number;
      readonly ttlMs: number;
    }
  | { readonly ask: 'slice'; readonly key: string; readonly from: number; readonly to?: number | undefined }
  | { readonly ask: 'increment'; readonly key: string; readonly by: number; readonly ttlMs: number }
  | {
      readonly ask: 'change';
      readonly changes: readonly CounterChange[];
      readonly name?: ChangeName | undefined;
      /** Numbers of the writer's changes that may be forgotten. */
      readonly forgettable?: readonly number[] | undefined;
    };

interface Entry {
  readonly value: JsonValue | undefined;
  /** Epoch milliseconds. */
  readonly expires: number;
}

/** Milliseconds between two times at which what has expired is removed. */
const SWEEP_MS = 60_000;

/** Milliseconds for which the changes of a writer are remembered after the last of them. */
const REMEMBERED_MS = 86_400_000;

const TABLE = `CREATE TABLE IF NOT EXISTS state (key TEXT PRIMARY KEY, value TEXT NOT NULL, expires REAL NOT NULL);
CREATE INDEX IF NOT EXISTS state_expires ON state (expires)`;

/**
 * The class of the Durable Object behind {@link durableObjectStore}: export it from the Worker, and give it a binding
 * and a migration with `new_sqlite_classes`. Nothing but its Worker can reach it.
 *
 * It answers one request at a time and waits for nothing while it does, so each change is whole.
 *
 * @example
 * ```ts
 * export { StateObject } from 'signalbox/durable-objects';
 * ```
 */
export class StateObject {
  readonly #storage: DurableObjectContext['storage'];
  #isSwept = false;

  constructor(context: DurableObjectContext) {
    this.#storage = context.storage;
    for (const statement of TABLE.split(';')) this.#storage.sql.exec(statement);
  }

  /** Answers the store. */
  async fetch(request: Request): Promise<Response> {
    const question = (await request.json()) as StateQuestion;
    const answer = this.#answer(question);
    await this.#sweepLater();
    return Response.json(answer === undefined ? {} : { answer });
  }

  /** Removes what has expired. Called by the runtime. */
  async alarm(): Promise<void> {
    this.#isSwept = false;
    this.#storage.sql.exec('DELETE FROM state WHERE expires <= ?', Date.now());
    if (this.#storage.sql.exec('SELECT 1 FROM state LIMIT 1').toArray().length > 0) await this.#sweepLater();
  }

  #answer(question: StateQuestion): JsonValue | ChangedCounters | undefined {
    switch (question.ask) {
      case 'get':
        return this.#entry(question.key)?.value;
      case 'set':
        return this.#put(question.key, question.value, lifeOf(question.ttlMs));
      case 'delete':
        this.#storage.sql.exec('DELETE FROM state WHERE key = ?', JSON.stringify(question.key));
        return undefined;
      case 'append':
        return this.#append(question.key, toByteText(question.text), question.at, lifeOf(question.ttlMs));
      case 'slice': {
        const value = this.#entry(question.key)?.value;
        return typeof value === 'string' ? fromByteText(value.slice(question.from, question.to)) : '';
      }
      case 'increment': {
        const { key, by, ttlMs } = question;
        const sum = (this.#count(key) ?? 0) + by;
        this.#keep(key, sum, ttlMs);
        return sum;
      }
      case 'change':
        return this.#once(question.name, question.forgettable, question.changes);
    }
  }

  /** Makes a change that was not made under its name before. The numbers of a writer are kept under a key of its own. */
  #once(
    name: ChangeName | undefined,
    forgettable: readonly number[] = [],
    changes: readonly CounterChange[],
  ): ChangedCounters {
    if (name === undefined) return this.#change(changes);
    const key = `changes\n${name.writer}`;
    const { [name.number]: before, ...others } = { ...read.object(this.#entry(key)?.value) };
    for (const number of forgettable) delete others[number];
    const isDue = name.isRevoked === true ? before === 'made' : before === undefined;
    const changed = isDue ? this.#change(changes) : { applied: before === 'made', sums: this.#sums(changes) };
    const isKept = changed.applied || name.isRevoked === true;
    const now = name.isRevoked === true ? 'revoked' : (before ?? 'made');
    const kept = isKept ? { ...others, [name.number]: now } : others;
    this.#put(key, kept, lifeOf(REMEMBERED_MS));
    return changed;
  }

  #append(key: string, bytes: string, at: number, expires: number): boolean {
    const value = this.#entry(key)?.value ?? '';
    if (typeof value !== 'string') return false;
    if (value.length !== at) return value.length > at && value.slice(at) === bytes;
    this.#put(key, value + bytes, expires);
    return true;
  }

  #sums(changes: readonly CounterChange[]): readonly number[] {
    return changes.map(({ key, beside = [] }) =>
      [key, ...beside].reduce((sum, one) => sum + (this.#count(one) ?? 0), 0),
    );
  }

  #change(changes: readonly CounterChange[]): ChangedCounters {
    const before = this.#sums(changes);
    const applied = changes.every(({ max, by }, index) => max === undefined || (before[index] ?? 0) + by <= max);
    if (applied) {
      for (const { key, by, ttlMs } of changes) this.#keep(key, Math.max(0, (this.#count(key) ?? 0) + by), ttlMs);
    }
    return { applied, sums: applied ? this.#sums(changes) : before };
  }

  /** Writes a counter; one that is there keeps its time. */
  #keep(key: string, value: number, ttlMs: number): void {
    const known = this.#entry(key);
    this.#put(key, value, typeof known?.value === 'number' ? known.expires : lifeOf(ttlMs));
  }

  #count(key: string): number | undefined {
    const value = this.#entry(key)?.value;
    return typeof value === 'number' ? value : undefined;
  }

  #entry(key: string): Entry | undefined {
    const rows = this.#storage.sql.exec(
      'SELECT value, expires FROM state WHERE key = ? AND expires > ?',
      JSON.stringify(key),
      Date.now(),
    );
    const { value, expires } = read.object(rows.toArray()[0]);
    if (typeof value !== 'string' || typeof expires !== 'number') return undefined;
    return { value: read.parse(value) as JsonValue | undefined, expires };
  }

  /** Keys are kept as JSON: they may hold anything, and SQLite ends some texts at a NUL. */
  #put(key: string, value: JsonValue, expires: number): undefined {
    this.#storage.sql.exec(
      'INSERT OR REPLACE INTO state (key, value, expires) VALUES (?, ?, ?)',
      JSON.stringify(key),
      JSON.stringify(value),
      expires,
    );
  }

  async #sweepLater(): Promise<void> {
    if (this.#isSwept) return;
    this.#isSwept = true;
    await this.#storage.setAlarm(Date.now() + SWEEP_MS);
  }
}

function lifeOf(ttlMs: number): number {
  return Date.now() + Math.max(1, ttlMs);
}

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
  name: nonEmptyString,
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
  const acknowledged = new AcknowledgedChanges();
  const shared: StateStore = {
    get: async (key) => (await ask({ ask: 'get', key })) as JsonValue | undefined,
    set: async (key, value, ttlMs) => void (await ask({ ask: 'set', key, value, ttlMs })),
    delete: async (key) => void (await ask({ ask: 'delete', key })),
    increment: async (key, by, ttlMs) => Number(await ask({ ask: 'increment', key, by, ttlMs })),
    append: async (key, text, at, ttlMs) => (await ask({ ask: 'append', key, text, at, ttlMs })) === true,
    slice: async (key, from, to) => read.string(await ask({ ask: 'slice', key, from, to })) ?? '',
    change: (changes, change) =>
      acknowledged.along('', change, async (forgettable) => {
        return (await ask({ ask: 'change', changes, name: change, forgettable })) as ChangedCounters;
      }),
  };
  return withLocalFallback(shared, fallback);
}
