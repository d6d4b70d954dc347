import { createServer } from 'node:http';
import { type RouterConfig, createRouter, openaiCompatible } from 'signalbox';
import { nodeRouter } from 'signalbox/node';
import { describe, expect, it } from 'vitest';
import { listen } from '../support/mounts.ts';
import {
  type Upstream,
  type UpstreamHandler,
  dataEvent,
  failWith,
  sendJson,
  startUpstream,
} from '../support/upstream.ts';

interface Scene extends AsyncDisposable {
  readonly upstream: Upstream;
  /** Sends a chat request, with `router_metadata` in its answer. */
  ask(fields: object): Promise<Response>;
}

/** The router behind `node:http`, in front of one provider that plays the script. */
async function open(handler: UpstreamHandler, config: Partial<RouterConfig> = {}): Promise<Scene> {
  const upstream = await startUpstream(handler);
  const provider = openaiCompatible({ slug: 'up', name: 'Up', baseURL: upstream.baseURL, models: { 'acme/one': {} } });
  const router = createRouter({ providers: [provider], on: { warning: () => undefined }, ...config });
  const mounted = await listen(createServer(nodeRouter(router, { basePath: '/v1' })));
  return {
    upstream,
    ask: (fields) =>
      fetch(`${mounted.baseURL}/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-router-metadata': 'enabled' },
        body: JSON.stringify({ model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }], ...fields }),
      }),
    async [Symbol.asyncDispose]() {
      await mounted[Symbol.asyncDispose]();
      await router.close();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

describe('a stream whose only endpoint refuses it three times for its rate', () => {
  it('is a 429 in JSON, although more than a second went by', async () => {
    await using scene = await open(
      failWith(429, { error: { message: 'slow down' } }, { 'retry-after-ms': '1100' }),
      {},
    );
    const response = await scene.ask({ stream: true });
    expect(scene.upstream.requests).toHaveLength(3);
    expect([response.status, response.headers.get('content-type')]).toEqual([429, 'application/json']);
    expect(await response.json()).toMatchObject({ error: { code: 429 }, router_metadata: { attempt: 3 } });
  });
});

describe('router_metadata.attempt of an error', () => {
  it.each([false, true])('says how many were tried, with stream: %s', async (stream) => {
    await using scene = await open(failWith(400, { error: { message: 'no such thing' } }));
    const response = await scene.ask({ stream });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      router_metadata: {
        attempt: 1,
        summary: 'available=1, selected=none',
        attempts: [{ provider: 'Up', status: 400 }],
      },
    });
  });

  it('is 0 when nothing was tried', async () => {
    await using scene = await open(failWith(500));
    const response = await scene.ask({ provider: { only: ['nobody'] } });
    expect(await response.json()).toMatchObject({ router_metadata: { attempt: 0 } });
    expect(scene.upstream.requests).toHaveLength(0);
  });
});

describe('service_tier of an answer', () => {
  it.each([
    ['on_demand', 'default'],
    ['flex', 'flex'],
    ['auto', null],
  ])('is, for a provider that says it served in %s, %s', async (served, named) => {
    await using scene = await open(({ body }, response) => {
      const finish = { index: 0, finish_reason: 'stop' };
      const message = { role: 'assistant', content: 'Hello' };
      if (body['stream'] !== true) {
        sendJson(response, 200, { id: 'a', service_tier: served, choices: [{ ...finish, message }] });
        return;
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(dataEvent({ id: 'a', service_tier: served, choices: [{ ...finish, delta: message }] }));
    });
    expect(await (await scene.ask({})).json()).toMatchObject({ service_tier: named });
    const events = (await (await scene.ask({ stream: true })).text()).split('\n\n');
    expect(JSON.parse(events.at(-3)?.slice('data: '.length) ?? '')).toMatchObject({ choices: [], service_tier: named });
  });
});

describe('web_search_options.search_context_size', () => {
  it('is refused when there is no such size', async () => {
    await using scene = await open(failWith(500));
    const response = await scene.ask({ web_search_options: { search_context_size: 'huge' } });
    expect(await response.json()).toMatchObject({
      error: {
        code: 400,
        message: 'web_search_options.search_context_size must be one of "low", "medium", "high", not "huge".',
      },
    });
  });
});

describe('a user who says nothing', () => {
  it.each([false, true])('is refused before anything is sent, with stream: %s', async (stream) => {
    await using scene = await open(failWith(500));
    const response = await scene.ask({ messages: [{ role: 'user', content: '' }], stream });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { code: 400, metadata: { error_type: 'invalid_prompt', path: 'messages[0].content' } },
    });
    expect(scene.upstream.requests).toHaveLength(0);
  });
});

describe('an error inside a 200, where no fallback is allowed', () => {
  it.each([
    [{ message: 'it broke' }, 502],
    [{ message: 'it broke', code: 'never_heard_of' }, 502],
    [{ message: 'it broke', code: 503 }, 503],
  ])('%j is a %i', async (error, status) => {
    await using scene = await open(failWith(200, { error }));
    const response = await scene.ask({ provider: { allow_fallbacks: false } });
    expect(response.status).toBe(status);
  });
});
