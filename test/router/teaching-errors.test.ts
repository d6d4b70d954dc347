import { createServer } from 'node:http';
import { describe, expect, it, vi } from 'vitest';
import { createRouter, openaiCompatible, type Router, RouterError, simulated } from '../../src/index.ts';
import { nodeRouter } from '../../adapters/node.ts';
import { listen } from '../support/mounts.ts';

const messages = [{ role: 'user', content: 'Hello' }] as const;
const east = (): ReturnType<typeof simulated> => simulated({ slug: 'east', models: { 'acme/one': {} } });

async function failureOf(attempt: Promise<unknown>): Promise<RouterError> {
  const error = await attempt.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!RouterError.isInstance(error)) throw new TypeError('did not fail');
  return error;
}

async function drained(chunks: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of chunks);
}

/** A server that gives this answer to everything. */
function answering(status: number, body: string): ReturnType<typeof listen> {
  return listen(createServer((_, response) => response.writeHead(status).end(body)));
}

/** A router with one provider, which is at an address. */
function routerAt(baseURL: string): Router {
  const options = { slug: 'east', name: 'East', baseURL, apiKey: 'sk-secret-of-this-test', models: { 'acme/one': {} } };
  return createRouter({ providers: [openaiCompatible(options)] });
}

describe('a misspelt provider', () => {
  it('in only is named by the error', async () => {
    const router = createRouter({ providers: [east()] });
    const request = { model: 'acme/one', messages, provider: { only: ['eest'] } } as const;
    expect((await failureOf(router.chat(request))).message).toBe(
      'No allowed providers are available for the selected model. "eest" in only is no provider of this router; did you mean "east"?',
    );
  });

  it('in a policy of an account is named by the error', async () => {
    const router = createRouter({ providers: [east()] });
    const account = { id: 'one', policy: { only: ['eest'] } };
    const error = await failureOf(router.chat({ model: 'acme/one', messages }, { account }));
    expect(error.message).toContain('did you mean "east"?');
  });

  it('in order or ignore is in the metadata and in the dry run, since the request works without it', async () => {
    const router = createRouter({ providers: [east()], presets: { fast: { provider: { order: ['eest'] } } } });
    const said = ['"eest" in order is no provider of this router; did you mean "east"?'];
    const ofRequest = { model: 'acme/one', messages, provider: { order: ['eest'] } } as const;
    const ofPreset = { model: 'acme/one', messages, preset: 'fast' } as const;
    for (const request of [ofRequest, ofPreset]) {
      const answer = await router.chat(request, { metadata: true });
      expect(answer.router_metadata?.warnings).toEqual(said);
      expect((await router.explain(request)).warnings).toEqual(said);
    }
    const right = await router.chat({ ...ofRequest, provider: { order: ['east'] } }, { metadata: true });
    expect(right.router_metadata).not.toHaveProperty('warnings');
  });

  it('in the configuration is warned of at the start', () => {
    const warnings: string[] = [];
    createRouter({
      providers: [east()],
      policy: { ignore: ['eest'] },
      presets: { fast: { provider: { only: ['eats'] } } },
      on: { warning: ({ code, message }) => void (code === 'unknown_provider' && warnings.push(message)) },
    });
    expect(warnings).toEqual([
      'policy: "eest" in ignore is no provider of this router; did you mean "east"?',
      'presets.fast.provider: "eats" in only is no provider of this router, which has "east"',
    ]);
  });
});

