import { createMistral } from '@ai-sdk/mistral';
import type { LanguageModelV2, LanguageModelV3, LanguageModelV4 } from '@ai-sdk/provider';
import { type AiSdkModel, ConfigError, type Provider, createRouter, fromAiSdk } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { handMade } from '../../support/ai-sdk-models.ts';

/** Everything that is wrong, as it is told. */
function problemsOf(make: () => unknown): string {
  try {
    make();
  } catch (error) {
    if (ConfigError.isInstance(error)) return error.message;
    throw error;
  }
  return '';
}

describe('fromAiSdk', () => {
  it('offers what is declared, and nothing that is not', () => {
    const provider = fromAiSdk({
      slug: 'bedrock',
      models: {
        'anthropic/claude': { model: handMade({ modelId: 'eu.claude' }), contextLength: 200_000, parameters: ['seed'] },
        'amazon/nova': handMade({ modelId: 'eu.nova' }),
      },
    });
    expect(provider).toMatchObject({ slug: 'bedrock', name: 'bedrock' });
    expect(provider.models).toEqual({
      'anthropic/claude': [{ upstreamModel: 'eu.claude', contextLength: 200_000, parameters: ['seed'] }],
      'amazon/nova': [{ upstreamModel: 'eu.nova' }],
    });
    expect(provider.acceptsAnyModel).toBeFalsy();
  });

  it('takes one model, under a name of its own or one that is given', () => {
    const mistral = createMistral({ apiKey: 'k' });
    expect(fromAiSdk(mistral('mistral-small'))).toMatchObject({
      slug: 'mistral',
      models: { 'mistral/mistral-small': [{ upstreamModel: 'mistral-small' }] },
    });
    const named = fromAiSdk(mistral('mistral-small'), {
      id: 'mistralai/small',
      slug: 'eu',
      name: 'Mistral EU',
      price: { prompt: 1, completion: 2 },
      zeroDataRetention: true,
    });
    expect(named).toMatchObject({
      slug: 'eu',
      name: 'Mistral EU',
      models: { 'mistralai/small': [{ price: { prompt: 1, completion: 2 }, zeroDataRetention: true }] },
    });
    expect(fromAiSdk(handMade({ provider: 'Own Server!.chat' })).slug).toBe('own-server');
    expect(fromAiSdk(handMade({ provider: '路.chat' })).slug).toBe('ai-sdk');
  });

  it('knows the ids of its models in the types', async () => {
    const provider = fromAiSdk({ slug: 'sdk', models: { 'acme/one': handMade(), 'acme/two': { model: handMade() } } });
    const typed: Provider<'acme/one' | 'acme/two'> = provider;
    const single: Provider<'acme/three'> = fromAiSdk(handMade(), { slug: 'other', id: 'acme/three' });
    const router = createRouter({ providers: [typed, single] });
    // @ts-expect-error -- nobody serves this model
    const missing = router.chat({ model: 'acme/four', messages: [{ role: 'user', content: 'Hi' }] });
    await expect(missing).rejects.toMatchObject({ status: 400 });
    await router.close();
  });

  it("takes the SDK's own types of every version", () => {
    const take = (model: LanguageModelV2 | LanguageModelV3 | LanguageModelV4): AiSdkModel => model;
    for (const version of ['v2', 'v3', 'v4'] as const) {
      const model = take(handMade({ version }) as unknown as LanguageModelV4);
      expect(fromAiSdk(model, { id: 'acme/one' }).slug).toBe('anthropic');
    }
  });

  it('refuses what is no model, everything at once and with its place', () => {
    const v1 = { ...handMade(), specificationVersion: 'v1' } as unknown as AiSdkModel;
    const nameless = { ...handMade(), modelId: undefined } as unknown as AiSdkModel;
    const text = 'openai/gpt-5' as unknown as AiSdkModel;
    const problems = problemsOf(() =>
      fromAiSdk({
        slug: 'Not A Slug',
        models: {
          'acme/old': v1,
          'acme/text': text,
          'acme/list': [handMade(), { model: nameless }],
          'acme/none': {} as unknown as AiSdkModel,
        },
      }),
    );
    expect(problems.split('\n')).toEqual([
      'providers.Not A Slug.slug must be lower-case letters, digits and dashes.',
      expect.stringMatching(/models\['acme\/old'\]\.model is of version v1 .* v2, v3, v4 are understood\.$/),
      expect.stringMatching(/models\['acme\/text'\] must be a model object such as openai\('openai\/gpt-5'\)/),
      expect.stringMatching(/models\['acme\/list'\]\[1\]\.model must have a provider and a modelId/),
      expect.stringMatching(/models\['acme\/none'\] must be a language or embedding model/),
    ]);
    expect(problemsOf(() => fromAiSdk({ slug: 'sdk', models: {} }))).toMatch(/models must name at least one model/);
    expect(problemsOf(() => fromAiSdk(text))).toMatch(/must be a model object/);
    expect(problemsOf(() => fromAiSdk(undefined as unknown as AiSdkModel))).toMatch(
      /must be a language or embedding model/,
    );
    expect(problemsOf(() => fromAiSdk(v1))).toMatch(/version v1/);
  });
});
