import * as fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { ModelFacts } from '../../src/catalog/facts.ts';
import { parseModelsDev } from '../../src/catalog/models-dev.ts';
import { checkCatalogLock } from '../../src/protocol/catalog-lock.ts';
import { runs } from '../support/properties.ts';

const FIXTURE: unknown = JSON.parse(
  readFileSync(new URL('../fixtures/catalog/models-dev.json', import.meta.url), 'utf8'),
);

function modelOf(slug: string, name: string, json: unknown = FIXTURE): ModelFacts {
  const model = parseModelsDev(json, '2026-11-20').vendors[slug]?.[name];
  if (model === undefined) throw new Error('is in the fixture');
  return model;
}

/** The endpoint of a model of one vendor that is written like this. */
function endpointOf(model: object): ModelFacts['endpoint'] {
  return modelOf('groq', 'one', { groq: { models: { one: model } } }).endpoint;
}

describe('facts of models.dev', () => {
  it('are told under our names of the vendors we know, and only of those', () => {
    const { vendors, origins } = parseModelsDev(FIXTURE, '2026-11-20');
    expect(Object.keys(vendors)).toEqual(['openai', 'together']);
    expect(origins).toEqual([{ source: 'models.dev', date: '2026-11-20', licence: 'MIT' }]);
  });

  it('are told of other vendors under the name that the source has for them', () => {
    const { vendors } = parseModelsDev(FIXTURE, '2026-11-20', ['somebody-else', 'together', 'nobody']);
    expect(Object.keys(vendors)).toEqual(['somebody-else', 'together']);
  });

  it('hold everything that is said of a model', () => {
    expect(modelOf('openai', 'north-1')).toEqual({
      info: {
        name: 'North 1',
        created: Date.UTC(2026, 4, 4) / 1_000,
        family: 'north',
        knowledgeCutoff: '2026-03',
      },
      endpoint: {
        price: {
          prompt: 2,
          completion: 10,
          cacheRead: 0.2,
          cacheWrite: 2.5,
          reasoning: 12,
          above: [{ promptTokens: 272_000, prompt: 4, completion: 15, cacheRead: 0.4 }],
          serviceTiers: { priority: { prompt: 4, completion: 20 } },
        },
        contextLength: 400_000,
        maxPromptTokens: 272_000,
        maxOutputTokens: 128_000,
        abilities: {
          tools: true,
          reasoning: true,
          structured_outputs: true,
          response_format: true,
          temperature: false,
        },
        inputModalities: ['text', 'image', 'file'],
        outputModalities: ['text'],
        reasoning: { efforts: ['high', 'medium', 'low'] },
      },
      from: {
        name: 0,
        created: 0,
        family: 0,
        knowledgeCutoff: 0,
        price: 0,
        contextLength: 0,
        maxPromptTokens: 0,
        maxOutputTokens: 0,
        abilities: 0,
        inputModalities: 0,
        outputModalities: 0,
        reasoning: 0,
      },
    });
  });

  it('know sound, models on their way out, and that a missing ability has no details either', () => {
    expect(modelOf('openai', 'north-voice')).toMatchObject({
      info: { status: 'deprecated', created: Date.UTC(2025, 10, 1) / 1_000 },
      endpoint: {
        price: { audioPrompt: 40, audioCompletion: 80 },
        abilities: {
          tools: false,
          tool_choice: false,
          parallel_tool_calls: false,
          reasoning: false,
          reasoning_effort: false,
        },
        inputModalities: ['text', 'audio'],
      },
    });
    expect(modelOf('openai', 'north-voice').endpoint).not.toHaveProperty('maxOutputTokens');
  });

  it('take the older form of rates for long prompts where there is no newer one', () => {
    expect(modelOf('together', 'acme/south-70b').endpoint?.price?.above).toEqual([
      { promptTokens: 200_000, prompt: 1.6, completion: 1.6 },
    ]);
  });

  it('say that embeddings come out of an embedding model, and no text', () => {
    const { endpoint } = modelOf('openai', 'north-embedding-small');
    expect(endpoint?.outputModalities).toEqual(['embeddings']);
    expect(endpoint).toMatchObject({ price: { prompt: 0.02, completion: 0 }, inputModalities: ['text'] });
  });

  it('leave unknown what is not said or makes no sense', () => {
    const { info, endpoint } = modelOf('openai', 'north-secret');
    expect(info).toEqual({ name: 'North Secret' });
    expect(endpoint).toEqual({ abilities: { tools: true, reasoning: true }, inputModalities: ['text'] });
  });

  it.each([[{ input: -1, output: 1 }], [{ input: '1', output: 1 }], [{ output: 1 }], [{}], [null], [[1, 2]]])(
    'have no price where the cost is %j',
    (cost) => {
      expect(endpointOf({ cost, limit: { context: 5 } })).toEqual({ contextLength: 5 });
    },
  );

  it('never fail, and always are what a lock file may hold, whatever they are read from', () => {
    const model = fc.oneof(
      fc.jsonValue(),
      fc.record(
        {
          name: fc.jsonValue(),
          release_date: fc.oneof(fc.jsonValue(), fc.constant('2026-01-01')),
          tool_call: fc.oneof(fc.boolean(), fc.jsonValue()),
          reasoning_options: fc.oneof(
            fc.jsonValue(),
            fc.array(fc.record({ type: fc.constant('effort'), values: fc.jsonValue() })),
          ),
          modalities: fc.oneof(fc.jsonValue(), fc.record({ input: fc.jsonValue(), output: fc.jsonValue() })),
          limit: fc.oneof(fc.jsonValue(), fc.record({ context: fc.jsonValue(), output: fc.double() })),
          cost: fc.oneof(
            fc.jsonValue(),
            fc.record({
              input: fc.double(),
              output: fc.oneof(fc.integer(), fc.jsonValue()),
              tiers: fc.oneof(fc.jsonValue(), fc.array(fc.record({ input: fc.double(), tier: fc.jsonValue() }))),
              context_over_200k: fc.jsonValue(),
            }),
          ),
          experimental: fc.oneof(fc.jsonValue(), fc.record({ modes: fc.jsonValue() })),
        },
        { requiredKeys: [] },
      ),
    );
    const vendor = fc.oneof(
      fc.jsonValue(),
      fc.record({
        models: fc.oneof(fc.jsonValue(), fc.dictionary(fc.oneof(fc.string(), fc.constant('__proto__')), model)),
      }),
    );
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fc.record({ openai: vendor, togetherai: vendor })), (json) => {
        const facts = parseModelsDev(json, '2026-11-20');
        expect(checkCatalogLock(JSON.parse(JSON.stringify(facts)))).toEqual({ ok: true });
      }),
      runs(1_000),
    );
  });
});