describe('the error of a provider', () => {
  it.each([
    ['a refused connection', async () => ({ baseURL: 'http://127.0.0.1:1', [Symbol.asyncDispose]: async () => {} })],
    ['a path that is not there', async () => answering(404, '<html>nothing here</html>')],
  ])('names the provider and where it was called, for %s', async (_, start) => {
    const server = await start();
    const address = `${server.baseURL}/base/chat/completions`;
    const router = routerAt(`${server.baseURL}/base`);
    const error = await failureOf(router.chat({ model: 'acme/one', messages }));
    expect(error.message).toContain(`; East was called at ${address}`);
    expect(error.metadata).toMatchObject({ provider_name: 'East', provider_url: address });
    expect(JSON.stringify([error.message, error.metadata])).not.toMatch(/secret/);
    await router.close();
    await server[Symbol.asyncDispose]();
  });

  it('has the address in its metadata where the words of the provider are enough', async () => {
    await using server = await answering(400, JSON.stringify({ error: { message: 'no such field' } }));
    const router = routerAt(server.baseURL);
    const error = await failureOf(router.chat({ model: 'acme/one', messages }));
    expect(error.message).toBe('Provider returned error: no such field');
    expect(error.metadata['provider_url']).toBe(`${server.baseURL}/chat/completions`);
    await router.close();
  });

  it('has it for a stream that breaks, for a time limit and for embeddings', async () => {
    const chunk = { choices: [{ index: 0, delta: { content: 'One' } }] };
    const server = await listen(
      createServer((request, response) => {
        if (request.url?.includes('silent') === true) return;
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(`data: ${JSON.stringify(chunk)}\n\n`, () => response.destroy());
      }),
    );
    const router = routerAt(server.baseURL);
    const chunks = router.stream({ model: 'acme/one', messages });
    const broken = await failureOf(drained(chunks));
    expect(broken.metadata['provider_url']).toBe(`${server.baseURL}/chat/completions`);
    const vectors = await failureOf(router.embed({ model: 'acme/one', input: 'Hello' }));
    expect(vectors.metadata['provider_url']).toBe(`${server.baseURL}/embeddings`);
    await router.close();
    const slow = createRouter({
      providers: [openaiCompatible({ slug: 'east', baseURL: `${server.baseURL}/silent`, models: { 'acme/one': {} } })],
      timeouts: { answerMs: 50 },
    });
    const late = await failureOf(slow.chat({ model: 'acme/one', messages }));
    expect(late.message).toContain(`was called at ${server.baseURL}/silent/chat/completions`);
    await slow.close();
    await server[Symbol.asyncDispose]();
  });

  it('never has the query of the address, or a key that is in its path', async () => {
    await using server = await answering(500, '{}');
    const provider = openaiCompatible({
      slug: 'east',
      baseURL: `${server.baseURL}/sk-secret-of-this-test/v1`,
      query: 'code=hidden',
      apiKey: 'sk-secret-of-this-test',
      models: { 'acme/one': {} },
    });
    const router = createRouter({ providers: [provider] });
    const error = await failureOf(router.chat({ model: 'acme/one', messages }));
    expect(error.metadata['provider_url']).toBe(`${server.baseURL}/[redacted]/v1/chat/completions`);
    await router.close();
  });
});

describe('a closed router', () => {
  it('says that it is closed, in-process and over HTTP', async () => {
    const router = createRouter({ providers: [east()] });
    await using server = await listen(createServer(nodeRouter(router)));
    await router.close();
    const request = { model: 'acme/one', messages } as const;
    const calls: readonly (() => Promise<unknown>)[] = [
      () => router.chat(request),
      () => drained(router.stream(request)),
      () => router.embed({ model: 'acme/one', input: 'Hello' }),
      () => router.explain(request),
      () => router.countTokens(request),
    ];
    for (const call of calls) {
      const error = await failureOf(call());
      expect([error.status, error.message]).toEqual([503, expect.stringContaining('This router is closed')]);
    }
    for (const stream of [false, true]) {
      const body = JSON.stringify({ ...request, stream });
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(`${server.baseURL}/chat/completions`, { method: 'POST', body, headers });
      expect([response.status, await response.text()]).toEqual([503, expect.stringContaining('This router is closed')]);
    }
  });

  it('fails the probe that an open one answers without a key and without calling a provider', async () => {
    await using upstream = await answering(200, '{}');
    const provider = openaiCompatible({ slug: 'east', baseURL: upstream.baseURL, models: { 'acme/one': {} } });
    const router = createRouter({ providers: [provider], authenticate: () => undefined });
    await using server = await listen(createServer(nodeRouter(router)));
    const probe = async (): Promise<readonly [number, unknown]> => {
      const response = await fetch(`${server.baseURL}/models/count`);
      return [response.status, await response.json()];
    };
    expect(await probe()).toMatchObject([200, { data: { count: expect.any(Number) } }]);
    await router.close();
    expect(await probe()).toMatchObject([503, { error: { message: expect.stringContaining('closed') } }]);
  });
});

describe('a budget that is spent', () => {
  it('says what the request may cost', async () => {
    vi.spyOn(console, 'warn').mockReturnValue();
    const provider = simulated({ slug: 'east', models: { 'acme/one': { price: { prompt: 1, completion: 100 } } } });
    const router = createRouter({ providers: [provider], budgets: { default: { limitUsd: 0.0001, period: 'day' } } });
    const error = await failureOf(router.chat({ model: 'acme/one', messages, max_tokens: 50 }));
    expect(error.message).toMatch(
      /has \$0\.0001 left, but this request may cost up to \$0\.005\d* at the cheapest endpoint, of which \$0\.005/,
    );
  });
});
