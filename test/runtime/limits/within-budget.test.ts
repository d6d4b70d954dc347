import { handle, apiKeys, createRouter, openaiCompatible, type Account, type Router } from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it, vi } from 'vitest';
import { fedProvider } from '../../support/fed-provider.ts';
import { httpCall, send } from '../../support/http-call.ts';
import { startUpstream, answerWith } from '../../support/upstream.ts';

const KEY = 'key-of-ada-0123456789';
const HEADERS = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
const PRICE = { prompt: 1, completion: 10 };
const SAID = { model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 5 } as const;

const authenticateAs = (account: Partial<Account>) => apiKeys([{ key: KEY, id: 'ada', ...account }]);

describe('what an account with a budget passes on', () => {
  it('holds no field that means more tokens, and says which were left out; other accounts keep theirs', async () => {
    await using upstream = await startUpstream(answerWith('Hi'));
    const provider = openaiCompatible({
      slug: 'one',
      baseURL: upstream.baseURL,
      apiKey: 'x',
      models: { 'acme/one': { price: PRICE } },
    });
    const extra = { num_predict: 8_000, best_of: 20, extra_body: { max_new_tokens: 9, keep: 1 }, top_a: 0.5 };
    for (const budget of [{ limitUsd: 1 }, undefined]) {
      const router = createRouter({ providers: [provider], authenticate: authenticateAs({ budget }) });
      expect((await send(router, { body: { ...SAID, ...extra }, headers: HEADERS })).status).toBe(200);
    }
    const [limited, free] = upstream.requests.map(({ body }) => body);
    expect(limited).toMatchObject({ extra_body: { keep: 1 }, top_a: 0.5, max_tokens: 5 });
    for (const name of ['num_predict', 'best_of', 'max_new_tokens'])
      expect(JSON.stringify(limited)).not.toContain(name);
    expect(free).toMatchObject(extra);
  });
});

describe('a call that its client leaves while the model thinks', () => {
  it('is charged by the time, at most what was reserved', async () => {
    const environment = fakeEnvironment();
    const provider = fedProvider({ models: { 'acme/one': { price: PRICE } } });
    const account = { id: 'ada', budget: { limitUsd: 0.02 } };
    const router = createRouter({ providers: [provider], environment });
    const leave = async (): Promise<unknown> => {
      const client = new AbortController();
      const before = provider.calls.length;
      const answer = router.chat({ ...SAID, max_tokens: 800 }, { account, signal: client.signal });
      const ended = answer.then(
        () => 'answered',
        (error: unknown) => error,
      );
      await vi.waitUntil(async () => {
        await environment.settle();
        return provider.calls.length > before || (await Promise.race([ended, undefined])) !== undefined;
      });
      if (provider.calls.length === before) return ended;
      await environment.advance(20_000);
      client.abort(new Error('left'));
      await ended;
      await environment.settle();
      return 'left';
    };
    // Each reserves $0.008 for 800 tokens: by 20 seconds at 100 tokens a second all of it.
    expect([await leave(), await leave()]).toEqual(['left', 'left']);
    expect(await leave()).toMatchObject({ status: 402 });
  });
});

describe('counting tokens', () => {
  const count = async (router: Router): Promise<{ status?: number | undefined }> => {
    const body = { model: 'acme/one', messages: SAID.messages };
    return (await handle(router, httpCall({ path: '/messages/count_tokens', body, headers: HEADERS }))) ?? {};
  };
  const routerFor = (account: Partial<Account>): Router =>
    createRouter({ providers: [fedProvider()], authenticate: authenticateAs(account) });

  it('is a request: it has rate limits, models that are allowed, and needs a budget that is not empty', async () => {
    const limited = routerFor({ rateLimits: { requestsPerMinute: 1 } });
    expect([(await count(limited)).status, (await count(limited)).status]).toEqual([200, 429]);
    expect((await count(routerFor({ budget: { limitUsd: 0 } }))).status).toBe(402);
    expect((await count(routerFor({ policy: { allowedModels: ['other/*'] } }))).status).toBe(403);
    expect((await count(routerFor({}))).status).toBe(200);
  });
});
