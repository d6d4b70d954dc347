import { createAnthropic } from '@ai-sdk/anthropic';
import { type Provider, anthropic, createRouter, fromAiSdk, google, openaiCompatible } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { mostCost } from '../../src/core/limits/most-cost.ts';
import { serving } from '../support/requests.ts';
import { type UpstreamHandler, answerWith, sendJson, startUpstream } from '../support/upstream.ts';

const DEAR = { prompt: 2_000, completion: 2_000 };
const CHEAP = { prompt: 1_000, completion: 1_000 };
/** An answer of Anthropic's. */
const messageOf = (tier: string) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'one',
  content: [{ type: 'text', text: 'Hello' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 10, output_tokens: 5, service_tier: tier },
});

const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

/** Fails for whoever asks for priority, and answers the others in a tier of that name. */
function withoutPriority(served?: string): UpstreamHandler {
  return (request, response, raw) => {
    if (request.body['service_tier'] === 'priority') sendJson(response, 503, { error: { message: 'no capacity' } });
    else if (served === undefined) answerWith('Hello', USAGE)(request, response, raw);
    else {
      sendJson(response, 200, {
        service_tier: served,
        choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
        usage: USAGE,
      });
    }
  };
}

describe('priority that is not to be had', () => {
  it.each(['openai', 'plain'])('falls back to the default tier, at its price (%s)', async (dialect) => {
    await using upstream = await startUpstream(withoutPriority());
    const router = createRouter({
      providers: [
        openaiCompatible({
          slug: 'acme',
          baseURL: upstream.baseURL,
          quirks: { serviceTiers: ['default', 'priority', 'flex'] },
          models: {
            'acme/one':
              dialect === 'plain' ? [{}, { tier: 'priority' }] : [{ price: CHEAP }, { price: DEAR, tier: 'priority' }],
          },
        }),
      ],
      on: { warning: () => {} },
    });
    const result = await router.chat({
      model: 'acme/one',
      service_tier: 'priority',
      messages: [{ role: 'user', content: 'Hi' }],
    });
    expect(result.choices[0]?.message.content).toBe('Hello');
    expect(upstream.requests.map(({ body }) => body['service_tier'])).toEqual(['priority', undefined]);
    if (dialect !== 'plain') expect(result.usage?.cost).toBe(0.015);
    await router.close();
  });

  it('is not fallen back from where only the tier was allowed', async () => {
    await using upstream = await startUpstream(withoutPriority());
    const router = createRouter({
      providers: [
        openaiCompatible({
          slug: 'acme',
          baseURL: upstream.baseURL,
          quirks: { serviceTiers: ['default', 'priority'] },
          models: { 'acme/one': [{}, { tier: 'priority' }] },
        }),
      ],
      fallback: { triesPerEndpoint: 1 },
      on: { warning: () => {} },
    });
    const messages = [{ role: 'user' as const, content: 'Hi' }];
    const only = router.chat({ model: 'acme/one', provider: { only: ['acme/priority'] }, messages });
    await expect(only).rejects.toMatchObject({ status: 503 });
    expect(upstream.requests.map(({ body }) => body['service_tier'])).toEqual(['priority']);
    const ordered = await router.chat({ model: 'acme/one', provider: { order: ['acme/priority'] }, messages });
    expect(ordered.choices[0]?.message.content).toBe('Hello');
    await router.close();
  });

  it('reserves of a budget what the tier of the endpoint costs', () => {
    const scene = serving({ acme: [{ price: CHEAP }, { price: DEAR, tier: 'priority' }] });
    const request = scene.request({ service_tier: 'priority', max_tokens: 10 });
    const reserved = scene
      .plan({ service_tier: 'priority', max_tokens: 10 })
      .steps.map(({ endpoint }) => [endpoint.tier, mostCost(request, endpoint, 10)?.nanoUsd]);
    expect(reserved).toEqual([
      ['priority', 40_000_000],
      ['default', 20_000_000],
    ]);
  });
});

/** Answers of each wire, in which the provider says that it served in a tier of this name. */
const WIRES: Readonly<
  Record<string, { readonly answer: (tier: string) => object; readonly provider: (baseURL: string) => Provider }>
> = {
  'OpenAI-compatible': {
    answer: (tier) => ({
      service_tier: tier,
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
      usage: USAGE,
    }),
    provider: (baseURL) => openaiCompatible({ slug: 'acme', baseURL, models: MODELS }),
  },
  Anthropic: {
    answer: messageOf,
    provider: (baseURL) => anthropic({ slug: 'acme', baseURL, apiKey: 'key-of-a-test', models: MODELS }),
  },
  Google: {
    answer: (tier) => ({
      candidates: [{ content: { parts: [{ text: 'Hello' }], role: 'model' }, finishReason: 'STOP' }],
      usageMetadata: {
        promptTokenCount: 10,
        candidatesTokenCount: 5,
        totalTokenCount: 15,
        serviceTier: tier.toUpperCase(),
      },
    }),
    provider: (baseURL) => google({ slug: 'acme', baseURL, apiKey: 'key-of-a-test', models: MODELS }),
  },
  'AI SDK': {
    answer: messageOf,
    provider: (baseURL) => {
      const model = createAnthropic({ baseURL, apiKey: 'key-of-a-test' })('one');
      return fromAiSdk({ slug: 'acme', models: { 'acme/one': { ...MODELS['acme/one'], model } } });
    },
  },
};

const MODELS = { 'acme/one': { price: { ...DEAR, serviceTiers: { priority: 2, flex: 0.5 } } } };

describe.each(Object.entries(WIRES))('a tier that a provider names: %s', (_name, { answer, provider }) => {
  async function ask(tier: string) {
    await using upstream = await startUpstream((_request, response) => sendJson(response, 200, answer(tier)));
    const router = createRouter({ providers: [provider(upstream.baseURL)], on: { warning: () => {} } });
    try {
      return await router.chat({ model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }] });
    } finally {
      await router.close();
    }
  }

  it('is the default one when it calls it standard', async () => {
    expect((await ask('standard')).service_tier).toBe('default');
  });

  it('is the one that is paid for', async () => {
    // 15 tokens at 2,000 USD per million, and twice that.
    const [standard, priority] = [await ask('standard'), await ask('priority')];
    expect(standard.usage?.cost).toBe(0.03);
    expect([priority.service_tier, priority.usage?.cost]).toEqual(['priority', 0.06]);
  });
});

describe('a tier that a provider calls standard', () => {
  it('is the default one', async () => {
    await using upstream = await startUpstream(withoutPriority('standard'));
    const router = createRouter({
      providers: [openaiCompatible({ slug: 'acme', baseURL: upstream.baseURL, models: { 'acme/one': {} } })],
      on: { warning: () => {} },
    });
    const request = { model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }] } as const;
    expect((await router.chat(request)).service_tier).toBe('default');
    const tiers = [];
    for await (const chunk of router.stream(request)) if ('service_tier' in chunk) tiers.push(chunk.service_tier);
    expect(tiers).toEqual(['default']);
    await router.close();
  });
});
