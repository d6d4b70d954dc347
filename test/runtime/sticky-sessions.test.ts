import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../src/protocol/chat-request.ts';
import type { StateStore } from '../../src/contracts/state-store.ts';
import { type Bench, type Outcome, askAndWait, benchOf as adaptiveBenchOf, statusOf } from '../support/driving.ts';
import { stormOfRuns } from '../support/properties.ts';
import type { Behaviour, StubOptions } from '../support/stub-provider.ts';
import type { ReportedUsage } from '../../src/contracts/stream-piece.ts';

/** What these tests say of sessions holds without exception where costs do not decide: in the strategy `balanced`. */
const benchOf: typeof adaptiveBenchOf = (providers, config) =>
  adaptiveBenchOf(providers, { strategy: 'balanced', ...config });

const ANSWER: Behaviour = { does: 'answer' };

/** Three providers at the same price, so that chance alone decides among them. */
function three(behaves: Behaviour = ANSWER): Readonly<Record<string, StubOptions>> {
  const models = { 'acme/one': { price: { prompt: 2, completion: 2, cacheRead: 0.2 } } };
  return { p0: { behaves, models }, p1: { behaves, models }, p2: { behaves, models } };
}

function providerOf({ result, chunks }: Outcome): string | undefined {
  return result?.provider ?? chunks.at(-1)?.provider;
}

/** Asks again and again; gives the providers that answered. */
async function answerers(
  bench: Bench,
  count: number,
  bodyOf: (index: number) => Partial<ChatRequest>,
  sessionId?: string,
): Promise<readonly (string | undefined)[]> {
  const found: (string | undefined)[] = [];
  for (let index = 0; index < count; index += 1) {
    const outcome = await askAndWait(bench, { body: bodyOf(index), stream: index % 2 === 0, sessionId });
    expect(statusOf(outcome)).toBe(200);
    found.push(providerOf(outcome));
  }
  return found;
}

describe('a session', () => {
  it('P14 stays with its provider while that is healthy and eligible', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(1_000_000), fc.integer({ min: 2, max: 5 }), async (seed, length) => {
        const bench = benchOf(three(), { seed });
        const found = await answerers(bench, length, () => ({ session_id: 'one' }));
        expect(new Set(found).size).toBe(1);
        const [own] = found;
        const ignore = [own?.toLowerCase() ?? ''];
        const [other] = await answerers(bench, 1, () => ({ session_id: 'one', provider: { ignore } }));
        expect(other).not.toBe(own);
        // The session now belongs to the provider that served it last.
        expect(await answerers(bench, 2, () => ({ session_id: 'one' }))).toEqual([other, other]);
      }),
      stormOfRuns(1_000),
    );
  });

  it('without a name goes to everybody', async () => {
    const found = await answerers(benchOf(three()), 30, () => ({}));
    expect(new Set(found).size).toBe(3);
  });

  it('is named by the body before the header before the cache key', async () => {
    const bench = benchOf(three());
    const byBody = await answerers(
      bench,
      8,
      (index) => ({ session_id: 'body', prompt_cache_key: `k${index}` }),
      'header',
    );
    expect(new Set(byBody).size).toBe(1);
    const byHeader = await answerers(bench, 8, (index) => ({ prompt_cache_key: `k${index}` }), 'header');
    expect(new Set(byHeader).size).toBe(1);
    const byKey = await answerers(bench, 8, () => ({ prompt_cache_key: 'key' }));
    expect(new Set(byKey).size).toBe(1);
    const apart = await answerers(
      bench,
      30,
      (index) => ({ session_id: `s${index}`, prompt_cache_key: 'key' }),
      'header',
    );
    expect(new Set(apart).size).toBe(3);
  });

  it('is switched off by order', async () => {
    const bench = benchOf(three());
    const order = ['p2', 'p1'];
    expect(await answerers(bench, 2, () => ({ session_id: 'one', provider: { order } }))).toEqual(['P2', 'P2']);
    // Nothing was remembered either.
    const found = await answerers(bench, 20, (index) => ({ session_id: `s${index}`, provider: { order } }));
    expect(new Set(found)).toEqual(new Set(['P2']));
  });

  it('belongs to one account, one model and nobody else', async () => {
    const both = { 'acme/one': {}, 'acme/two': {} };
    const bench = benchOf({ p0: { behaves: ANSWER, models: both }, p1: { behaves: ANSWER, models: both } });
    const seen = new Set<string | undefined>();
    for (let index = 0; index < 12; index += 1) {
      const account = { id: `account ${index}` };
      seen.add(providerOf(await askAndWait(bench, { account, body: { session_id: 'one' } })));
    }
    expect(seen.size).toBe(2);
  });

  it('ends after ten minutes without a request, and each success refreshes it', async () => {
    const bench = benchOf(three());
    const [own] = await answerers(bench, 1, () => ({ session_id: 'one' }));
    for (let index = 0; index < 5; index += 1) {
      await bench.environment.advance(470_000);
      expect(await answerers(bench, 1, () => ({ session_id: 'one' }))).toEqual([own]);
    }
    const seen = new Set<string | undefined>();
    for (let index = 0; index < 12; index += 1) {
      await bench.environment.advance(600_000);
      const [next] = await answerers(bench, 1, () => ({ session_id: 'one' }));
      seen.add(next);
    }
    expect(seen.size).toBeGreaterThan(1);
  });

  it('is not bound by an error', async () => {
    const fails: Behaviour = { does: 'fail', kind: 'invalid_request' };
    const models = { 'acme/one': { price: { prompt: 1, completion: 1 } } };
    const dear = { 'acme/one': { price: { prompt: 100, completion: 100 } } };
    const bench = benchOf({
      cheap: { behaves: [fails, ANSWER], models },
      dear: { behaves: ANSWER, models: dear },
    });
    expect(statusOf(await askAndWait(bench, { body: { session_id: 'one' } }))).toBe(400);
    expect(await answerers(bench, 1, () => ({ session_id: 'one' }))).toEqual(['CHEAP']);
  });

  it('moves on when its provider fails, and stays where it went', async () => {
    const broken: readonly Behaviour[] = [
      ANSWER,
      { does: 'fail', kind: 'rate_limited', retryAfterMs: 300_000 },
      ANSWER,
    ];
    const models = { 'acme/one': { price: { prompt: 1, completion: 1 } } };
    const dear = { 'acme/one': { price: { prompt: 100, completion: 100 } } };
    const bench = benchOf({ cheap: { behaves: broken, models }, dear: { behaves: ANSWER, models: dear } });
    const found = await answerers(bench, 4, () => ({ session_id: 'one' }));
    expect(found).toEqual(['CHEAP', 'DEAR', 'DEAR', 'DEAR']);
  });
});

