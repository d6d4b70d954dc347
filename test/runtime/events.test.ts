import { type Router, type RouterEvents, createRouter, definePlugin, simulated } from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it, vi } from 'vitest';
import { EventHub } from '../../src/runtime/events/events.ts';
import { asking, post, startObservedCell } from '../support/observed-cell.ts';
import { hello, pluginBench, streamed } from '../support/plugins.ts';
import { call, echoTool, turns } from '../support/tools.ts';
import { failWith } from '../support/upstream.ts';
import { listen } from '../../src/contracts/events.ts';

/** Counts begins and ends by the ids of their requests. */
function beginsAndEnds(router: { on: EventHub['on'] }) {
  const counts = { requests: 0, ended: 0, attempts: 0, attemptsEnded: 0, stages: 0, stagesEnded: 0 };
  listen(router, {
    request: () => (counts.requests += 1),
    result: () => (counts.ended += 1),
    error: () => (counts.ended += 1),
    attempt_start: () => (counts.attempts += 1),
    attempt: () => (counts.attemptsEnded += 1),
    plugin_start: () => (counts.stages += 1),
    plugin: () => (counts.stagesEnded += 1),
    tool_start: () => (counts.stages += 1),
    tool: () => (counts.stagesEnded += 1),
  });
  return counts;
}

const WATCHED = definePlugin({
  id: 'watched',
  whenItThrows: 'fail',
  parseOptions: (options) => ({ ok: true, options }),
  onRequest: ({ messages }) => {
    if (messages.length > 2) throw new Error('too many');
    return { type: 'continue' };
  },
  onAttempt: () => undefined,
});

describe('events', () => {
  it('are not built where nobody listens, whatever takes part in a request', async () => {
    const emitted = vi.spyOn(EventHub.prototype, 'emit');
    try {
      const model = turns({ toolCalls: [call('echo', {})] }, 'Done.');
      const { router } = pluginBench(model.script, { plugins: [WATCHED], serverTools: [echoTool()], on: {} });
      await router.chat(hello());
      await router.chat(hello({ plugins: [{ id: 'watched' }], tools: [{ type: 'router:echo' }] }));
      await streamed(router, hello({ plugins: [{ id: 'watched' }] }));
      expect(emitted).not.toHaveBeenCalled();
      router.on('request', () => {});
      await router.chat(hello());
      expect(emitted).toHaveBeenCalledTimes(1);
    } finally {
      emitted.mockRestore();
    }
  });

  it('tell of the first token of a stream, once, between its beginning and its end; of no other answer', async () => {
    const environment = fakeEnvironment();
    const provider = simulated({ slug: 'acme', environment, firstTokenMs: 700, tokensPerSecond: 50 });
    const router: Router = createRouter({ environment, providers: [provider] });
    const told: string[] = [];
    listen(router, {
      attempt_start: () => told.push('attempt_start'),
      first_token: ({ attempt, provider: slug, firstTokenMs }) =>
        told.push(`first_token ${attempt} ${slug} ${firstTokenMs >= 700}`),
      attempt: () => told.push('attempt'),
    });
    const finish = async (answer: Promise<unknown>): Promise<void> => {
      const state = { isOver: false };
      void answer.finally(() => (state.isOver = true));
      while (!state.isOver) await environment.advance(100);
      await answer;
    };
    await finish(streamed(router, { ...hello(), model: 'simulated/small' }));
    expect(told.splice(0)).toEqual(['attempt_start', 'first_token 1 acme true', 'attempt']);
    await finish(router.chat({ ...hello(), model: 'simulated/small' }));
    expect(told).toEqual(['attempt_start', 'attempt']);
    await router.close();
  });

  it('tell of every begin that has an end, and of every end that had a begin', async () => {
    const model = turns({ toolCalls: [call('echo', {}), call('echo', {})] }, 'Done.');
    const fails = echoTool('router:fails', {
      execute: () => {
        throw new Error('no');
      },
    });
    const { router } = pluginBench(model.script, { plugins: [WATCHED], serverTools: [echoTool(), fails] });
    const counts = beginsAndEnds(router);
    const plugins = [{ id: 'watched' }];
    const tools = [{ type: 'router:echo' as const }];
    await router.chat(hello({ plugins, tools }));
    await streamed(router, hello({ plugins, tools }));
    const messages = Array.from({ length: 3 }, () => ({ role: 'user' as const, content: 'Hello' }));
    await expect(router.chat(hello({ plugins, messages }))).rejects.toThrow();
    for await (const _ of router.stream(hello({ plugins }))) break;
    // Nobody has read of this one: it never began.
    await router.open({ ...hello(), stream: true }, {});
    expect(counts).toEqual({ requests: 4, ended: 4, attempts: 5, attemptsEnded: 5, stages: 13, stagesEnded: 13 });
  });

  it('say when an endpoint cools down, and when its breaker opens, lets a probe through and closes', async () => {
    const environment = fakeEnvironment();
    const down = Array.from({ length: 5 }, () => ({ kind: 'server' as const }));
    const provider = simulated({
      slug: 'acme',
      models: { 'acme/one': {} },
      environment,
      failures: [...down, 'ok', ...Array.from({ length: 8 }, () => ({ kind: 'credentials' as const }))],
    });
    const router: Router = createRouter({
      environment,
      providers: [provider],
      fallback: { triesPerEndpoint: 1 },
      on: { warning: () => {} },
    });
    const told: RouterEvents['health'][] = [];
    router.on('health', (event) => void told.push(event));
    const ask = async (): Promise<void> => {
      const over = new AbortController();
      void router.chat(hello()).then(
        () => over.abort(),
        () => over.abort(),
      );
      while (!over.signal.aborted) await environment.advance(10);
    };
    for (let times = 0; times < 5; times += 1) await ask();
    const who = { provider: 'acme', model: 'acme/one', listed: true };
    expect(told.splice(0)).toMatchObject([
      { ...who, type: 'breaker', state: 'open', forMs: expect.any(Number) as number },
    ]);
    await environment.advance(3_001);
    await ask();
    expect(told.splice(0)).toMatchObject([
      { ...who, type: 'breaker', state: 'half_open' },
      { ...who, type: 'breaker', state: 'closed' },
    ]);
    // One refusal may be chance.
    for (let times = 0; times < 8 && told.length === 0; times += 1) await ask();
    expect(told).toMatchObject([
      { ...who, type: 'cooldown', forMs: expect.any(Number) as number, cause: 'credentials' },
    ]);
  });

  it('let no listener break a request by what it gives to be carried, or by throwing', async () => {
    await using cell = await startObservedCell();
    cell.router.on('attempt_start', ({ carry }) => carry({ traceparent: 'bad\r\nx-evil: 1' }));
    cell.router.on('request', () => {
      throw new Error('a listener');
    });
    const { status } = await post(cell, asking());
    expect(status).toBe(200);
    expect(cell.second.requests[0]?.headers).not.toHaveProperty('traceparent');
    expect(cell.second.requests[0]?.headers).not.toHaveProperty('x-evil');
  });

  it('name who was asked last when a request fails', async () => {
    await using cell = await startObservedCell({ second: failWith(503) });
    const errors: RouterEvents['error'][] = [];
    cell.router.on('error', (event) => void errors.push(event));
    await post(cell, asking());
    expect(errors).toMatchObject([{ provider: 'second', model: 'acme/one', listed: true, attempts: 2 }]);
  });
});
