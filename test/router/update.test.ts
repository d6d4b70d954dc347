import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConfigError, createRouter, memoryStore, openaiCompatible, type Provider, type RouterConfig } from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

const HELLO = { model: 'fast', messages: [{ role: 'user' as const, content: 'Hello' }] };

let one: Upstream;
let two: Upstream;
beforeEach(async () => {
  one = await startUpstream();
  two = await startUpstream();
  for (const [upstream, name] of [
    [one, 'one'],
    [two, 'two'],
  ] as const) {
    upstream.handler = ({ body }, response) => sendJson(response, 200, completion(`${name} ${String(body['model'])}`));
  }
});
afterEach(async () => {
  await Promise.all([one, two].map((upstream) => upstream[Symbol.asyncDispose]()));
});

function completion(content: string) {
  return {
    id: 'x',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  };
}

function providerAt(slug: string, upstream: Upstream, upstreamModel = 'm'): Provider {
  return openaiCompatible({
    slug,
    baseURL: upstream.baseURL,
    apiKey: 'sk-1',
    models: { [`${slug}/model`]: { price: { prompt: 1, completion: 1 }, upstreamModel } },
  });
}

function configOf(provider: Provider, more: RouterConfig = {}): RouterConfig {
  return { providers: [provider], aliases: { fast: `${provider.slug}/model` }, ...more };
}

async function textOf(router: { chat(request: typeof HELLO): Promise<{ choices: unknown }> }): Promise<unknown> {
  const { choices } = (await router.chat(HELLO)) as { choices: { message: { content: unknown } }[] };
  return choices[0]?.message.content;
}