describe('a conversation that nobody named', () => {
  const counts: ReportedUsage = { prompt_tokens: 5_000, completion_tokens: 5, total_tokens: 5_005 };
  const cached: ReportedUsage = { ...counts, prompt_tokens_details: { cached_tokens: 4_000 } };

  it('sticks once a prompt cache was seen at work', async () => {
    const found = await answerers(benchOf(three({ does: 'answer', usage: cached })), 10, () => ({}));
    expect(new Set(found).size).toBe(1);
  });

  it('does not stick without a sign of a cache', async () => {
    const found = await answerers(benchOf(three({ does: 'answer', usage: counts })), 30, () => ({}));
    expect(new Set(found).size).toBe(3);
  });

  it('does not stick where reading from the cache is no cheaper', async () => {
    const models = { 'acme/one': { price: { prompt: 2, completion: 2, cacheRead: 2 } } };
    const behaves: Behaviour = { does: 'answer', usage: cached };
    const bench = benchOf({ p0: { behaves, models }, p1: { behaves, models } });
    expect(new Set(await answerers(bench, 30, () => ({}))).size).toBe(2);
  });

  it('is another one with another beginning', async () => {
    const bench = benchOf(three({ does: 'answer', usage: cached }));
    const found = await answerers(bench, 20, (index) => ({
      messages: [{ role: 'user', content: `Question ${index}` }],
    }));
    expect(new Set(found).size).toBe(3);
  });
});

describe('a store of sessions that fails', () => {
  const broken: Readonly<Record<string, Partial<StateStore>>> = {
    'throws at once': {
      get() {
        throw new Error('the store is gone');
      },
      set() {
        throw new Error('the store is gone');
      },
    },
    'rejects later': {
      get: () => Promise.reject(new Error('the store is gone')),
      set: () => Promise.reject(new Error('the store is gone')),
    },
    'never answers': { get: () => new Promise(() => {}), set: () => new Promise(() => {}) },
    'holds nonsense': { get: () => ({ not: 'text' }), set() {} },
  };
  it.each(Object.entries(broken))('that %s costs stickiness, never the answer', async (name, store) => {
    const warnings: string[] = [];
    const state: StateStore = {
      get: () => undefined,
      set() {},
      delete() {},
      increment: () => 1,
      change: () => ({ applied: true, sums: [] }),
      ...store,
    };
    const bench = benchOf(three(), { state, on: { warning: ({ code }) => void warnings.push(code) } });
    const outcome = await askAndWait(bench, { body: { session_id: 'one' } });
    expect(statusOf(outcome)).toBe(200);
    expect(outcome.endedAt - outcome.startedAt).toBeLessThanOrEqual(300);
    expect(bench.environment.pendingTimers).toBe(0);
    expect(warnings).toEqual(name === 'throws at once' || name === 'rejects later' ? ['state_store'] : []);
  });
});
