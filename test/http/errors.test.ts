import {
  type Provider,
  type RouterConfig,
  type RouterMetadata,
  apiKeys,
  createRouter,
  failure,
  handle,
} from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { type FedCall, fedProvider } from '../support/fed-provider.ts';
import { type Answered, type CallInit, chatBody, httpCall, send } from '../support/http-call.ts';

const METADATA = { 'x-router-metadata': 'enabled' };

async function failing(
  script: (call: FedCall) => void,
  init: CallInit = {},
  config: Partial<RouterConfig> = {},
): Promise<Answered> {
  const router = createRouter({
    providers: [fedProvider({ script })],
    fallback: { triesPerEndpoint: 1 },
    on: { warning: ignore },
    ...config,
  });
  return send(router, { body: chatBody(), ...init });
}

function ignore(): void {}

const failingWith =
  (...details: Parameters<typeof failure>) =>
  (call: FedCall): void =>
    call.fail(failure(...details));

describe('an error body', () => {
  it('has the form of the contract', async () => {
    const { status, headers, json } = await failing(
      failingWith('invalid_request', 'max_tokens is too large', {
        status: 400,
        providerCode: 'invalid_value',
        raw: '{"error":"max_tokens is too large"}',
      }),
    );
    expect(status).toBe(400);
    expect(headers['content-type']).toBe('application/json');
    expect(json).toEqual({
      error: {
        code: 400,
        message: 'Provider returned error: max_tokens is too large',
        metadata: {
          error_type: 'invalid_request',
          provider_name: 'FED',
          provider_code: 'invalid_value',
          raw: '{"error":"max_tokens is too large"}',
          is_byok: false,
        },
      },
      user_id: null,
    });
  });

  it('names the account once it is known', async () => {
    const key = 'key-of-ada-0123456789';
    const { json } = await failing(
      failingWith('invalid_request', 'no', { status: 400 }),
      { headers: { authorization: `Bearer ${key}` } },
      { authenticate: apiKeys([{ key, id: 'account-ada' }]) },
    );
    expect(json['user_id']).toBe('account-ada');
  });

  it('names the place in a body that was wrong', async () => {
    const { error, headers } = await failing(() => undefined, { body: chatBody({ temperature: 3 }) });
    expect(error).toEqual({
      code: 400,
      message: 'temperature must be at most 2, not 3.',
      metadata: { error_type: 'invalid_request', path: 'temperature' },
    });
    expect(headers['x-request-id']).toMatch(/^req_[a-zA-Z0-9]{24}$/);
  });

  it.each([
    ['rate_limited', 429, 'rate_limit_exceeded'],
    ['overloaded', 503, 'provider_overloaded'],
    ['timeout', 524, 'timeout'],
    ['server', 502, 'provider_unavailable'],
    ['credentials', 502, 'provider_unavailable'],
    ['quota', 502, 'provider_unavailable'],
    ['model_not_found', 404, 'not_found'],
    ['unprocessable', 422, 'unprocessable'],
    ['too_large', 413, 'payload_too_large'],
    ['context_length', 400, 'context_length_exceeded'],
    ['content_policy', 403, 'content_policy_violation'],
  ] as const)('tells what a provider failed with: %s is a %i of type %s', async (kind, code, type) => {
    const { status, error } = await failing(failingWith(kind, 'because'));
    expect(status).toBe(code);
    expect(error).toMatchObject({ code, metadata: { error_type: type } });
  });

  it('says nothing of what a provider says about our key', async () => {
    const { text } = await failing(
      failingWith('credentials', 'Incorrect API key provided: our-secret', {
        status: 401,
        providerCode: 'invalid_api_key',
        raw: 'our-secret',
      }),
    );
    expect(text).not.toMatch(/our-secret|invalid_api_key|Incorrect/);
  });

  it('masks a 500 of a provider that is passed on because no other may be asked', async () => {
    const { status, text, json } = await failing(
      failingWith('server', 'stack of the provider', {
        status: 500,
        providerCode: 'oops',
        raw: 'stack of the provider',
      }),
      { headers: METADATA, body: chatBody({ provider: { allow_fallbacks: false } }) },
    );
    expect(status).toBe(500);
    expect(text).not.toMatch(/stack|oops/);
    expect(json).toEqual({
      error: { code: 500, message: 'Provider returned error', metadata: { error_type: 'server' } },
      user_id: null,
    });
  });

  it.each([400, 404, 408, 413, 422, 429, 502, 503, 524, 529])(
    'passes on a %i of the only provider that may be asked',
    async (status) => {
      const kinds = { 400: 'invalid_request', 404: 'model_not_found', 413: 'too_large', 422: 'unprocessable' } as const;
      const kind = kinds[status as keyof typeof kinds] ?? 'server';
      const answer = await failing(failingWith(kind, 'because', { status }), {
        body: chatBody({ provider: { allow_fallbacks: false } }),
      });
      expect(answer.status).toBe(status);
      expect(answer.error.code).toBe(status);
    },
  );

  it('lists the failures before the last one, without their words', async () => {
    const first = fedProvider({
      slug: 'first',
      script: failingWith('server', 'secret words', { status: 500, raw: 'raw' }),
    });
    const second = fedProvider({ slug: 'second', script: failingWith('overloaded', 'busy', { status: 529 }) });
    const { error } = await failing(
      () => undefined,
      { body: chatBody({ provider: { order: ['first', 'second'] } }) },
      { providers: [first, second] },
    );
    expect(error.metadata).toMatchObject({
      provider_name: 'SECOND',
      previous_errors: [{ provider: 'first', code: 'server', status: 500 }],
    });
  });
});

