import {
  createProviderRegistry,
  embed,
  embedMany,
  type EmbeddingModel,
  generateText,
  type LanguageModel,
  streamText,
} from 'ai';
import { createRouter, openaiCompatible } from 'signalbox';
import { type AiSdkProvider, aiSdkProvider, type SignalboxProviderOptions } from 'signalbox/ai-sdk';
import { describe, expect, it } from 'vitest';
import { startUpstream } from '../support/upstream.ts';

const VERSIONS = ['v2', 'v3', 'v4'] as const;

describe('models of the router in the AI SDK', () => {
  it.each(VERSIONS)(
    'may be router models and aliases, also by name through the default provider (%s)',
    async (specification) => {
      await using upstream = await startUpstream();
      const models = { 'acme/one': { price: { prompt: 1_000, completion: 2_000 } }, 'acme/two': {} };
      const router = createRouter({
        providers: [openaiCompatible({ slug: 'acme', baseURL: upstream.baseURL, models })],
        aliases: { main: 'acme/one' },
      });
      const provider = aiSdkProvider(router, { specification });
      const aliased = await generateText({ model: provider('main') as LanguageModel, prompt: 'Hi' });
      expect(aliased.providerMetadata?.['signalbox']).toMatchObject({ model: 'acme/one' });
      const chosen = await generateText({ model: provider('router/auto') as LanguageModel, prompt: 'Hi' });
      expect(chosen.text).toBe('Hello there');
      expect(chosen.providerMetadata?.['signalbox']).toMatchObject({ model: expect.stringMatching(/^acme\//) });
      const registry = createProviderRegistry({ signalbox: provider as AiSdkProvider<string, 'v4'> });
      expect((await generateText({ model: registry.languageModel('signalbox:main'), prompt: 'Hi' })).text).toBe(
        'Hello there',
      );
      globalThis.AI_SDK_DEFAULT_PROVIDER = provider as AiSdkProvider<string, 'v4'>;
      try {
        expect((await generateText({ model: 'main', prompt: 'Hi' })).text).toBe('Hello there');
        expect(await streamText({ model: 'router/auto', prompt: 'Hi' }).text).toBe('Hello there');
      } finally {
        globalThis.AI_SDK_DEFAULT_PROVIDER = undefined;
        await router.close();
      }
    },
  );

  it.each(VERSIONS)('embed one text and many, with what was decided (%s)', async (specification) => {
    const router = createRouter();
    const provider = aiSdkProvider(router, { specification });
    const model = provider.embeddingModel('simulated/embedding') as EmbeddingModel;
    const one = await embed({ model, value: 'one' });
    expect(one.providerMetadata?.['signalbox']).toMatchObject({
      model: 'simulated/embedding',
      provider: expect.any(String),
      cost: expect.any(Number),
      routerMetadata: { attempts: [{ status: 200 }] },
    });
    const { embeddings } = await embedMany({
      model,
      values: Array.from({ length: 300 }, (_, index) => `text ${index}`),
    });
    expect(embeddings).toHaveLength(300);
    expect(await embed({ model: provider.textEmbeddingModel('simulated/embedding'), value: 'one' })).toMatchObject({
      embedding: one.embedding,
    });
    await router.close();
  });

  it('fall back, and say every attempt, streamed and not', async () => {
    await using broken = await startUpstream((_, response) => void response.writeHead(503).end());
    await using sound = await startUpstream();
    const router = createRouter({
      providers: [
        openaiCompatible({ slug: 'broken', baseURL: broken.baseURL, models: { 'acme/one': {} } }),
        openaiCompatible({
          slug: 'sound',
          baseURL: sound.baseURL,
          models: { 'acme/two': { price: { prompt: 1_000, completion: 1_000 } } },
        }),
      ],
    });
    const model = aiSdkProvider(router)('acme/one');
    const own: SignalboxProviderOptions = { models: ['acme/two'], session_id: 's1', provider: { sort: 'price' } };
    const options = { model, prompt: 'Hi', providerOptions: { signalbox: own } };
    const about = {
      model: 'acme/two',
      provider: 'sound',
      cost: expect.any(Number),
      routerMetadata: {
        attempts: expect.arrayContaining([
          { provider: 'broken', model: 'acme/one', status: 503 },
          { provider: 'sound', model: 'acme/two', status: 200 },
        ]),
      },
    };
    expect((await generateText(options)).providerMetadata?.['signalbox']).toMatchObject(about);
    expect((await streamText(options).providerMetadata)?.['signalbox']).toMatchObject(about);
    await router.close();
  });
});