describe('a configuration that changes while the router runs', () => {
  it('is in force for the next request, with a version that events tell', async () => {
    const versions: number[] = [];
    const on = { configuration: ({ version }: { version: number }) => void versions.push(version) };
    const environment = fakeEnvironment();
    const router = createRouter({ ...configOf(providerAt('one', one)), on, environment });
    expect(router.configuration).toMatchObject({ version: 1, since: environment.wallClock() });
    expect(await textOf(router)).toBe('one m');
    await environment.advance(5_000);
    expect(router.update(configOf(providerAt('two', two)))).toEqual({ version: 2, since: environment.wallClock() });
    expect(router.configuration.version).toBe(2);
    expect(await textOf(router)).toBe('two m');
    expect(versions).toEqual([2]);
    await expect(router.chat({ ...HELLO, model: 'one/model' })).rejects.toMatchObject({ status: 400 });
    await router.close();
  });

  it('changes nothing when it is refused, and names all of its faults', async () => {
    const router = createRouter(configOf(providerAt('one', one)));
    const faulty = { providers: [], aliases: { fast: 5 }, limits: { bodyBytes: -1 } } as unknown as RouterConfig;
    let problems: readonly string[] = [];
    try {
      router.update(faulty);
    } catch (error) {
      if (ConfigError.isInstance(error)) problems = error.problems.map(({ path }) => path);
    }
    expect(problems).toEqual(expect.arrayContaining(['providers', 'aliases.fast', 'limits.bodyBytes']));
    expect(router.configuration.version).toBe(1);
    expect(await textOf(router)).toBe('one m');
    await router.close();
  });

  it('cannot take away what the process holds', async () => {
    const given = configOf(providerAt('one', one), { state: memoryStore(), identitySecret: 'a secret of this router' });
    const router = createRouter(given);
    expect(() => router.update({ ...given, stickyTtlMs: 1_000 })).not.toThrow();
    const others = { state: memoryStore(), identitySecret: 'another secret', on: { warning() {} } };
    for (const [name, value] of Object.entries(others)) {
      expect(() => router.update({ ...given, [name]: value }), name).toThrow(/cannot change while the router runs/);
    }
    expect(router.configuration.version).toBe(2);
    await router.close();
  });

  it('leaves streams that are under way to the provider that is no longer there', async () => {
    let finish = (): void => {};
    one.handler = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const chunk = { id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm' };
      const say = (content: string): void => {
        const data = { ...chunk, choices: [{ index: 0, delta: { content }, finish_reason: null }] };
        response.write(`data: ${JSON.stringify(data)}\n\n`);
      };
      say('first ');
      finish = () => {
        say('last');
        response.end(
          `data: ${JSON.stringify({ ...chunk, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`,
        );
      };
    };
    const router = createRouter(configOf(providerAt('one', one)));
    let text = '';
    for await (const { choices } of router.stream(HELLO)) {
      text += choices[0]?.delta.content ?? '';
      if (text !== 'first ') continue;
      router.update(configOf(providerAt('two', two)));
      expect(await textOf(router)).toBe('two m');
      finish();
    }
    expect(text).toBe('first last');
    await router.close();
  });

  it('keeps the connections and the health of providers that stay, and forgets refusals of replaced ones', async () => {
    const environment = fakeEnvironment();
    const provider = providerAt('one', one);
    const router = createRouter({ ...configOf(provider), environment });
    await textOf(router);
    await textOf(router);
    const { connections } = one;
    router.update(configOf(provider, { stickyTtlMs: 1_000 }));
    await textOf(router);
    expect(one.connections).toBe(connections);
    one.handler = (_request, response) => sendJson(response, 401, { error: { message: 'Incorrect API key provided' } });
    // Until it is evident that the key is no good.
    for (let call = 0; call < 8; call += 1) await expect(router.chat(HELLO)).rejects.toThrow();
    const asked = one.requests.length;
    router.update(configOf(provider, { defaultModel: 'one/model' }));
    await expect(router.chat(HELLO)).rejects.toThrow();
    expect(one.requests.length).toBe(asked);
    one.handler = (_request, response) => sendJson(response, 200, completion('again'));
    router.update(configOf(providerAt('one', one)));
    expect(await textOf(router)).toBe('again');
    await router.close();
  });

  it('keeps rate limits', async () => {
    const limits = { rateLimits: { default: { requestsPerMinute: 3 } } };
    const both = { providers: [providerAt('one', one), providerAt('two', two)], aliases: { fast: 'one/model' } };
    const router = createRouter({ ...both, ...limits });
    await textOf(router);
    router.update({ ...both, ...limits, aliases: { fast: 'two/model' } });
    await textOf(router);
    router.update({ ...both, ...limits, rateLimits: { default: { requestsPerMinute: 2 } } });
    await expect(router.chat({ ...HELLO, model: 'one/model' })).rejects.toMatchObject({ status: 429 });
    await router.close();
  });

  it('keeps sessions where they were, and what was spent', async () => {
    const models = (upstream: Upstream, usd: number) => ({
      baseURL: upstream.baseURL,
      apiKey: 'sk-1',
      models: { 'acme/model': { price: { prompt: usd, completion: usd }, upstreamModel: 'm' } },
    });
    const providers = [
      openaiCompatible({ slug: 'one', ...models(one, 1) }),
      openaiCompatible({ slug: 'two', ...models(two, 100) }),
    ];
    const given: RouterConfig = { providers, strategy: 'balanced' };
    const router = createRouter(given);
    const sessions = Array.from({ length: 10 }, (_, session) => `s${session}`);
    const request = { ...HELLO, model: 'acme/model', max_tokens: 100 };
    // They begin at the one that is hardly ever chosen by itself.
    for (const session_id of sessions) await router.chat({ ...request, session_id, provider: { only: ['two'] } });
    two.handler = (_request, response) => {
      const usage = { prompt_tokens: 10, completion_tokens: 90, total_tokens: 100 };
      sendJson(response, 200, { ...completion('much'), usage });
    };
    // It costs 0.01 USD, and reserves a little more than that: the budget is enough for one.
    const dear = { ...request, provider: { only: ['two'] } };
    const accountOf = (id: string) => ({ account: { id, budget: { limitUsd: 0.02 } } });
    await router.chat(dear, accountOf('spent'));
    router.update({ ...given, stickyTtlMs: 500_000, providers: providers.toReversed() });
    for (const session_id of sessions) expect((await router.chat({ ...request, session_id })).provider).toBe('two');
    await expect(router.chat(dear, accountOf('spent'))).rejects.toMatchObject({ status: 402 });
    await router.chat(dear, accountOf('fresh'));
    await router.close();
  });

  it('runs what is left of batches under the new configuration', async () => {
    const router = createRouter(configOf(providerAt('one', one)));
    const { id } = await router.batches.create({
      endpoint: '/v1/chat/completions',
      model: 'fast',
      requests: [{ custom_id: '1', body: { messages: HELLO.messages } }],
    } as never);
    router.update(configOf(providerAt('two', two)));
    await router.batches.tick({ budgetMs: 5_000 });
    await expect.poll(async () => (await router.batches.retrieve(id)).status).toBe('completed');
    expect(two.requests).toHaveLength(1);
    expect(one.requests).toHaveLength(0);
    await router.close();
  });
});