describe('an error inside the router', () => {
  it('is a masked 500 without metadata', async () => {
    const init = { headers: METADATA, signal: brokenSignal() };
    const { status, json, text, headers } = await failing((call) => call.answer('Hi'), init);
    expect(status).toBe(500);
    expect(json).toEqual({
      error: {
        code: 500,
        message: expect.stringMatching(/^The router failed to handle this request; its operator finds/),
        metadata: { error_type: 'server' },
      },
      user_id: null,
    });
    expect(text).not.toContain('secret');
    expect(headers).not.toHaveProperty('retry-after');
  });
});

/** A signal whose use fails, as nothing in a healthy process does. */
function brokenSignal(): AbortSignal {
  return new Proxy(new AbortController().signal, {
    get() {
      throw new Error('the secret inside');
    },
  });
}

describe('router_metadata on errors', () => {
  it.each([
    ['unreachable', 502],
    ['overloaded', 503],
    ['timeout', 524],
  ] as const)('is kept where providers were asked: %s', async (kind, status) => {
    const answer = await failing(failingWith(kind, 'because'), { headers: METADATA });
    expect(answer.status).toBe(status);
    expect(answer.json['router_metadata']).toMatchObject({
      requested: 'acme/one',
      summary: 'available=1, selected=none',
      endpoints: { total: 1, available: [{ provider: 'FED', selected: false }] },
    });
    const { attempt, attempts } = answer.json['router_metadata'] as RouterMetadata;
    expect(attempts?.[0]).toMatchObject({ provider: 'FED', model: 'acme/one' });
    expect(attempt).toBe(attempts?.length);
  });

  it('is there when no endpoint was left to ask', async () => {
    const answer = await failing(() => undefined, { headers: METADATA, body: chatBody({ provider: { only: ['x'] } }) });
    expect(answer.status).toBe(404);
    expect(answer.json['router_metadata']).toMatchObject({ attempt: 0, endpoints: { total: 1, available: [] } });
    expect(answer.error.metadata).toMatchObject({ available_providers: ['fed'], requested_providers: ['x'] });
  });

  it.each([
    ['the body was wrong', { body: chatBody({ temperature: 3 }) }, 400],
    ['the model is unknown', { body: chatBody({ model: 'acme/nope' }) }, 400],
    ['the body was no JSON', { body: '{' }, 400],
    ['the method was wrong', { method: 'GET' }, 405],
  ])('is not there before there was any routing: %s', async (_name, init, status) => {
    const answer = await failing(() => undefined, { headers: METADATA, ...init });
    expect(answer.status).toBe(status);
    expect(answer.json).not.toHaveProperty('router_metadata');
  });

  it('is not there when nobody asked for it', async () => {
    expect((await failing(failingWith('unreachable', 'no'))).json).not.toHaveProperty('router_metadata');
  });
});

