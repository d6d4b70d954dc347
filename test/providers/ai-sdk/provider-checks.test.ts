import { createGoogle } from '@ai-sdk/google';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { providerChecks } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { AI_SDK_PACKAGES, aiSdkEmbeddingHarness, aiSdkHarness } from '../../support/ai-sdk-harness.ts';

/**
 * What is not in our hands: where bytes are cut, and what a stream is, is decided by the SDK's own reader of events.
 * And there is no answer without usage on the wires of Anthropic and Mistral.
 */
const NOT_OURS = /takes a non-streaming response to a request for a stream|wherever the bytes of a stream are cut/;
const ALWAYS_COUNTED = /makes up no tokens/;

describe.each(Object.entries(AI_SDK_PACKAGES))('a model of @ai-sdk/%s as an upstream', (name, one) => {
  const counts = name === 'anthropic' || name === 'mistral';
  const all = providerChecks.filter(({ needs }) => !needs.includes('embeddings'));
  const checks = all.filter(({ name: check }) => !NOT_OURS.test(check) && !(counts && ALWAYS_COUNTED.test(check)));

  it.each(checks.map((check) => [check.name, check] as const))('%s', async (_check, { run }) => {
    await using harness = await aiSdkHarness(one);
    await run(harness);
  });

  it('leaves out only those', () => {
    expect(all.length - checks.length).toBe(counts ? 3 : 2);
  });
});

const EMBEDDING_MODELS = {
  'openai-compatible': (baseURL: string, apiKey: string) =>
    createOpenAICompatible({ name: 'own-server', baseURL, apiKey }).embeddingModel('one'),
  google: (baseURL: string, apiKey: string) => createGoogle({ baseURL, apiKey }).embeddingModel('gemini-embedding-001'),
};

describe.each(Object.entries(EMBEDDING_MODELS))('an embedding model of @ai-sdk/%s as an upstream', (name, model) => {
  const checks = providerChecks.filter(({ needs }) => needs.includes('embeddings'));

  it.each(checks.map((check) => [check.name, check] as const))('%s', async (_check, { run }) => {
    await using harness = await aiSdkEmbeddingHarness(
      AI_SDK_PACKAGES[name as keyof typeof EMBEDDING_MODELS].wire,
      model,
    );
    await run(harness);
  });
});
