import { type HttpCall, type Router, type RouterConfig, apiKeys, createRouter, handle } from 'signalbox';
import { type FakeEnvironment, fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { fedProvider } from '../support/fed-provider.ts';
import { type Answered, chatBody, httpCall, read, send } from '../support/http-call.ts';

const ADA = 'key-of-ada-0123456789';
const BOB = 'key-of-bob-0123456789';

interface Setup {
  readonly router: Router;
  readonly environment: FakeEnvironment;
}

function setUp(config: Partial<RouterConfig> = {}): Setup {
  const environment = fakeEnvironment();
  const router = createRouter({
    environment,
    providers: [fedProvider({ models: { 'acme/one': { price: { prompt: 1, completion: 1 } } } })],
    authenticate: apiKeys([
      { key: ADA, id: 'ada' },
      { key: BOB, id: 'bob' },
    ]),
    on: { warning: () => undefined },
    ...config,
  });
  return { router, environment };
}

const ITEM = JSON.stringify({ custom_id: 'a', body: chatBody() });
const HEAD = '{"endpoint":"/v1/chat/completions","requests":[';
const WHOLE = `${HEAD}${ITEM}]}`;

const headersOf = (key: string): Record<string, string> => ({
  authorization: `Bearer ${key}`,
  'content-type': 'application/json',
});

/** An upload whose pieces come when a test wants them to; done once it ends. */
function upload({ router }: Setup, key: string, pieces: AsyncIterable<string>): Promise<Answered> {
  const call: HttpCall = {
    ...httpCall({ path: '/batches', headers: headersOf(key) }),
    body: {
      type: 'unread',
      collect: () => Promise.reject(new Error('read piece by piece')),
      async *chunks() {
        for await (const piece of pieces) yield Buffer.from(piece);
      },
    },
  };
  return handle(router, call).then((reply) => {
    if (reply === undefined) throw new Error('not for the router');
    return read(reply);
  });
}

describe('uploads of batches that come slowly', () => {
  it('leave places to other accounts', async () => {
    const setup = setUp();
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const slowly = async function* (): AsyncGenerator<string> {
      yield HEAD;
      await gate;
      yield `${ITEM}]}`;
    };
    const slow = [upload(setup, ADA, slowly()), upload(setup, ADA, slowly())];
    await new Promise(setImmediate);
    const third = await send(setup.router, { path: '/batches', headers: headersOf(ADA), body: WHOLE });
    expect(third.status).toBe(429);
    expect(third.headers['retry-after']).toBe('1');
    expect(third.error.message).toContain('at most 2 uploads of batches at a time');
    expect((await send(setup.router, { path: '/batches', headers: headersOf(BOB), body: WHOLE })).status).toBe(202);
    open();
    for (const answer of slow) expect((await answer).status).toBe(202);
    expect((await send(setup.router, { path: '/batches', headers: headersOf(ADA), body: WHOLE })).status).toBe(202);
    expect(setup.router.internals.bytesInHand.held).toBe(0);
  });

  it.each([
    [15_000, 408],
    [17_000, 202],
  ])('must come with 16 kB a second after ten seconds: %i bytes a second', async (bytesPerSecond, status) => {
    const setup = setUp();
    const paced = async function* (): AsyncGenerator<string> {
      yield HEAD;
      // Nothing is asked of the first ten seconds, so the average after them is what counts.
      await setup.environment.advance(10_000);
      for (let second = 0; second < 20; second += 1) {
        await setup.environment.advance(1_000);
        yield ' '.repeat(bytesPerSecond);
      }
      yield `${ITEM}]}`;
    };
    const answer = await upload(setup, ADA, paced());
    expect(answer.status).toBe(status);
    if (status === 408) expect(answer.error.message).toContain('The request body arrived too slowly');
  });
});

describe('a batch of an account with nothing left to spend', () => {
  it('is refused, and not taken to fail request by request', async () => {
    const authenticate = apiKeys([
      { key: ADA, id: 'ada', budget: { limitUsd: 0 } },
      { key: BOB, id: 'bob', budget: { limitUsd: 1 } },
    ]);
    const { router } = setUp({ authenticate });
    const refused = await send(router, { path: '/batches', headers: headersOf(ADA), body: WHOLE });
    expect(refused.status).toBe(402);
    expect(refused.error).toMatchObject({
      code: 402,
      message: expect.stringMatching(/^Insufficient credits: the budget of this account, \$0, has \$0 left, but this/),
      metadata: { error_type: 'payment_required', limit_source: 'account_budget' },
    });
    const listed = await send(router, { method: 'GET', path: '/batches', headers: headersOf(ADA) });
    expect(listed.json['data']).toEqual([]);
    expect((await send(router, { path: '/batches', headers: headersOf(BOB), body: WHOLE })).status).toBe(202);
  });

  it('is taken when it has the smallest amount left, which then is still there', async () => {
    const authenticate = apiKeys([{ key: ADA, id: 'ada', budget: { limitUsd: 1e-9 } }]);
    const { router } = setUp({ authenticate });
    for (let times = 0; times < 3; times += 1) {
      expect((await send(router, { path: '/batches', headers: headersOf(ADA), body: WHOLE })).status).toBe(202);
    }
  });

  it('is taken when the account pays its providers itself', async () => {
    const authenticate = apiKeys([
      { key: ADA, id: 'ada', budget: { limitUsd: 0 }, providerKeys: { fed: { apiKey: 'k'.repeat(20) } } },
    ]);
    const { router } = setUp({ authenticate, batches: { accountOf: (id) => ({ id }) } });
    expect((await send(router, { path: '/batches', headers: headersOf(ADA), body: WHOLE })).status).toBe(202);
  });
});
