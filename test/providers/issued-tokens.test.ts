import { createServer } from 'node:http';
import { stripTypeScriptTypes } from 'node:module';
import type { AddressInfo } from 'node:net';
import {
  anthropic,
  azure,
  createRouter,
  fromAiSdk,
  google,
  groq,
  openai,
  openaiCompatible,
  type Provider,
  type ProviderKeyFunction,
  type ProviderToken,
  type WarningEvent,
  RouterError,
} from 'signalbox';
import { withKey } from 'signalbox/provider';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { all, batchScene } from '../support/batches.ts';
import { type BatchServerAnswer, endedAtServer, startBatchServer } from '../support/batch-server.ts';
import { embeddingsBody } from '../support/embedding-upstream.ts';
import { codeBlocks } from '../support/code-blocks.ts';
import { readProjectFile } from '../support/source-files.ts';
import { messagesProvider } from '../support/messages-upstream.ts';
import { tokenIssuer } from '../support/token-issuer.ts';
import { answerWith, failWith, sendJson, startUpstream } from '../support/upstream.ts';

const REQUEST = { model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }] } as const;
const MODELS = { 'acme/one': { upstreamModel: 'one-up' } } as const;
const HOUR = 3_600_000;

afterEach(() => {
  vi.useRealTimers();
});

function routerWith(baseURL: string, apiKey: ProviderKeyFunction, warning?: (event: WarningEvent) => void) {
  return createRouter({
    providers: [openaiCompatible({ slug: 'up', baseURL, apiKey, models: MODELS })],
    on: { warning },
  });
}

