import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Account, type Router, apiKeys, createRouter, openaiCompatible } from 'signalbox';
import { nodeRouter } from 'signalbox/node';
import { chatBatch, requests } from '../../support/batches.ts';
import { type Mounted, listen } from '../../support/mounts.ts';

/** What the upstream says that it used: 10 × 3 + 5 × 15 millionths of a dollar. */
const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
/** Without `max_tokens`, 64,000 tokens are reserved for an answer: 0.96 dollars. */
const MODELS = { 'acme/one': { price: { prompt: 3, completion: 15 }, maxOutputTokens: 64_000 } };
const KEY = 'a key for the tests';
const ACCOUNT: Account = { id: 'a', budget: { limitUsd: 5, period: 'total' } };

let upstream: Mounted & { open: number; most: number; answerMs: number };

beforeAll(async () => {
  const state = { open: 0, most: 0, answerMs: 20 };
  const server = createServer((request, response) => {
    state.open += 1;
    state.most = Math.max(state.most, state.open);
    request.resume().on('end', () => {
      setTimeout(() => {
        state.open -= 1;
        const message = { role: 'assistant', content: 'Hello' };
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ choices: [{ index: 0, finish_reason: 'stop', message }], usage: USAGE }));
      }, upstream.answerMs);
    });
  });
  upstream = Object.assign(state, await listen(server));
});

afterAll(() => upstream[Symbol.asyncDispose]());

function routerOf(): Router {
  const provider = openaiCompatible({ slug: 'up', baseURL: upstream.baseURL, apiKey: 'none', models: MODELS });
  return createRouter({
    providers: [provider],
    authenticate: apiKeys([{ ...ACCOUNT, key: KEY }]),
    batches: { limits: { perBatch: 16 } },
    on: { warning: () => {} },
  });
}

async function ended(router: Router, id: string, account: Account) {
  for (;;) {
    const batch = await router.batches.retrieve(id, { account });
    if (batch.finalized_at !== null) return batch;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

describe('a budget of which the rest is only reserved', () => {
  it('lets all requests of two batches of one account wait for each other', { timeout: 60_000 }, async () => {
    const router = routerOf();
    await router.batches.start();
    upstream.most = 0;
    const created = await Promise.all(
      ['x', 'y'].map((prefix) =>
        router.batches.create(chatBatch(0, { requests: requests(60, prefix) }), { account: ACCOUNT }),
      ),
    );
    const batches = await Promise.all(created.map(({ id }) => ended(router, id, ACCOUNT)));
    expect(batches.map(({ request_counts: counts }) => [counts.completed, counts.failed])).toEqual([
      [60, 0],
      [60, 0],
    ]);
    // Each reserves 0.96 of the 5 dollars.
    expect(upstream.most).toBeLessThanOrEqual(5);
    await router.close();
  });

  it('refuses a chat for a second, and says so to clients that retry by themselves', async () => {
    const router = routerOf();
    await using mount = await listen(createServer(nodeRouter(router)));
    const ask = (more: object = {}): Promise<Response> =>
      fetch(`${mount.baseURL}/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }], ...more }),
      });
    upstream.answerMs = 2_000;
    const answers = await Promise.all(Array.from({ length: 10 }, (_, index) => ask({ stream: index % 2 === 1 })));
    upstream.answerMs = 20;
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused.length).toBeGreaterThanOrEqual(5);
    for (const answer of refused) {
      const { error } = (await answer.json()) as { error: { message: string; metadata: object } };
      expect([answer.status, answer.headers.get('retry-after'), answer.headers.get('x-should-retry')]).toEqual([
        402,
        '1',
        'true',
      ]);
      expect(error.message).toMatch(
        /^Requests under way have reserved \$[\d.]+ of the budget of this account, \$5; this one may cost \$[\d.]+\. Try again/,
      );
      expect(error.metadata).toMatchObject({ limit_source: 'account_budget', budget: 'reserved' });
    }
    expect((await ask()).status).toBe(200);
    await router.close();
  });

  it('is told from one that is spent, which is final', async () => {
    const router = routerOf();
    const chat = { model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }] } as const;
    const limited = (limitUsd: number) => ({ account: { id: 'b', budget: { limitUsd, period: 'day' } } as const });
    await router.chat({ ...chat, max_tokens: 20 }, limited(1));
    const final = { status: 402, retryable: false, retryAfterMs: undefined };
    await expect(router.batches.create(chatBatch(1), limited(0.0001))).rejects.toMatchObject(final);
    await expect(router.chat(chat, limited(0.01))).rejects.toMatchObject(final);
    // One budget is spent, of the other a part is reserved.
    const key = { keyId: 'k', keyBudget: { limitUsd: 0.01 } };
    const both = { account: { ...limited(1).account, ...key } };
    upstream.answerMs = 500;
    const [first, second] = await Promise.allSettled([router.chat(chat, limited(1)), router.chat(chat, both)]);
    expect(first).toMatchObject({ status: 'fulfilled' });
    expect(second).toMatchObject({ reason: { ...final, metadata: { limit_source: 'key_budget' } } });
    await router.close();
  });
});
