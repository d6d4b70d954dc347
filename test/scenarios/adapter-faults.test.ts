import {
  type PieceStream,
  type Provider,
  type Router,
  type RouterConfig,
  RouterError,
  createRouter,
  openaiCompatible,
} from 'signalbox';
import { sqliteLedger } from 'signalbox/sqlite';
import { refusingAddress, startFaultUpstream } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import type { CallTimeouts } from '../../src/catalog/endpoint.ts';
import { ALONE, BACKED, HEALTHY_TEXT, MAIN_MOUNTS, ask } from '../support/fault-cell.ts';
import { checkBrokenStream, checkError, checkFallback } from '../support/fault-checks.ts';
import { MOUNTS, type Mounted } from '../support/mounts.ts';
import { someOf } from '../support/storms.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

type Chat = Provider['chat'];

/** A thrown value as adapters throw them. No client may see what it says. */
const SECRET = 'the adapter tripped over /home/operator/keys.json';

/** Ways in which a provider of one's own fails before it gives an answer. */
const BEFORE: Readonly<Record<string, () => unknown>> = {
  'throws before it returns': () => {
    throw new TypeError(SECRET);
  },
  'throws a text': () => {
    throw SECRET as unknown as Error;
  },
  'rejects with an error': () => Promise.reject(new TypeError(SECRET)),
  'rejects with undefined': () => Promise.reject(undefined),
  'rejects with a frozen object': () => Promise.reject(Object.freeze({ message: SECRET })),
  'returns undefined': () => undefined,
  'resolves to undefined': () => Promise.resolve(undefined),
  'resolves to null': () => Promise.resolve(null),
  'resolves to a text': () => Promise.resolve(SECRET),
  'resolves to an answer of no known kind': () => Promise.resolve({ type: 'nonsense', message: SECRET }),
  'resolves to a failure without a kind': () => Promise.resolve({ type: 'failed', failure: {} }),
  'resolves to a stream that is none': () => Promise.resolve({ type: 'stream', stream: {} }),
  'resolves to a whole answer that is none': () => Promise.resolve({ type: 'whole', result: {} }),
};

/** Ways in which the stream of a provider of one's own fails. */
const READS: Readonly<Record<string, () => unknown>> = {
  'throws when it is read': () => {
    throw new TypeError(SECRET);
  },
  'rejects when it is read': () => Promise.reject(new TypeError(SECRET)),
  'rejects with a text when it is read': () => Promise.reject(SECRET),
  'gives undefined instead of a promise': () => undefined,
  'gives a number instead of pieces': () => Promise.resolve(5),
  'gives null instead of pieces': () => Promise.resolve(null),
  'gives pieces that are null': () => Promise.resolve([null]),
  'gives nothing again and again, without ever waiting': () => Promise.resolve([]),
  'ends without having finished': () => Promise.resolve(undefined),
};

/** A provider of one's own, as good or as bad as its `chat`. */
function customProvider(chat: () => unknown, timeouts: CallTimeouts): Provider {
  return { slug: 'faulty', name: 'Faulty', models: { [ALONE]: {}, [BACKED]: {} }, timeouts, chat: chat as Chat };
}

/** A stream that says the given words, one with each read, and then fails. */
function failingStream(words: readonly string[], fail: () => unknown): () => Promise<unknown> {
  return () => {
    const left = [...words];
    const stream: PieceStream = {
      read: () => {
        const word = left.shift();
        return (word === undefined ? fail() : Promise.resolve([word])) as ReturnType<PieceStream['read']>;
      },
      cancel: () => {},
    };
    return Promise.resolve({ type: 'stream', stream });
  };
}

interface Scene extends AsyncDisposable {
  readonly router: Router;
  readonly mounted: Mounted;
}

/** @param timeouts - Of the provider that fails: the one behind it has the time that a busy machine needs. */
async function startScene(
  mount: string,
  chat: () => unknown,
  { totalMs, ...timeouts }: CallTimeouts & { readonly totalMs?: number } = {},
): Promise<Scene> {
  const healthy = await startFaultUpstream({ text: HEALTHY_TEXT });
  const router = createRouter({
    providers: [
      customProvider(chat, timeouts),
      openaiCompatible({ slug: 'healthy', name: 'Healthy', baseURL: healthy.baseURL, models: { [BACKED]: {} } }),
    ],
    allowAnonymous: true,
    fallback: { triesPerEndpoint: 1 },
    keepAlive: { firstMs: 60_000 },
    ...(totalMs === undefined ? {} : { timeouts: { ...timeouts, totalMs } }),
  });
  const mounted = await mountOn(mount, router);
  return {
    router,
    mounted,
    async [Symbol.asyncDispose]() {
      await mounted[Symbol.asyncDispose]();
      await router.close();
      await healthy.close();
    },
  };
}