describe('headers of answers', () => {
  const answering = (call: FedCall): void => call.answer('Hi');

  it('name the request, and the generation as the body does', async () => {
    const { headers, json } = await failing(answering);
    expect(headers['x-request-id']).toMatch(/^req_[a-zA-Z0-9]{24}$/);
    expect(headers['x-generation-id']).toBe(json['id']);
    expect(json['id']).toMatch(/^gen-\d{10}-[a-zA-Z0-9]{20}$/);
    expect(headers['content-type']).toBe('application/json');
  });

  it('name another request each time', async () => {
    const ids = [await failing(answering), await failing(answering)].map(({ headers }) => headers['x-request-id']);
    expect(new Set(ids).size).toBe(2);
  });

  it('name the generation of a request that failed on its way', async () => {
    const { headers } = await failing(failingWith('unreachable', 'no'));
    expect(headers['x-generation-id']).toMatch(/^gen-/);
  });

  it.each([
    [1, '1'],
    [999, '1'],
    [2_000, '2'],
    [2_001, '3'],
  ])('say in whole seconds when to come back: %i ms is %s', async (retryAfterMs, seconds) => {
    const { status, headers } = await failing(failingWith('rate_limited', 'slow down', { status: 429, retryAfterMs }));
    expect(status).toBe(429);
    expect(headers['retry-after']).toBe(seconds);
  });

  it('name the shortest wait that any provider named', async () => {
    const limited = (slug: string, retryAfterMs: number): Provider =>
      fedProvider({ slug, script: failingWith('rate_limited', 'slow down', { status: 429, retryAfterMs }) });
    const { headers } = await failing(() => undefined, {}, { providers: [limited('a', 9_000), limited('b', 4_000)] });
    expect(headers['retry-after']).toBe('4');
  });

  it('say when coming back cannot help', async () => {
    expect((await failing(failingWith('credentials', 'no', { status: 401 }))).headers['x-should-retry']).toBe('false');
    expect((await failing(failingWith('rate_limited', 'no', { status: 429 }))).headers).not.toHaveProperty(
      'x-should-retry',
    );
  });

  it('of providers never come through', async () => {
    const { headers } = await failing(answering);
    expect(Object.keys(headers).sort()).toEqual([
      'cache-control',
      'content-type',
      'x-content-type-options',
      'x-generation-id',
      'x-request-id',
    ]);
  });
});

describe('places for requests', () => {
  it('are bounded; who finds none is told at once, without sending a body', async () => {
    const environment = fakeEnvironment();
    const provider = fedProvider();
    const router = createRouter({ providers: [provider], environment, limits: { concurrentRequests: 2 } });
    const waiting = [send(router, { body: chatBody() }), send(router, { body: chatBody({ stream: true }) })];
    await environment.settle();
    let bodyRead = false;
    const refused = await send(router, { body: chatBody(), onRead: () => (bodyRead = true) });
    expect(refused.status).toBe(503);
    expect(refused.headers['retry-after']).toBe('1');
    expect(refused.error).toMatchObject({
      code: 503,
      message: 'The router has room for 2 requests at a time, and none is free; try again in a second',
    });
    expect(bodyRead).toBe(false);
    for (const call of provider.calls) call.answer('Hi');
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([200, 200]);
    expect(router.internals.admission.inside).toBe(0);
    const again = send(router, { body: chatBody() });
    await environment.settle();
    provider.calls.at(-1)?.answer('Hi');
    expect((await again).status).toBe(200);
  });

  it('are given back after every kind of failure', async () => {
    const router = createRouter({ providers: [fedProvider({ script: failingWith('unreachable', 'no') })] });
    for (const body of ['{', chatBody({ temperature: 3 }), chatBody(), chatBody({ stream: true })]) {
      await send(router, { body });
      expect(router.internals.admission.inside).toBe(0);
    }
  });

  it('are not held by who sends slowly', async () => {
    const environment = fakeEnvironment();
    const router = createRouter({ providers: [fedProvider()], environment, limits: { concurrentRequests: 1 } });
    const never = new Promise<Uint8Array>(() => undefined);
    let reading = false;
    const collect = (): Promise<Uint8Array> => {
      reading = true;
      return never;
    };
    void handle(router, { ...httpCall(), body: { type: 'unread', collect } });
    await environment.settle();
    expect(reading).toBe(true);
    expect(router.internals.admission.inside).toBe(0);
  });
});