describe('a key that a function gives', () => {
  it('survives that its token is revoked in a storm of 1,000 requests, with one renewal', async () => {
    const issuer = tokenIssuer(() => Date.now() + HOUR);
    await using upstream = await startUpstream();
    let served = 0;
    const answer = answerWith('Hello there');
    upstream.handler = issuer.guard((request, response, raw) => {
      served += 1;
      if (served === 400) issuer.revoke();
      answer(request, response, raw);
    });
    const router = routerWith(upstream.baseURL, issuer.give);
    const texts = await Promise.all(
      Array.from({ length: 1_000 }, async (_, index) => {
        if (index % 2 === 0) return (await router.chat(REQUEST)).choices[0]?.message.content;
        let text = '';
        for await (const chunk of router.stream(REQUEST)) text += chunk.choices[0]?.delta.content ?? '';
        return text;
      }),
    );
    expect(new Set(texts)).toEqual(new Set(['Hello there']));
    expect(issuer.issued).toHaveLength(2);
    expect(issuer.mostAtOnce).toBe(1);
    await router.close();
  });

  it('is renewed once when its time is over in a storm of 1,000 requests, before a provider refuses it', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const issuer = tokenIssuer(() => Date.now() + HOUR);
    await using upstream = await startUpstream();
    let refused = 0;
    const answer = answerWith('Hello there');
    upstream.handler = issuer.guard(answer, (...exchange) => {
      refused += 1;
      failWith(401)(...exchange);
    });
    const router = routerWith(upstream.baseURL, issuer.give);
    const waves = [500, 500].map((count, wave) => async () => {
      if (wave === 1) {
        vi.setSystemTime(Date.now() + HOUR);
        issuer.revoke();
      }
      await Promise.all(Array.from({ length: count }, () => router.chat(REQUEST)));
    });
    for (const wave of waves) await wave();
    expect([issuer.issued.length, refused]).toEqual([2, 0]);
    await router.close();
  });

  it('is fetched while the old one still serves, shortly before that expires', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const issuer = tokenIssuer(() => Date.now() + HOUR);
    await using upstream = await startUpstream(issuer.guard(answerWith('Hello there')));
    const router = routerWith(upstream.baseURL, issuer.give);
    await router.chat(REQUEST);
    vi.setSystemTime(Date.now() + HOUR - 61_000);
    await router.chat(REQUEST);
    expect(issuer.issued).toHaveLength(1);
    issuer.issue = () => Promise.reject(new Error('the issuer is away'));
    vi.setSystemTime(Date.now() + 2_000);
    await router.chat(REQUEST);
    expect(issuer.issued).toHaveLength(1);
    issuer.issue = () => Promise.resolve();
    await router.chat(REQUEST);
    await vi.waitFor(() => expect(issuer.issued).toHaveLength(2), 20_000);
    await router.chat(REQUEST);
    const keys = upstream.requests.map(({ headers }) => headers.authorization?.slice(-1));
    expect(keys).toEqual(['1', '1', '1', '1', '2']);
    await router.close();
  });

  it('is asked for with each call where nothing says how long it may be kept, by one call at a time', async () => {
    const issuer = tokenIssuer();
    await using upstream = await startUpstream(issuer.guard(answerWith('Hello there')));
    const router = routerWith(upstream.baseURL, issuer.give);
    await Promise.all([1, 2, 3].map(() => router.chat(REQUEST)));
    await router.chat(REQUEST);
    expect(issuer.issued).toHaveLength(2);
    expect(issuer.mostAtOnce).toBe(1);
    await router.close();
  });

  it('is replaced after a 403 that says that it expired, and after no other 403', async () => {
    const issuer = tokenIssuer(() => Date.now() + HOUR);
    const expired = failWith(403, { message: 'Bearer Token has expired' });
    await using upstream = await startUpstream(issuer.guard(answerWith('Hello there'), expired));
    const router = routerWith(upstream.baseURL, issuer.give);
    await router.chat(REQUEST);
    issuer.revoke();
    await router.chat(REQUEST);
    expect(issuer.issued).toHaveLength(2);
    upstream.handler = failWith(403, { error: { message: 'This model is not for you' } });
    await expect(router.chat(REQUEST)).rejects.toMatchObject({ status: 502 });
    expect(issuer.issued).toHaveLength(2);
    expect(upstream.requests).toHaveLength(4);
    await router.close();
  });

  it('is asked for once more after a 401, and then the endpoint has no good key', async () => {
    const issuer = tokenIssuer(() => Date.now() + HOUR);
    await using upstream = await startUpstream(failWith(401, { error: { message: 'no' } }));
    const warnings: string[] = [];
    const router = routerWith(upstream.baseURL, issuer.give, ({ code }) => warnings.push(code));
    await expect(router.chat(REQUEST)).rejects.toMatchObject({ status: 502 });
    expect(issuer.issued).toHaveLength(2);
    expect(upstream.requests).toHaveLength(2);
    expect(warnings).toContain('provider_key');
    await router.close();
  });

  it.each([
    ['throws', () => Promise.reject(new TypeError('secret-of-the-program'))],
    [
      'throws at once',
      () => {
        throw new TypeError('secret-of-the-program');
      },
    ],
    ['gives nothing', () => ''],
    ['gives what no header may hold', () => 'a\nb'],
    ['gives an object without a token', () => ({ access_token: 'x' }) as never],
    ['gives its time in seconds', () => ({ token: 'abc', expiresAt: Math.floor(Date.now() / 1_000) + 3_600 })],
  ])('that %s is a failure of its endpoint, and another one answers', async (_name, apiKey) => {
    await using upstream = await startUpstream();
    const warnings: WarningEvent[] = [];
    const other = openaiCompatible({ slug: 'other', baseURL: upstream.baseURL, models: MODELS });
    const first = openaiCompatible({ slug: 'first', baseURL: upstream.baseURL, apiKey, models: MODELS });
    const router = createRouter({ providers: [first, other], on: { warning: (event) => warnings.push(event) } });
    const order = { order: ['first', 'other'] };
    const { choices } = await router.chat({ ...REQUEST, provider: order });
    expect(choices[0]?.message.content).toBe('Hello there');
    expect(upstream.requests).toHaveLength(1);
    expect(warnings.find(({ code }) => code === 'provider_failed')).toMatchObject({
      message: expect.stringMatching(/^The apiKey function of first threw TypeError/) as string,
    });
    const alone = router.chat({ ...REQUEST, provider: { only: ['first'] } });
    const error = await alone.catch((thrown: unknown) => thrown);
    expect(RouterError.isInstance(error) && error.message).toMatch(/The apiKey function of the provider failed/);
    expect(JSON.stringify([error, String(error)])).not.toContain('secret');
    await router.close();
  });

  it('that hangs is given up after 30 seconds, so that later calls do not wait with it', async () => {
    vi.useFakeTimers();
    let calls = 0;
    const give = () => (++calls === 1 ? new Promise<string>(() => {}) : Promise.resolve('token-2'));
    const use = () =>
      withKey(
        give,
        (key) => Promise.resolve(key),
        () => false,
      );
    const first = use().catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(29_999);
    const second = use().catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(1);
    expect([await first, await second].map(String)).toEqual(
      [1, 2].map(() => expect.stringContaining('The apiKey function of the provider failed') as string),
    );
    expect(await use()).toBe('token-2');
    expect(calls).toBe(2);
  });

  it('never shows its token, also where a provider repeats it', async () => {
    const issuer = tokenIssuer(() => Date.now() + HOUR);
    await using upstream = await startUpstream(({ headers }, response) =>
      sendJson(response, 400, { error: { message: `bad request of ${headers.authorization}` } }),
    );
    const warnings: WarningEvent[] = [];
    const router = routerWith(upstream.baseURL, issuer.give, (event) => warnings.push(event));
    const error: unknown = await router.chat(REQUEST).catch((thrown: unknown) => thrown);
    expect(String(error)).toContain('bad request of');
    expect(JSON.stringify([error, String(error), warnings])).not.toContain('token-of-the-house');
    await router.close();
  });

  it('that is no text and no function is refused at start-up', () => {
    expect(() => groq({ apiKey: 5 as never })).toThrow('providers.groq.apiKey must be a string or a function, not 5');
    expect(() => azure({ resource: 'r', models: MODELS, apiKey: () => 'x', authorization: 'basic' as never })).toThrow(
      'providers.azure.authorization must be "api-key" or "bearer"',
    );
  });
});

