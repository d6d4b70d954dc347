import { type Account, createRouter, definePlugin, openaiCompatible, type Router, RouterError } from 'signalbox';
import { fetchRouter } from 'signalbox/fetch';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { embeddingsBody } from '../support/embedding-upstream.ts';
import { answerWith, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

const MESSAGES = [{ role: 'user', content: 'Hi' }] as const;
const REQUEST = { model: 'acme/one', messages: MESSAGES } as const;

/** An upstream in Europe, one elsewhere, and one that does not say where it is. */
let upstreams: Readonly<Record<'eu' | 'us' | 'unknown', Upstream>>;
let routers: Router[] = [];

beforeEach(async () => {
  const start = () =>
    startUpstream((request, response, raw) => {
      if (request.path.endsWith('/embeddings')) sendJson(response, 200, embeddingsBody(request.body));
      else answerWith('Hello there')(request, response, raw);
    });
  upstreams = { eu: await start(), us: await start(), unknown: await start() };
});

afterEach(async () => {
  for (const router of routers) await router.close();
  routers = [];
  for (const upstream of Object.values(upstreams)) await upstream[Symbol.asyncDispose]();
});

function routerWith(config: Parameters<typeof createRouter>[0] = {}): Router {
  const regions = { eu: 'eu-central-1', us: 'us', unknown: undefined };
  const providers = Object.entries(upstreams).map(([slug, { baseURL }]) => {
    const region = regions[slug as keyof typeof regions];
    const price = { prompt: slug === 'eu' ? 100 : 1, completion: 1 };
    const models = {
      'acme/one': { region, price },
      'acme/vectors': { region, price, outputModalities: ['embeddings'] },
    } as const;
    return openaiCompatible({ slug, baseURL, models });
  });
  const router = createRouter({ providers, ...config }) as Router;
  routers.push(router);
  return router;
}

/** Requests that upstreams got, by where they are. */
function calls(): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(upstreams).map(([name, { requests }]) => [name, requests.length]));
}

const EU: Account = { id: 'tenant', policy: { regions: ['EU'] } };

describe('a rule about regions', () => {
  it.each([
    ['of a request', {}, { provider: { regions: ['eu'] } }, undefined],
    ['of a request, to the letter', {}, { provider: { regions: ['eu-central-1', 'mars'] } }, undefined],
    ['of the router', { policy: { regions: ['eu'] } }, {}, undefined],
    ['of an account', {}, {}, EU],
    ['of a preset', { presets: { local: { provider: { regions: ['eu'] } } } }, { preset: 'local' }, undefined],
    ['of a rule', { rules: [{ id: 'local', preferences: { regions: ['eu'] } }] }, {}, undefined],
  ])('%s leaves out endpoints elsewhere, and those that declare none', async (_name, config, body, account) => {
    const router = routerWith(config);
    const options = { account };
    await router.chat({ ...REQUEST, ...body }, options);
    for await (const _ of router.stream({ ...REQUEST, ...body }, options));
    expect(calls()).toEqual({ eu: 2, us: 0, unknown: 0 });
    const { steps, rejected } = await router.explain({ ...REQUEST, ...body }, options);
    expect(steps.map(({ provider }) => provider)).toEqual(['eu']);
    expect(rejected.map(({ provider, reason, detail }) => [provider, reason, detail])).toEqual([
      ['us', 'region', 'us'],
      ['unknown', 'region', 'not declared'],
    ]);
  });

  it('is kept through every API format over HTTP, also where the region is down', async () => {
    const router = routerWith({ policy: { regions: ['eu'] }, allowAnonymous: true });
    const handler = fetchRouter(router, { basePath: '/api/v1' });
    const post = (path: string, body: object) =>
      handler(
        new Request(`http://box.test${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }),
      );
    const doors = [
      ['/api/v1/chat/completions', REQUEST],
      ['/api/v1/messages', { ...REQUEST, max_tokens: 10 }],
      ['/api/v1/responses', { model: 'acme/one', input: 'Hi' }],
      ['/api/v1/embeddings', { model: 'acme/vectors', input: 'Hi' }],
    ] as const;
    for (const [path, body] of doors) expect((await post(path, body)).status, path).toBe(200);
    expect(calls()).toEqual({ eu: 4, us: 0, unknown: 0 });
    upstreams.eu.handler = (_request, response) => sendJson(response, 500, { error: { message: 'down' } });
    for (const [path, body] of doors) expect((await post(path, body)).status, path).toBeGreaterThanOrEqual(500);
    expect(calls()).toMatchObject({ us: 0, unknown: 0 });
  });

  it('cannot be widened by a request, and what is left of two is what both allow', async () => {
    const router = routerWith({ policy: { regions: ['eu', 'us'] } });
    await router.chat({ ...REQUEST, provider: { regions: ['us', 'mars'] } });
    expect(calls()).toEqual({ eu: 0, us: 1, unknown: 0 });
    const refused = router.chat({ ...REQUEST, provider: { regions: ['us'] } }, { account: EU });
    const error: unknown = await refused.catch((thrown: unknown) => thrown);
    expect(RouterError.isInstance(error) && [error.status, error.message]).toEqual([
      404,
      expect.stringMatching(/provider\.regions/) as string,
    ]);
  });

  it('is kept by batches', async () => {
    const router = routerWith();
    const { id } = await router.batches.create(
      {
        endpoint: '/v1/chat/completions',
        model: 'acme/one',
        requests: [1, 2, 3].map((index) => ({ custom_id: `r${index}`, body: { messages: MESSAGES } })),
      },
      { account: EU },
    );
    await router.batches.start();
    await vi.waitFor(
      async () => expect((await router.batches.retrieve(id, { account: EU })).status).toBe('completed'),
      {
        timeout: 10_000,
      },
    );
    expect(calls()).toEqual({ eu: 3, us: 0, unknown: 0 });
    await router.batches.stop({ graceMs: 0 });
  });

  it('is kept by copies of requests for a candidate', async () => {
    const router = routerWith({
      aliases: {
        live: { model: 'acme/one', mirror: { model: 'acme/one', share: 1, budget: { limitUsd: 1, period: 'day' } } },
      },
    });
    await router.chat({ ...REQUEST, model: 'live', provider: { regions: ['eu'] } });
    await vi.waitFor(() => expect(calls()).toEqual({ eu: 2, us: 0, unknown: 0 }), 20_000);
  });

  it('is kept by calls that plugins make', async () => {
    const plugin = definePlugin({
      id: 'calls-a-model',
      whenItThrows: 'fail',
      parseOptions: (options) => ({ ok: true, options }),
      async onRequest(_request, _options, context) {
        await context.call({ model: 'acme/one', messages: MESSAGES });
        return { type: 'continue' };
      },
    });
    const router = routerWith({ plugins: [plugin] });
    await router.chat({ ...REQUEST, plugins: [{ id: 'calls-a-model' }], provider: { regions: ['eu'] } });
    expect(calls()).toEqual({ eu: 2, us: 0, unknown: 0 });
  });

  it('is kept by the response cache: an answer from elsewhere is not given', async () => {
    const router = routerWith({ responseCache: { enabled: true } });
    await router.chat({ ...REQUEST, provider: { only: ['us'] } });
    expect(calls()).toEqual({ eu: 0, us: 1, unknown: 0 });
    await router.chat({ ...REQUEST, provider: { regions: ['eu'] } });
    expect(calls()).toEqual({ eu: 1, us: 1, unknown: 0 });
  });
});
