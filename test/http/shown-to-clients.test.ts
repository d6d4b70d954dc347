import { assert, constantFrom, property } from 'fast-check';
import { apiKeys, createRouter, openaiCompatible, type RouterConfig, type Router } from 'signalbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isGatewayField } from '../../src/protocol/gateway-fields.ts';
import { SUPPORTED_PARAMETERS } from '../../src/catalog/model.ts';
import { MOUNTS } from '../support/mounts.ts';
import { runs } from '../support/properties.ts';
import { answerWith, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

const TENANT = 'tenant-key-0123456789';
const OPERATOR = 'operator-key-0123456789';

let upstream: Upstream;
const routers: Router[] = [];

beforeAll(async () => {
  upstream = await startUpstream();
});

afterAll(async () => {
  await Promise.all(routers.map((router) => router.close()));
  await upstream[Symbol.asyncDispose]();
});

function routerOf(config: Partial<RouterConfig> = {}): Router {
  const [first, second] = ['east', 'west'].map((slug) =>
    openaiCompatible({ slug, baseURL: upstream.baseURL, apiKey: 'none', models: { 'acme/m': {} } }),
  );
  const router = createRouter({
    providers: [first, second] as never,
    fallback: { triesPerEndpoint: 1 },
    authenticate: apiKeys([
      { key: TENANT, id: 'tenant', scopes: ['inference', 'management'] },
      { key: OPERATOR, id: 'house', scopes: ['inference', 'operator'] },
    ]),
    ledger: true,
    on: { warning: () => {} },
    ...config,
  });
  routers.push(router);
  return router;
}

async function post(baseURL: string, body: object, key?: string, path = '/chat/completions'): Promise<Response> {
  return fetch(`${baseURL}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key && { authorization: `Bearer ${key}` }) },
    body: JSON.stringify({ model: 'acme/m', messages: [{ role: 'user', content: 'Hello' }], ...body }),
  });
}

describe('where a provider is', () => {
  const host = (): string => new URL(upstream.baseURL).host;

  it.each(Object.entries(MOUNTS))('is told to operators alone: %s', async (_name, mount) => {
    for (const status of [404, 405, 429, 500, 503]) {
      // A router of its own: what failed before is not called again at once.
      await using served = await mount(routerOf());
      upstream.handler = (_request, response) => sendJson(response, status, { error: { message: 'no' } });
      for (const stream of [false, true]) {
        const shown = await (await post(served.baseURL, { stream }, TENANT)).text();
        expect({ status, stream, tells: shown.includes(host()) }).toEqual({ status, stream, tells: false });
      }
      await using another = await mount(routerOf());
      const seen = await (await post(another.baseURL, {}, OPERATOR)).text();
      expect({ status, tells: seen.includes(host()) }).toEqual({ status, tells: true });
    }
  });

  it('is in no earlier error, in the ledger, and in errors of a program and of this machine', async () => {
    upstream.handler = (_request, response) => sendJson(response, 500, { error: { message: 'no' } });
    const router = routerOf();
    const mount = MOUNTS['node'];
    await using served = await (mount as NonNullable<typeof mount>)(router);
    const error = (await (await post(served.baseURL, {}, OPERATOR)).json()) as {
      error: { metadata: { previous_errors: object[]; provider_url: string } };
    };
    expect(error.error.metadata.provider_url).toContain(host());
    expect(error.error.metadata.previous_errors.map((one) => Object.keys(one))).toEqual([
      ['provider', 'code', 'status'],
    ]);
    const headers = { authorization: `Bearer ${OPERATOR}` };
    expect(await (await fetch(`${served.baseURL}/ledger`, { headers })).text()).toContain(
      `"provider_url":"http://${host()}`,
    );
    const request = { model: 'acme/m', messages: [{ role: 'user' as const, content: 'Hello' }] };
    await expect(router.chat(request)).rejects.toMatchObject({
      metadata: { provider_url: expect.stringContaining(host()) as string },
    });

    await using local = await (mount as NonNullable<typeof mount>)(routerOf({ authenticate: undefined }));
    expect(await (await post(local.baseURL, {})).text()).toContain(host());
    await using open = await (mount as NonNullable<typeof mount>)(
      routerOf({ authenticate: undefined, allowAnonymous: true }),
    );
    expect(await (await post(open.baseURL, {})).text()).not.toContain(host());
  });
});

