import { setTimeout } from 'node:timers/promises';
import { type Batch, type NewBatch, type Provider, type Router, type RouterConfig, createRouter } from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';
import type { FakeEnvironment } from 'signalbox/testing';
import type { ProviderCall } from '../../src/contracts/provider.ts';
import { type BatchStore } from '../../src/contracts/batch-store.ts';
import { memoryStorage } from '../../src/storage/memory-storage.ts';
import type { ProviderReply } from '../../src/contracts/provider-reply.ts';
import type { BatchRecord } from '../../src/contracts/batch-record.ts';
import { type FailureKind, failure } from '../../src/contracts/failure.ts';
import { type Constants, withConstants } from './constants.ts';

/** What a provider of a test does with a call. */
export type Behave = (call: SeenCall) => Promise<ProviderReply> | ProviderReply;

/** A call that a provider of a test got. */
export interface SeenCall extends ProviderCall {
  /** Text of the last message, by which tests know their requests. */
  readonly text: string;
  /** Counted from 0, over all calls. */
  readonly number: number;
  /** Calls of the same text before this one. */
  readonly before: number;
}

/** A provider that keeps what it was asked. */
export interface BatchProvider extends Provider {
  readonly calls: readonly SeenCall[];
  /** Calls that are open at this moment, and the most that ever were. */
  readonly open: number;
  readonly most: number;
}

/** Makes a provider of `acme/one`. */
export function batchProvider(
  slug: string,
  behave: Behave = () => answer('Hello'),
  more: Partial<Provider> = {},
): BatchProvider {
  const calls: SeenCall[] = [];
  let open = 0;
  let most = 0;
  return {
    slug,
    name: slug.toUpperCase(),
    models: { 'acme/one': { price: { prompt: 1, completion: 2, serviceTiers: { batch: 0.5 } } } },
    calls,
    get open() {
      return open;
    },
    get most() {
      return most;
    },
    async chat(call) {
      const text = textOf(call);
      const before = calls.filter((one) => one.text === text).length;
      const seen: SeenCall = { ...call, text, number: calls.length, before };
      calls.push(seen);
      open += 1;
      most = Math.max(most, open);
      try {
        return await behave(seen);
      } finally {
        open -= 1;
      }
    },
    ...more,
  };
}

function textOf({ request }: ProviderCall): string {
  const content = request.messages.at(-1)?.content;
  return typeof content === 'string' ? content : JSON.stringify(content);
}

/** A whole answer. */
export function answer(text: string): ProviderReply {
  return {
    type: 'whole',
    result: {
      choices: [
        {
          index: 0,
          finish_reason: 'stop',
          native_finish_reason: 'stop',
          logprobs: null,
          message: { role: 'assistant', content: text, refusal: null, reasoning: null },
        },
      ],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    },
  };
}

/** A failed call. */
export function failing(kind: FailureKind, status: number, retryAfterMs?: number): ProviderReply {
  return { type: 'failed', failure: failure(kind, `failed with ${status}`, { status, retryAfterMs }) };
}

/** Requests `r0`, `r1` … that say their own names. */
export function requests(count: number, prefix = 'r'): NewBatch['requests'] {
  return Array.from({ length: count }, (_, index) => {
    const name = `${prefix}${index}`;
    return { custom_id: name, body: { messages: [{ role: 'user', content: name }] } };
  });
}

/** A batch of chat requests. */
export function chatBatch(count: number, more: Partial<NewBatch> = {}): NewBatch {
  return { endpoint: '/v1/chat/completions', model: 'acme/one', requests: requests(count), ...more };
}

/** A router with a store, in a time that only passes when it is told to. */
export interface BatchScene {
  readonly environment: FakeEnvironment;
  readonly store: BatchStore;
  readonly router: Router;
  /** The record behind a batch. */
  readonly record: (id: string, account?: string) => Promise<BatchRecord>;
  /** Lets time pass, and everything happen that follows from it. */
  readonly advance: (ms: number) => Promise<void>;
  /** Lets time pass until the batch has ended. */
  readonly ended: (id: string) => Promise<Batch>;
}

/** Makes a {@link BatchScene}. */
export function batchScene(
  config: RouterConfig = {},
  shared: Partial<Pick<BatchScene, 'environment' | 'store'>> = {},
  constants: Constants = {},
): BatchScene {
  const environment = shared.environment ?? fakeEnvironment();
  const store = shared.store ?? memoryStorage({ now: environment.wallClock });
  const router = createRouter({
    providers: [batchProvider('up')],
    environment,
    on: { warning: () => {} },
    ...config,
    // Tests say themselves when batches run.
    batches: { storage: store, worker: false, ...config.batches },
  });
  withConstants(router, constants);
  async function advance(ms: number): Promise<void> {
    // Long work gives everybody else a turn after each step, so it takes many turns.
    for (let turn = 0; turn < 20; turn += 1) await environment.settle();
    await environment.advance(ms);
    for (let turn = 0; turn < 20; turn += 1) await environment.settle();
  }

  return {
    environment,
    store,
    router,
    advance,
    async record(id, account = 'anonymous') {
      const record = await store.find(account, id);
      if (record === undefined) throw new Error(`no batch ${id}`);
      return record;
    },
    async ended(id) {
      for (let turn = 0; turn < 2_000; turn += 1) {
        const batch = await router.batches.retrieve(id);
        if (batch.finalized_at !== null) return batch;
        await environment.advance(1_000);
        // What is loaded at its first use takes time that no fake clock makes pass.
        if (turn > 1_000) await setTimeout(5);
      }
      throw new Error('The batch does not end');
    },
  };
}

/** Everything of an async iterable. */
export async function all<Value>(values: AsyncIterable<Value>): Promise<Value[]> {
  const list: Value[] = [];
  for await (const value of values) list.push(value);
  return list;
}

/** A store as a process sees it that is paused from a moment on: its calls wait until it goes on. */
export function pausableStore(store: BatchStore): { readonly store: BatchStore; pause(): void; goOn(): void } {
  let paused: Promise<void> | undefined;
  let goOn: () => void = () => {};
  const slow = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return async (...parameters: unknown[]) => {
        await paused;
        return value.apply(target, parameters) as unknown;
      };
    },
  });
  return {
    store: slow,
    pause() {
      paused = new Promise((resolve) => (goOn = resolve));
    },
    goOn: () => goOn(),
  };
}

/** A store some of whose calls do something else. */
export function changedStore(store: BatchStore, changes: Partial<BatchStore>): BatchStore {
  return new Proxy(store, {
    get(target, name) {
      const changed: unknown = Reflect.get(changes, name);
      const value: unknown = changed ?? Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