describe('every provider takes a function', () => {
  it('in the header of its vendor', async () => {
    const apiKey = () => 'a-fresh-token';
    await using upstream = await startUpstream(failWith(400));
    const { baseURL } = upstream;
    const sent = async (provider: Provider) => {
      const router = createRouter({ providers: [provider] });
      await router.chat(REQUEST).catch(() => {});
      await router.close();
      const { authorization, 'x-api-key': key, 'x-goog-api-key': googleKey } = upstream.requests.at(-1)?.headers ?? {};
      return { authorization, key, googleKey };
    };
    const bearer = { authorization: 'Bearer a-fresh-token' };
    expect(await sent(openai({ baseURL, apiKey, models: MODELS }))).toMatchObject(bearer);
    expect(await sent(groq({ baseURL, apiKey, models: MODELS }))).toMatchObject(bearer);
    expect(await sent(anthropic({ baseURL, apiKey, models: MODELS }))).toMatchObject({ key: 'a-fresh-token' });
    expect(await sent(anthropic({ baseURL, apiKey, models: MODELS, authorization: 'bearer' }))).toEqual(bearer);
    expect(await sent(google({ baseURL, apiKey, models: MODELS }))).toMatchObject({ googleKey: 'a-fresh-token' });
    expect(await sent(google({ baseURL, apiKey, models: MODELS, authorization: 'bearer' }))).toEqual(bearer);
  });

  it('for embeddings, for counting and for being asked whether it is there', async () => {
    const issuer = tokenIssuer(() => Date.now() + HOUR);
    const models = { 'acme/vectors': { outputModalities: ['embeddings'] } } as const;
    await using upstream = await startUpstream();
    upstream.handler = issuer.guard(({ body, path }, response, raw) => {
      if (path.endsWith('/embeddings')) sendJson(response, 200, embeddingsBody(body));
      else if (path.endsWith('/count_tokens')) sendJson(response, 200, { input_tokens: 42 });
      else if (path.endsWith('/models')) sendJson(response, 200, { data: [] });
      else messagesProvider({ body, path, headers: {} }, response, raw);
    });
    const vectors = openai({ baseURL: upstream.baseURL, apiKey: issuer.give, models });
    const claude = anthropic({ baseURL: upstream.baseURL, apiKey: issuer.give, models: MODELS });
    const router = createRouter({ providers: [vectors, claude] });
    for (const makes of [1, 2]) {
      expect((await router.embed({ model: 'acme/vectors', input: 'one' })).data).toHaveLength(1);
      const counted = await router.countTokens({ model: 'acme/one', messages: REQUEST.messages, max_tokens: 5 });
      expect(counted).toMatchObject({ input_tokens: 42 });
      expect(await claude.check?.(new AbortController().signal)).toBeUndefined();
      // Two providers with the same function share its tokens.
      expect(issuer.issued).toHaveLength(makes);
      issuer.revoke();
    }
    await router.close();
  });

  it('for all calls of a batch, also where the token is revoked between them', async () => {
    const issuer = tokenIssuer(() => Date.now() + HOUR);
    const batch = { id: 'batch_1', object: 'batch', status: 'in_progress', input_file_id: 'file-in' };
    const answer = {
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'one-up',
      choices: [{ index: 0, message: { role: 'assistant', content: 'done' }, finish_reason: 'stop' }],
    };
    const line = JSON.stringify({ custom_id: 'r0', response: { status_code: 200, body: answer }, error: null });
    const answers: Readonly<Record<string, BatchServerAnswer>> = {
      'GET /v1/batches?limit=100': [200, { object: 'list', data: [] }],
      'POST /v1/files': [200, { id: 'file-in', object: 'file', purpose: 'batch' }],
      'POST /v1/batches': [200, batch],
      'GET /v1/batches/batch_1': [200, { ...batch, status: 'completed', output_file_id: 'file-out' }],
      'GET /v1/files/file-out/content': [200, line],
    };
    let refusals = 0;
    await using server = await startBatchServer(({ line: called, headers }) => {
      const isGood = headers['authorization'] === `Bearer ${issuer.issued.at(-1)}` && isAccepted;
      isAccepted = true;
      if (!isGood) {
        refusals += 1;
        return [401, { error: { message: 'expired' } }];
      }
      // The next call comes with a token that is over.
      if (answers[called] !== undefined && called !== 'GET /v1/files/file-out/content') isAccepted = false;
      return answers[called] ?? [404, { error: { message: 'no such' } }];
    });
    let isAccepted = true;
    const provider = openai({
      apiKey: issuer.give,
      baseURL: `${server.origin}/v1`,
      models: MODELS,
      nativeBatches: true,
    });
    const scene = batchScene({ providers: [provider] });
    const { id } = await scene.router.batches.create({
      endpoint: '/v1/chat/completions',
      model: 'acme/one',
      requests: [{ custom_id: 'r0', body: { messages: REQUEST.messages } }],
    });
    await scene.router.batches.start();
    const ended = await endedAtServer(scene, id);
    expect(ended).toMatchObject({ status: 'completed', request_counts: { completed: 1, failed: 0 } });
    expect(await all(scene.router.batches.results(id))).toMatchObject([
      { response: { body: { choices: [{ message: { content: 'done' } }] } } },
    ]);
    expect(refusals).toBeGreaterThan(3);
    expect(issuer.issued).toHaveLength(refusals + 1);
    await scene.router.batches.stop({ graceMs: 0 });
  });
});

