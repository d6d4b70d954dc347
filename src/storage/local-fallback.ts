/** Replaces a failing state store by local memory. */
import { timerMs } from '../platform/environment.ts';
import { callable, milliseconds, type OptionShape, withFunctions } from '../options/values.ts';
import { boolean } from '../schema/scalars.ts';
import { type MaybePromise, yieldTurn } from '../platform/wait.ts';
import { memoryStore } from './memory.ts';
import type { ChangedCounters, ChangeName, CounterChange, StateStore } from '../contracts/state-store.ts';
import { StorageError } from '../contracts/storage-error.ts';

/** Options of {@link withLocalFallback}. */
export interface LocalFallbackOptions {
  /** Milliseconds after which an answer is no longer waited for. Default 250. */
  readonly timeoutMs?: number | undefined;
  /** Milliseconds for which the store is not called after a failure, so that nobody waits for it. Default 1,000. */
  readonly restMs?: number | undefined;
  /** Where state lives meanwhile. Default: {@link memoryStore}. */
  readonly local?: StateStore | undefined;
  /** Milliseconds that reaching the store may take at the start, when no request waits for it. Default 4,000. */
  readonly openTimeoutMs?: number | undefined;
  /**
   * True: `open`, and with it `router.batches.start()`, rejects when the store cannot be reached or takes no changes, so
   * that a program fails at its start. Default false: it goes on with state of its own, and a warning.
   */
  readonly required?: boolean | undefined;
  /** Called once when the store is lost, and once when it takes changes again. Default: on the console. */
  readonly warn?: ((message: string) => void) | undefined;
  /** Monotonic milliseconds. Default: the process's own clock. */
  readonly now?: (() => number) | undefined;
}

/** What stores check of these options, beside their own. */
export const LOCAL_FALLBACK_OPTIONS = {
  openTimeoutMs: milliseconds,
  required: boolean,
  timeoutMs: milliseconds,
  restMs: milliseconds,
  local: withFunctions('a store', 'get', 'set'),
  warn: callable,
  now: callable,
} satisfies OptionShape<LocalFallbackOptions>;

/** Milliseconds after which an answer is no longer waited for. */
export const TIMEOUT_MS = 250;
const REST_MS = 1_000;
const OPEN_MS = 4_000;
/** Written to find out whether the store takes changes: one that only reads would be found and lost every second. */
const PROBE: readonly CounterChange[] = [{ key: 'reachable', by: 0, ttlMs: 1_000 }];

/**
 * A store that never fails and never keeps a request waiting for long: while the shared one cannot be reached, or takes
 * no changes, each process keeps state of its own. Values and claims that were noted meanwhile are not carried over.
 * What belongs to a claim of the shared store is: it is given back there, or charged, as soon as that is possible.
 */
export function withLocalFallback(store: StateStore, options: LocalFallbackOptions = {}): StateStore {
  const fallback = new LocalFallback(store, options);
  return {
    get: (key) => fallback.ask((requested) => requested.get(key)),
    set: (key, value, ttlMs) => fallback.ask((requested) => requested.set(key, value, ttlMs)),
    delete: (key) => fallback.ask((requested) => requested.delete(key)),
    increment: (key, by, ttlMs) => fallback.ask((requested) => requested.increment(key, by, ttlMs)),
    append: (key, text, at, ttlMs) => fallback.ask((requested) => requested.append?.(key, text, at, ttlMs) ?? false),
    slice: (key, from, to) => fallback.ask((requested) => requested.slice?.(key, from, to) ?? ''),
    change: (changes) => fallback.change(changes),
    open: () => fallback.open(),
    close: () => fallback.close(),
  };
}

/** Changes on their way to the shared store. */
interface SentChanges {
  readonly changes: readonly CounterChange[];
  /** True where they count only if none exceeds its limit. */
  readonly isClaim: boolean;
  /** Default: a new one. */
  readonly name?: ChangeName | undefined;
}

/** A shared store, the local one that takes its place, and what is owed between them. */
class LocalFallback {
  readonly #store: StateStore;
  readonly #local: StateStore;
  readonly #timeoutMs: number;
  readonly #restMs: number;
  readonly #openTimeoutMs: number;
  readonly #required: boolean;
  readonly #warn: (message: string) => void;
  readonly #now: () => number;
  readonly #claims: LocalClaims;
  readonly #owed: OwedChanges;
  readonly #nextName = changeNames();
  /** Until when the shared store is not called; undefined while it is there. */
  #restsUntil: number | undefined;
  /** Settles what is owed. */
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(store: StateStore, options: LocalFallbackOptions) {
    this.#store = store;
    this.#local = options.local ?? memoryStore();
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
    this.#restMs = options.restMs ?? REST_MS;
    this.#openTimeoutMs = options.openTimeoutMs ?? OPEN_MS;
    this.#required = options.required ?? false;
    this.#warn = options.warn ?? ((message) => console.warn(`signalbox: ${message}`));
    this.#now = options.now ?? (() => performance.now());
    this.#claims = new LocalClaims(this.#now);
    this.#owed = new OwedChanges(this.#warn);
  }