function mountOn(name: string, router: Router): Promise<Mounted> {
  const mount = MOUNTS[name];
  if (mount === undefined) throw new RangeError(`There is no mount "${name}"`);
  return mount(router);
}

async function checkFailing({ router, mounted }: Scene, stream: boolean, status: number): Promise<void> {
  const response = await ask(mounted, { model: ALONE, stream });
  expect(await response.clone().text()).not.toContain('operator');
  await checkError(response, status, null);
  await checkFallback(await ask(mounted, { model: BACKED, stream }));
  expect(router.internals.admission.inside).toBe(0);
}

/** What a mount tries: the first everything; without storms, the others a share each, and all of it between them. */
function shareOf<Item>(mount: string, faults: readonly Item[]): readonly Item[] {
  const index = MAIN_MOUNTS.indexOf(mount);
  return index === 0 ? faults : someOf(faults, { every: MAIN_MOUNTS.length - 1, from: index });
}

describe.concurrent.each(MAIN_MOUNTS)('%s', (mount) => {
  describe.each(shareOf(mount, Object.entries(BEFORE)))('with a provider that %s (U-69)', (_name, chat) => {
    it.each([false, true])('falls back, or answers 502 (streamed: %s)', async (stream) => {
      await using scene = await startScene(mount, chat);
      await checkFailing(scene, stream, 502);
    });
  });

  describe.each(shareOf(mount, Object.entries(READS)))('with a stream that %s (U-69)', (_name, read) => {
    it.each([false, true])('falls back before the first content, or answers 502 (streamed: %s)', async (stream) => {
      await using scene = await startScene(mount, failingStream([], read));
      await checkFailing(scene, stream, 502);
    });

    it('breaks off after it', async () => {
      await using scene = await startScene(mount, failingStream(['The ', 'quick '], read));
      const response = await ask(scene.mounted, { model: BACKED, stream: true });
      expect(await response.clone().text()).not.toContain('operator');
      await checkBrokenStream(response, 502, 'The quick ');
      expect(scene.router.internals.admission.inside).toBe(0);
    });
  });

  describe('with a provider that never settles and ignores its signal (U-70)', () => {
    const never = (): Promise<never> => new Promise(() => {});

    it.each([false, true])('falls back at the timeout, or answers 524 (streamed: %s)', async (stream) => {
      await using scene = await startScene(mount, never, { firstTokenMs: 600, answerMs: 600 });
      await checkFailing(scene, stream, 524);
    });

    it.each([false, true])('answers 408 when the request’s own time is over (streamed: %s)', async (stream) => {
      await using scene = await startScene(mount, never, { firstTokenMs: 300, answerMs: 60_000, totalMs: 300 });
      await checkError(await ask(scene.mounted, { model: ALONE, stream }), 408, null);
      expect(scene.router.internals.admission.inside).toBe(0);
    });

    it('breaks a stream off at the idle timeout', async () => {
      await using scene = await startScene(mount, failingStream(['The ', 'quick '], never), { idleMs: 300 });
      await checkBrokenStream(await ask(scene.mounted, { model: BACKED, stream: true }), 524, 'The quick ');
      expect(scene.router.internals.admission.inside).toBe(0);
    });
  });
});

