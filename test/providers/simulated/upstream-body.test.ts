import type { ChatChunk, NormalizedRequest } from 'signalbox';
import { createRouter } from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { ask, instant, instantRouter, recording } from '../../support/simulated.ts';

describe('the body that a simulated provider shows', () => {
  it('is what a real one would have got, before the first token', async () => {
    const chunks: ChatChunk[] = [];
    const tools = [{ type: 'function', function: { name: 'ping' } }] as const;
    const request = ask('Hello', {
      model: 'simulated/large',
      debug: { echo_upstream_body: true },
      max_tokens: 50,
      stop: 'x',
      temperature: 0.5,
      reasoning_effort: 'low',
      user: 'somebody',
      tools,
    });
    for await (const chunk of instantRouter().stream(request)) chunks.push(chunk);
    expect(chunks[0]?.debug?.echo_upstream_body).toEqual({
      model: 'large',
      messages: [{ role: 'user', content: 'Hello' }],
      max_completion_tokens: 50,
      stop: ['x'],
      temperature: 0.5,
      reasoning: { effort: 'low' },
      tools,
      user: expect.not.stringContaining('somebody'),
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(chunks.filter((chunk) => chunk.debug !== undefined)).toHaveLength(1);
  });

  it('is shown for every attempt, also for those that fail', async () => {
    const requests: NormalizedRequest[] = [];
    const providers = [
      recording(requests, { slug: 'first', models: { 'acme/one': {} }, failures: [{ kind: 'server' }] }),
      instant({ slug: 'second', models: { 'acme/one': { upstreamModel: 'uno' } } }),
    ];
    const router = createRouter({ providers, environment: fakeEnvironment() });
    const models: unknown[] = [];
    const order = { order: ['first', 'second'] };
    const request = ask('Hello', { model: 'acme/one', provider: order, debug: { echo_upstream_body: true } });
    for await (const { debug } of router.stream(request)) {
      if (debug !== undefined) models.push((debug.echo_upstream_body as { model?: unknown }).model);
    }
    expect(models).toEqual(['acme/one', 'uno']);
    expect(requests).toHaveLength(1);
  });
});

describe('the models of the simulated provider', () => {
  it('give every rule of routing something to choose from', async () => {
    const router = instantRouter();
    const tags = async (model: string, provider?: object): Promise<readonly string[]> => {
      const { steps } = await router.explain(ask('Hello', { model, ...(provider === undefined ? {} : { provider }) }));
      return steps.map((step) => step.tag);
    };
    expect((await tags('simulated/small')).toSorted()).toEqual(['simulated', 'simulated/turbo']);
    expect(await tags('simulated/small', { sort: 'price' })).toEqual(['simulated', 'simulated/turbo']);
    expect(await tags('simulated/small', { data_collection: 'deny' })).toEqual(['simulated/turbo']);
    expect(await tags('simulated/small', { quantizations: ['fp8'] })).toEqual(['simulated/turbo']);
    expect(await tags('simulated/small', { max_price: { prompt: 0.15 } })).toEqual(['simulated']);
    expect(await tags('simulated/large', { zdr: true })).toEqual(['simulated/eu']);
    expect(await tags('simulated/reasoner')).toEqual(['simulated']);
    expect((await tags('simulated/reasoner:floor'))[0]).toBe('simulated/flex');
    const free = await router.chat(ask('Hello', { model: 'simulated/small:free' }));
    expect(free.usage?.cost).toBe(0);
  });
});
