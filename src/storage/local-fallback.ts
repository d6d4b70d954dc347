import { callable, flag, milliseconds, type OptionShape, withFunctions } from '../platform/option-kinds.ts';
import { nextTurn } from '../platform/wait.ts';
import { memoryStore } from './memory.ts';
import type { StateStore } from '../contracts/state-store.ts';
import { StorageError } from '../contracts/storage-error.ts';

/** Options of {@link withLocalFallback}. */
export interface LocalFallbackOptions {
  /** Milliseconds after which an answer is no longer waited for. Default 250. */
  readonly timeoutMs?: number | undefined;
  /** Milliseconds for which the store is left alone after a failure, so that nobody waits for it. Default 1,000. */
  readonly restMs?: number | undefined;
  /** Where state lives meanwhile. Default: {@link memoryStore}. */
  readonly local?: StateStore | undefined;
  /** Milliseconds that reaching the store may take at the start, when no request waits for it. Default 4,000. */
  readonly openTimeoutMs?: number | undefined;
  /**
   * True: `open`, and with it `router.batches.start()`, rejects when the store cannot be reached, so that a program
   * fails at its start. Default false: it goes on with state of its own, and a warning.
   */
  readonly required?: boolean | undefined;
  /** Told once when the store is lost, and once when it is back. Default: on the console. */
  readonly warn?: ((message: string) => void) | undefined;
  /** Monotonic milliseconds. Default: the process's own clock. */
  readonly now?: (() => number) | undefined;
}

/** What stores check of these options, beside their own. */
export const LOCAL_FALLBACK_OPTIONS = {
  openTimeoutMs: milliseconds,
  required: flag,
  timeoutMs: milliseconds,
  restMs: milliseconds,
  local: withFunctions('a store', 'get', 'set'),
  warn: callable,
  now: callable,
} satisfies OptionShape<LocalFallbackOptions>;

const TIMEOUT_MS = 250;
const REST_MS = 1_000;
const OPEN_MS = 4_000;

/**
 * A store that never fails and never keeps a request waiting for long: while the shared one cannot be reached, each
 * process keeps state of its own. What was noted meanwhile is not carried over.
 */
export function withLocalFallback(store: StateStore, options: LocalFallbackOptions = {}): StateStore {
  const { timeoutMs = TIMEOUT_MS, restMs = REST_MS, local = memoryStore() } = options;
  const { required = false, openTimeoutMs = OPEN_MS } = options;
  const { warn = (message) => console.warn(`signalbox: ${message}`), now = () => performance.now() } = options;
  let restsUntil: number | undefined;

  function lose(error: unknown): void {
    if (restsUntil === undefined) warn(`Shared state cannot be reached, each process keeps its own: ${sayWhy(error)}`);
    restsUntil = now() + restMs;
  }

  function find(): void {
    if (restsUntil !== undefined) warn('Shared state can be reached again.');
    restsUntil = undefined;
  }

  async function reach(): Promise<void> {
    if (store.open === undefined) await store.get('reachable');
    else await store.open();
  }

  async function ask<Value>(call: (asked: StateStore) => Value | Promise<Value>): Promise<Value> {
    if (restsUntil !== undefined && now() < restsUntil) return call(local);
    try {
      const value = await within(timeoutMs, Promise.resolve(call(store)));
      find();
      return value;
    } catch (error) {
      lose(error);
      return call(local);
    }
  }

  return {
    get: (key) => ask((asked) => asked.get(key)),
    set: (key, value, ttlMs) => ask((asked) => asked.set(key, value, ttlMs)),
    delete: (key) => ask((asked) => asked.delete(key)),
    increment: (key, by, ttlMs) => ask((asked) => asked.increment(key, by, ttlMs)),
    change: (changes) => ask((asked) => asked.change(changes)),
    async open() {
      try {
        await within(openTimeoutMs, reach());
        find();
      } catch (error) {
        if (required) throw failureOf(error);
        lose(error);
      }
    },
    async close() {
      await Promise.all([store.close?.(), local.close?.()]);
    },
  };
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
    const late = new StorageError('busy', `no answer within ${ms} ms.`);
    // Where the process itself stood still, the answer may be here, and nobody has read it.
    const timer = setTimeout(() => void nextTurn().then(() => reject(late)), ms);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