describe('a key of an account', () => {
  it('may be a function too, whose tokens are for this account', async () => {
    const issuer = tokenIssuer(() => Date.now() + HOUR);
    await using upstream = await startUpstream(issuer.guard(answerWith('Hello there'), failWith(401)));
    const provider = openaiCompatible({ slug: 'up', baseURL: upstream.baseURL, apiKey: 'shared-key', models: MODELS });
    const router = createRouter({ providers: [provider] });
    const account = { id: 'tenant', providerKeys: { up: { apiKey: issuer.give } } };
    for (const _ of [1, 2]) {
      const { router_metadata: metadata } = (await router.chat({ ...REQUEST, router_metadata: true } as never, {
        account,
      })) as { router_metadata?: { is_byok?: boolean } };
      expect(metadata?.is_byok ?? true).toBe(true);
      issuer.revoke();
    }
    expect(issuer.issued).toHaveLength(2);
    expect(upstream.requests.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer token-of-the-house-1',
      'Bearer token-of-the-house-1',
      'Bearer token-of-the-house-2',
    ]);
    await router.close();
  });

  it('goes to AI SDK models that are made for it, and once more after a 401', async () => {
    const issuer = tokenIssuer(() => Date.now() + HOUR);
    const keys: string[] = [];
    const modelFor = (key: string) => ({
      specificationVersion: 'v2' as const,
      provider: 'test',
      modelId: 'one',
      supportedUrls: {},
      doGenerate: () => {
        keys.push(key);
        if (keys.length === 1) {
          const refused = Object.assign(new Error('no'), { statusCode: 401, responseBody: '{}', isRetryable: false });
          Object.assign(refused, { [Symbol.for('vercel.ai.error.AI_APICallError')]: true });
          return Promise.reject(refused);
        }
        return Promise.resolve({
          content: [{ type: 'text', text: 'Hello' }],
          finishReason: 'stop',
          usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
          warnings: [],
        });
      },
      doStream: () => Promise.reject(new Error('not streamed')),
    });
    const provider = fromAiSdk(modelFor('shared') as never, {
      id: 'acme/one',
      slug: 'sdk',
      modelForKey: modelFor,
    });
    const router = createRouter({ providers: [provider] });
    const account = { id: 'tenant', providerKeys: { sdk: { apiKey: issuer.give } } };
    const { choices } = await router.chat(REQUEST, { account });
    expect(choices[0]?.message.content).toBe('Hello');
    expect(keys).toEqual(['token-of-the-house-1', 'token-of-the-house-2']);
    await router.close();
  });
});