describe('what belongs to an account', () => {
  it('is kept by no cache and taken for nothing else, on every path', async () => {
    upstream.handler = answerWith('Fine.');
    const mount = MOUNTS['node'] as NonNullable<(typeof MOUNTS)['node']>;
    await using served = await mount(routerOf());
    const headers = { authorization: `Bearer ${OPERATOR}` };
    const paths = ['/generation?id=gen-1', '/ledger', '/batches', '/files', '/models', '/batches/batch_1'];
    const answers = await Promise.all([
      ...paths.map((path) => fetch(`${served.baseURL}${path}`, { headers })),
      post(served.baseURL, {}, OPERATOR),
      post(served.baseURL, { stream: true }, OPERATOR),
      post(served.baseURL, {}),
    ]);
    for (const answer of answers) {
      await answer.text();
      const { headers: got, url } = answer;
      expect(`${url} ${got.get('cache-control')} ${got.get('x-content-type-options')}`).toMatch(/ no-store.* nosniff$/);
    }
    expect((await fetch(`${served.baseURL}/models`)).headers.get('cache-control')).toBeNull();
  });
});

describe('fields by which a gateway is told where or as whom to call', () => {
  const NAMES = [
    'api_base base_url api_key headers extra_headers fallbacks context_window_fallbacks num_retries max_retries mock_response',
    'custom_llm_provider litellm_metadata aws_secret_access_key azure_ad_token vertex_credentials organization virtual_key',
    'mock_testing_fallbacks api-base API_KEY apiKey model_list deployment_id user_api_key_dict secret_fields disable_fallbacks',
  ]
    .join(' ')
    .split(' ');

  it('are never passed on, in any format, and the answer says so', async () => {
    upstream.handler = answerWith('Fine.');
    const router = routerOf();
    for (const [path, body] of [
      ['/chat/completions', {}],
      ['/messages', { max_tokens: 5 }],
      ['/responses', { input: 'Hello', messages: undefined }],
    ] as const) {
      const mount = MOUNTS['node'] as NonNullable<(typeof MOUNTS)['node']>;
      await using served = await mount(router);
      const foreign = Object.fromEntries(
        NAMES.filter((name) => path !== '/messages' || name !== 'fallbacks').map((name) => [name, 'x']),
      );
      const answer = await post(
        served.baseURL,
        { ...body, ...foreign, a_new_field: 1, extra_body: { api_base: 'x', kept: 1 } },
        TENANT,
        path,
      );
      expect([path, answer.status]).toEqual([path, 200]);
      const sent = upstream.requests.at(-1)?.body ?? {};
      expect(Object.keys(sent).filter((name) => NAMES.includes(name))).toEqual([]);
      // What Messages does not know has no place in the chat form.
      if (path !== '/messages') expect(sent).toMatchObject({ a_new_field: 1, extra_body: { kept: 1 } });
      expect(JSON.stringify(sent)).not.toContain('api_base');
    }
    const said = await router.chat(
      { model: 'acme/m', messages: [{ role: 'user', content: 'Hello' }], api_base: 'x' } as never,
      { metadata: true },
    );
    expect(JSON.stringify(said)).toContain('api_base: left out');
  });

  it('are none of the parameters of models', () => {
    assert(
      property(
        constantFrom(...SUPPORTED_PARAMETERS, 'num_predict', 'top_k', 'guided_json', 'chat_template_kwargs'),
        (name) => {
          expect(isGatewayField(name)).toBe(false);
        },
      ),
      runs(200),
    );
  });
});