describe.each<readonly [name: string, usage: unknown]>([
  ['NaN', { prompt_tokens: NaN, completion_tokens: 3, total_tokens: NaN }],
  ['a fraction', { prompt_tokens: 1.5, completion_tokens: 3, total_tokens: 4.5 }],
  ['half of it', { completion_tokens: 3 }],
  ['an endless cost', { prompt_tokens: 1, completion_tokens: 3, total_tokens: 4, reportedCost: Infinity }],
  ['a number in its place', 7],
])('with a provider that reports usage with %s (U-69)', (_name, usage) => {
  const message = { role: 'assistant', content: 'Hi', refusal: null, reasoning: null };
  const choice = { index: 0, finish_reason: 'stop', native_finish_reason: null, logprobs: null, message };
  const pieces = [
    'Hi',
    { type: 'usage', usage },
    { type: 'finish', index: 0, reason: 'stop', native: null },
    { type: 'end' },
  ];
  const replies: Readonly<Record<string, () => unknown>> = {
    whole: () => Promise.resolve({ type: 'whole', result: { choices: [choice], usage } }),
    'as a stream': () =>
      Promise.resolve({ type: 'stream', stream: { read: () => Promise.resolve(pieces.splice(0)), cancel: () => {} } }),
  };

  it.each(Object.keys(replies))('estimates it, %s, and keeps budget and ledger whole', async (form) => {
    using folder = temporaryFolder();
    const router = createRouter({
      providers: [
        {
          slug: 'faulty',
          name: 'Faulty',
          models: { [ALONE]: { price: { prompt: 5, completion: 15 } } },
          chat: replies[form] as Chat,
        },
      ],
      budgets: { default: { limitUsd: 5, period: 'day' } },
      ledger: { store: sqliteLedger({ file: folder.file('ledger.db') }) },
    });
    const { usage: told } = await router.chat({
      model: ALONE,
      messages: [{ role: 'user', content: 'Hi' }],
      max_tokens: 10,
    });
    expect(told).toMatchObject({ estimated: true, completion_tokens: 1 });
    expect(Number.isSafeInteger(told?.prompt_tokens)).toBe(true);
    const page = await router.ledger?.read();
    expect(page?.records).toHaveLength(1);
    expect(page?.records[0]?.cost_nano_usd).toBe(Math.round((told?.cost ?? NaN) * 1e9));
    await router.close();
  });
});

describe('with breakers that are all open (U-68)', () => {
  it.each(MAIN_MOUNTS)(
    'answers 503 with the soonest probe, and calls nobody, when no more is let through (%s)',
    async (mount) => {
      await using upstream = await startFaultUpstream({ fault: 'U-49-500' });
      const providers = ['one', 'two'].map((slug) =>
        openaiCompatible({ slug, baseURL: upstream.baseURL, models: { [ALONE]: {} } }),
      );
      const router = createRouter({ providers, allowAnonymous: true, fallback: { triesPerEndpoint: 1 } });
      await using mounted = await mountOn(mount, router);
      // Three failures in a row open a circuit; twenty further calls find out whether the endpoint is back.
      for (let round = 0; round < 3; round += 1) await checkError(await ask(mounted), 502, null);
      for (const stream of [false, true]) {
        let calls = upstream.requests.length;
        let response = await ask(mounted, { stream });
        for (let round = 0; round < 100 && response.status === 502; round += 1) {
          calls = upstream.requests.length;
          response = await ask(mounted, { stream });
        }
        await checkError(response, 503, '1');
        expect(upstream.requests).toHaveLength(calls);
      }
      await router.close();
    },
  );

  it('says so within 5 ms where nothing listens, or nothing is tried again', async () => {
    await using dead = await refusingAddress();
    await saysSoon(dead.baseURL, {});
    await using upstream = await startFaultUpstream({ fault: 'U-49-500' });
    await saysSoon(upstream.baseURL, { fallback: { triesPerEndpoint: 1 } });
  });

  async function saysSoon(baseURL: string, options: Partial<RouterConfig>): Promise<void> {
    const provider = openaiCompatible({ slug: 'one', baseURL, models: { [ALONE]: {} } });
    const router = createRouter({ providers: [provider], ...options });
    const attempt = (): Promise<unknown> =>
      router.chat({ model: ALONE, messages: [{ role: 'user', content: 'Hi' }] }).catch((error: unknown) => error);
    const durations: number[] = [];
    for (let round = 0; round < 200 && durations.length < 20; round += 1) {
      const startedAt = performance.now();
      const error = await attempt();
      if (RouterError.isInstance(error) && error.status === 503) durations.push(performance.now() - startedAt);
    }
    expect(durations).toHaveLength(20);
    // The least, because others work on this machine too; a wait would be in each of them.
    expect(Math.min(...durations)).toBeLessThan(5);
    await router.close();
  }
});