  /** Calls the shared store, or the local one where that is away or fails. */
  async ask<Value>(call: (requested: StateStore) => Value | Promise<Value>): Promise<Value> {
    const there = this.#isThere();
    if (!(there instanceof Promise ? await there : there)) return call(this.#local);
    try {
      return await within(this.#timeoutMs, Promise.resolve(call(this.#store)));
    } catch (error) {
      this.#lose(error);
      return call(this.#local);
    }
  }

  /** A claim is made in one place, and settled where it was made. */
  async change(changes: readonly CounterChange[]): Promise<ChangedCounters> {
    const isClaim = changes.some(({ max }) => max !== undefined);
    const [own, shared] = isClaim ? [[], changes] : this.#claims.settle(changes);
    const there = this.#isThere();
    const isHere = there instanceof Promise ? await there : there;
    const changed = isHere ? await this.#changeShared({ changes: shared, isClaim }) : undefined;
    if (changed !== undefined) {
      if (own.length > 0) await this.#local.change(own);
      return changed;
    }
    if (isClaim) {
      const claimed = await this.#local.change(changes);
      if (claimed.applied) this.#claims.claimed(changes);
      return claimed;
    }
    if (!isHere) this.#owe(shared);
    const spent = shared.map((one) => (one.by > 0 ? one : { ...one, by: 0 }));
    return this.#local.change(
      own.length > 0 ? spent.map((one, index) => ({ ...one, by: one.by + (own[index]?.by ?? 0) })) : spent,
    );
  }

  async open(): Promise<void> {
    try {
      await within(this.#openTimeoutMs, this.#reach());
      this.#find();
    } catch (error) {
      if (this.#required) throw failureOf(error);
      this.#lose(error);
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    if (this.#owed.any && this.#restsUntil === undefined) await this.#pay();
    clearTimeout(this.#timer);
    await Promise.all([this.#store.close?.(), this.#local.close?.()]);
  }

  #lose(error: unknown): void {
    if (this.#restsUntil === undefined) {
      this.#warn(`Shared state cannot be reached, each process keeps its own: ${sayWhy(error)}`);
    }
    this.#restsUntil = this.#now() + this.#restMs;
  }

  #find(): void {
    if (this.#restsUntil !== undefined) this.#warn('Shared state can be reached again.');
    this.#restsUntil = undefined;
  }

  async #reach(): Promise<void> {
    await this.#store.open?.();
    await this.#store.change(PROBE);
  }

  #isThere(): MaybePromise<boolean> {
    if (this.#restsUntil === undefined) return true;
    return this.#now() < this.#restsUntil ? false : this.#comesBack();
  }

  /** Looks whether a store that was lost is back. Others meanwhile go on as if it was not. */
  async #comesBack(): Promise<boolean> {
    this.#restsUntil = this.#now() + this.#restMs;
    try {
      await within(this.#timeoutMs, Promise.resolve(this.#store.change(PROBE)));
    } catch (error) {
      this.#lose(error);
      return false;
    }
    if (!(await this.#pay())) return false;
    this.#find();
    return true;
  }

  /**
   * Makes a change in the shared store. One that is given up may still be carried out, or was, and its answer got lost:
   * then a claim is given back, and whatever else it was, it is sent again under its name, which counts it once.
   */
  async #changeShared({
    changes,
    isClaim,
    name = this.#nextName(),
  }: SentChanges): Promise<ChangedCounters | undefined> {
    const changing = (async () => this.#store.change(changes, name))();
    try {
      return await within(this.#timeoutMs, changing);
    } catch (error) {
      this.#lose(error);
      const settled = isClaim ? changes.map(({ key, by, ttlMs }) => ({ key, by: -by, ttlMs })) : changes;
      void changing.then(
        ({ applied }) => isClaim && applied && this.#owe(settled),
        () => this.#owe(settled, { ...name, isRepeated: true, isRevoked: isClaim || name.isRevoked }),
      );
      return undefined;
    }
  }

  #owe(changes: readonly CounterChange[], name?: ChangeName): void {
    this.#owed.add(changes, name);
    if (this.#timer !== undefined || !this.#owed.any) return;
    this.#timer = setTimeout(() => void this.#settleOwed(), timerMs(this.#restMs));
    (this.#timer as { unref?: () => void }).unref?.();
  }

  async #settleOwed(): Promise<void> {
    this.#timer = undefined;
    // Whoever finds the store pays at once.
    if ((await this.#isThere()) && this.#owed.any) await this.#pay();
    this.#owe([]);
  }

  /** Makes the changes that are owed; false when the store was lost over it. */
  async #pay(): Promise<boolean> {
    const paid = await Promise.all(
      this.#owed.take().map(async ({ changes, name }) => this.#changeShared({ changes, isClaim: false, name })),
    );
    return !paid.includes(undefined);
  }
}

/** Counters of which changes are remembered while the store is away: more than accounts that spend in an outage. */
const MAX_COUNTERS = 262_144;

/** What was claimed in the local store, by counter, so that it is given back there and not in the shared one. */
class LocalClaims {
  readonly #amounts = new Map<string, { by: number; readonly until: number }>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  claimed(changes: readonly CounterChange[]): void {
    const now = this.#now();
    for (const { key, by, ttlMs } of changes) {
      const known = this.#amounts.get(key);
      if (known !== undefined) known.by += by;
      else if (by > 0) this.#amounts.set(key, { by, until: now + ttlMs });
    }
    if (this.#amounts.size <= MAX_COUNTERS) return;
    for (const [key, { until }] of this.#amounts) if (until <= now) this.#amounts.delete(key);
    // What is forgotten ends with the time of its counter. Many at once, so that not every claim looks at all of them.
    for (const key of this.#amounts.keys()) {
      if (this.#amounts.size <= MAX_COUNTERS - (MAX_COUNTERS >> 4)) break;
      this.#amounts.delete(key);
    }
  }

  /** Splits changes into what belongs to claims here, which may be nothing at all, and the rest. */
  settle(changes: readonly CounterChange[]): readonly [own: readonly CounterChange[], rest: readonly CounterChange[]] {
    if (!changes.some(({ key, by }) => by < 0 && this.#amounts.has(key))) return [[], changes];
    const own = changes.map((one) => ({ ...one, by: one.by < 0 ? -this.#take(one.key, -one.by) : 0 }));
    return [own, changes.map((one, index) => ({ ...one, by: one.by - (own[index]?.by ?? 0) }))];
  }

  #take(key: string, wanted: number): number {
    const known = this.#amounts.get(key);
    if (known === undefined) return 0;
    const taken = Math.min(known.by, wanted);
    known.by -= taken;
    if (known.by <= 0) this.#amounts.delete(key);
    return taken;
  }
}

/** Names for the changes of one writer. */
function changeNames(): () => ChangeName {
  let writer: string | undefined;
  let number = 0;
  return () => {
    // Some runtimes have no randomness before the first request.
    writer ??= crypto.randomUUID().slice(-12);
    number += 1;
    return { writer, number };
  };
}

/** A change that the shared store has yet to make, and its name where it was sent before. */
interface OwedChange {
  readonly changes: readonly CounterChange[];
  readonly name?: ChangeName | undefined;
}

/** Changes that were sent and are remembered. */
const MAX_SENT = 65_536;

/**
 * Changes that the shared store has yet to make. Those of the same counters that were never sent are added up. Where
 * memory would not hold more, the oldest go, which is said once: what they have cost is counted nowhere.
 */
class OwedChanges {
  readonly #owed = new Map<string, readonly CounterChange[]>();
  readonly #sent = new Map<string, OwedChange>();
  readonly #warn: (message: string) => void;
  #hasWarned = false;

  constructor(warn: (message: string) => void) {
    this.#warn = warn;
  }

  get any(): boolean {
    return this.#owed.size > 0 || this.#sent.size > 0;
  }

  add(changes: readonly CounterChange[], name?: ChangeName): void {
    if (changes.every(({ by }) => by === 0)) return;
    if (name !== undefined) return this.#keep(this.#sent, String(name.number), { changes, name }, MAX_SENT);
    const counters = JSON.stringify(changes.map(({ key }) => key));
    const known = this.#owed.get(counters) ?? [];
    const sum = changes.map(({ key, by, ttlMs }, index) => ({ key, by: by + (known[index]?.by ?? 0), ttlMs }));
    this.#keep(this.#owed, counters, sum, MAX_COUNTERS);
  }

  take(): readonly OwedChange[] {
    const all = [...this.#sent.values(), ...[...this.#owed.values()].map((changes) => ({ changes }))];
    this.#sent.clear();
    this.#owed.clear();
    this.#hasWarned = false;
    return all;
  }

  #keep<Value>(map: Map<string, Value>, key: string, value: Value, max: number): void {
    map.set(key, value);
    const [oldest] = map.keys();
    if (map.size <= max || oldest === undefined) return;
    map.delete(oldest);
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    this.#warn(`More than ${max} changes wait for the shared state; the oldest are dropped and counted nowhere.`);
  }
}

function failureOf(error: unknown): StorageError {
  if (StorageError.isInstance(error)) return error;
  return new StorageError('unavailable', `Shared state cannot be reached: ${sayWhy(error)}`);
}

/** The reason without what the driver says about it, which may name credentials. */
function sayWhy(error: unknown): string {
  if (StorageError.isInstance(error)) return error.message;
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return `${error.code}.`;
  return error instanceof Error ? `${error.name}.` : 'it failed.';
}

function within<Value>(ms: number, promise: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    // Made when it is needed: the stack of an error costs more than the rest of a call.
    const late = (): void => reject(new StorageError('busy', `no answer within ${ms} ms.`));
    // Where the process itself stood still, the answer may be here, and nobody has read it.
    const timer = setTimeout(() => void yieldTurn().then(late), timerMs(ms));
    promise.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}