describe('the recipe for services that answer as OAuth has it', () => {
  it('renews its token at a service that takes no old one', async () => {
    const page = readProjectFile('docs/providers.md');
    const block = codeBlocks(page).find((one) => one.includes('expires_in: seconds')) ?? '';
    const recipe = /async function issue[\s\S]*?\n}\n/.exec(block)?.[0] ?? '';
    const module = `data:text/javascript,${encodeURIComponent(`${stripTypeScriptTypes(recipe)}; export { issue };`)}`;
    const { issue } = (await import(/* @vite-ignore */ module)) as {
      issue: (url: string, fields: object) => Promise<ProviderToken>;
    };
    vi.useFakeTimers({ toFake: ['Date'] });
    let tokens = 0;
    await using service = await startTokenService((form) => {
      expect(form.get('grant_type')).toBe('client_credentials');
      tokens += 1;
      return { access_token: `token-${tokens}`, expires_in: 3_600, token_type: 'Bearer' };
    });
    await using upstream = await startUpstream(({ headers, ...request }, response, raw) => {
      const isGood = headers.authorization === `Bearer token-${tokens}`;
      (isGood ? answerWith('Hello there') : failWith(401))({ headers, ...request }, response, raw);
    });
    const router = routerWith(upstream.baseURL, () => issue(service.url, { grant_type: 'client_credentials' }));
    await router.chat(REQUEST);
    await router.chat(REQUEST);
    expect(tokens).toBe(1);
    vi.setSystemTime(Date.now() + 3_600_000);
    await router.chat(REQUEST);
    expect([tokens, upstream.requests.length]).toEqual([2, 3]);
    await router.close();
  });
});

/** A service that issues tokens for forms. */
async function startTokenService(answer: (form: URLSearchParams) => object) {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(answer(new URLSearchParams(body))));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/identity/token`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
