import * as fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { ModelFacts } from '../../src/catalog/facts.ts';
import { parseLiteLlm } from '../../src/catalog/litellm.ts';
import { checkCatalogLock } from '../../src/protocol/catalog-lock.ts';
import { runs } from '../support/properties.ts';

/** Written by hand in the form of the source, with the fields that its schema names. */
const FIXTURE: unknown = JSON.parse(readFileSync(new URL('../fixtures/catalog/litellm.json', import.meta.url), 'utf8'));

function modelOf(slug: string, name: string, json: unknown = FIXTURE): ModelFacts {
  const model = parseLiteLlm(json, '2026-11-20', [slug]).vendors[slug]?.[name];
  if (model === undefined) throw new Error('is in the fixture');
  return model;
}

/** The endpoint of a model that is written like this. */
function endpointOf(model: object): ModelFacts['endpoint'] {
  const whole = { litellm_provider: 'groq', mode: 'chat', ...model };
  return modelOf('groq', 'one', { 'groq/one': whole }).endpoint;
}

describe('facts of LiteLLM', () => {
  it('are told under our names of the vendors we know, and only of those', () => {
    const { vendors, origins } = parseLiteLlm(FIXTURE, '2026-11-20');
    const names = Object.entries(vendors).map(([slug, models]) => [slug, Object.keys(models)]);
    expect(names).toEqual([
      ['openai', ['vectors-1', 'south-1']],
      ['anthropic', ['north-1']],
      ['google', ['east-1']],
      ['deepseek', ['west']],
      ['qwen', ['tiers']],
    ]);
    expect(origins).toEqual([{ source: 'litellm', date: '2026-11-20', licence: 'MIT' }]);
  });

  it('hold everything that is said of a model', () => {
    expect(modelOf('anthropic', 'north-1')).toEqual({
      endpoint: {
        price: {
          prompt: 3,
          completion: 15,
          cacheRead: 0.3,
          cacheWrite: 3.75,
          cacheWrite1h: 6,
          webSearch: 0.01,
          above: [
            { promptTokens: 200_000, prompt: 6, completion: 22.5, cacheRead: 0.6, cacheWrite: 7.5, cacheWrite1h: 12 },
          ],
        },
        maxPromptTokens: 200_000,
        maxOutputTokens: 64_000,
        abilities: { tools: true, tool_choice: true, reasoning: true, structured_outputs: true, response_format: true },
      },
      from: { price: 0, maxPromptTokens: 0, maxOutputTokens: 0, abilities: 0 },
    });
  });

  it('know tiers, audio, what is deprecated and what goes in and out', () => {
    const { info, endpoint } = modelOf('openai', 'south-1');
    expect(info).toEqual({ status: 'deprecated' });
    expect(endpoint).toMatchObject({
      price: {
        prompt: 1.1,
        completion: 10,
        audioPrompt: 1.1,
        above: [{ promptTokens: 272_000, prompt: 2.2 }],
        serviceTiers: {
          priority: {
            prompt: 2.2,
            completion: 20,
            cacheRead: 0.25,
            above: [{ promptTokens: 272_000, prompt: 4.4 }],
          },
          batch: { prompt: 0.55, completion: 5 },
        },
      },
      abilities: { tools: true, parallel_tool_calls: true, reasoning: false, reasoning_effort: false },
      inputModalities: ['text', 'image', 'file'],
      outputModalities: ['text'],
    });
    // Searches cost more the more is read: none of the three is the price.
    expect(endpoint?.price).not.toHaveProperty('webSearch');
    expect(modelOf('google', 'east-1').endpoint).toMatchObject({
      price: { prompt: 0.3, completion: 2.5, reasoning: 2.5, audioPrompt: 1 },
      inputModalities: ['text', 'image', 'audio', 'video'],
    });
    expect(modelOf('openai', 'vectors-1').endpoint).toEqual({
      price: { prompt: 0.02, completion: 0 },
      maxPromptTokens: 8_191,
      outputModalities: ['embeddings'],
    });
  });

  it("takes a vendor's own offer where two have one name", () => {
    expect(modelOf('deepseek', 'west').endpoint?.price).toEqual({ prompt: 0.28, completion: 0.42, cacheRead: 0.028 });
  });

  it('know no price where something is billed that is not counted', () => {
    expect(modelOf('dashscope', 'tiers').endpoint).toBeUndefined();
    expect(modelOf('perplexity', 'cites').endpoint).toBeUndefined();
  });

  it.each<readonly [object]>([
    [{ input_cost_per_token: 1e-6 }],
    [{ input_cost_per_token: 1e-6, output_cost_per_token: -1 }],
    [{ input_cost_per_token: '1e-6', output_cost_per_token: 1e-6 }],
    [{ input_cost_per_token: 1e-6, output_cost_per_token: null }],
    [{ input_cost_per_second: 1, output_cost_per_second: 1 }],
  ])('know no price of half a price: %j', (model) => {
    expect(endpointOf(model)?.price).toBeUndefined();
  });

  it('say nothing of what is only left out', () => {
    expect(endpointOf({ supports_vision: true, max_input_tokens: 'many', max_output_tokens: 0 })).toBeUndefined();
  });

  it('are never an error, and always a lock that can be used, whatever the data is', () => {
    const value = fc.jsonValue({ maxDepth: 4 });
    const model = fc.record(
      {
        litellm_provider: fc.constantFrom('openai', 'gemini', 7),
        mode: fc.constantFrom('chat', 'embedding', null),
        input_cost_per_token: fc.oneof(fc.double(), value),
        output_cost_per_token: fc.oneof(fc.double(), value),
        input_cost_per_token_above_128k_tokens: value,
        supported_modalities: value,
        supports_function_calling: value,
        max_input_tokens: value,
        search_context_cost_per_query: value,
        deprecation_date: value,
      },
      { requiredKeys: [] },
    );
    const data = fc.oneof(value, fc.dictionary(fc.string(), fc.oneof(model, value)));
    fc.assert(
      fc.property(data, (json) => {
        const facts: unknown = JSON.parse(JSON.stringify(parseLiteLlm(json, '2026-11-20')));
        expect(checkCatalogLock(facts)).toMatchObject({ ok: true });
      }),
      runs(500),
    );
  });
});
