import { describe, expect, it } from 'vitest';
import { planRoute } from '../../../src/core/selection/plan-route.ts';
import { explainNoRoute } from '../../../src/core/selection/no-route.ts';
import { DEFAULT_SELECTION_POLICY, type SelectionPolicy } from '../../../src/core/selection/world.ts';
import type { EmbeddingRequest } from '../../../src/protocol/embedding.ts';
import { type Offers, factsOver, normalizedOver } from '../../support/embedding-requests.ts';
import { reasonsOf, sceneOf, worldOf } from '../../support/requests.ts';

const EMBEDS = { outputModalities: ['embeddings'] } as const;
const CHATS = { outputModalities: ['text'] } as const;
const DOES_BOTH = { outputModalities: ['text', 'embeddings'] } as const;

/** Providers that would be asked for embeddings, and why others would not. */
function planned(
  offers: Offers,
  request: Partial<EmbeddingRequest> = {},
  policy: Partial<SelectionPolicy> = {},
): { readonly tags: readonly string[]; readonly rejected: Readonly<Record<string, string>>; readonly error: string } {
  const checked = normalizedOver(factsOver(offers), request);
  if (!checked.ok) throw new Error(checked.fault.message);
  const selection: SelectionPolicy = { ...DEFAULT_SELECTION_POLICY, ...policy };
  const plan = planRoute(checked.value, worldOf({ policy: selection }));
  const error = plan.steps.length > 0 ? '' : explainNoRoute(plan, checked.value, 'docs').message;
  return { tags: plan.steps.map(({ endpoint }) => endpoint.tag), rejected: reasonsOf(plan), error };
}

function faultOf(offers: Offers, request: Partial<EmbeddingRequest>): unknown {
  const checked = normalizedOver(factsOver(offers, { routerModels: new Set(['router/auto']) }), request);
  return checked.ok ? undefined : { ...checked.fault, availability: checked.fault.availability?.code };
}

describe('a normalised request for embeddings', () => {
  it('has everything that nobody said', () => {
    const checked = normalizedOver(factsOver({ up: { 'acme/embed': EMBEDS } }), { input: ['Hello there', 'x'] });
    expect(checked).toMatchObject({
      ok: true,
      value: {
        operation: 'embeddings',
        stream: false,
        requested: 'acme/embed',
        inputs: ['Hello there', 'x'],
        encodingFormat: 'float',
        dimensions: undefined,
        likelyTokens: 4,
        needs: { inputModalities: [], outputModalities: [], tools: false, parameters: [], promptTokens: 1, images: 0 },
        session: {},
        endUser: 'user_test',
        extra: {},
      },
    });
  });

  it('counts tokens exactly where the caller sent tokens, and each input by itself for the context', () => {
    const checked = normalizedOver(factsOver({ up: { 'acme/embed': EMBEDS } }), { input: [[1, 2, 3], [4]] });
    expect(checked).toMatchObject({ ok: true, value: { likelyTokens: 4, needs: { promptTokens: 3 } } });
  });

  it('takes its session from the body before the header', () => {
    const facts = factsOver({ up: { 'acme/embed': EMBEDS } });
    expect(normalizedOver(facts, {}, { sessionHeader: 'header' })).toMatchObject({
      value: { session: { id: 'header' } },
    });
    expect(normalizedOver(facts, { session_id: 'body' }, { sessionHeader: 'header' })).toMatchObject({
      value: { session: { id: 'body' } },
    });
  });

  it.each<readonly [string, Partial<EmbeddingRequest>, object]>([
    ['no model', { model: null }, { status: 400, path: 'model', message: 'model is required: No models provided.' }],
    [
      'a model that nobody knows',
      { model: 'acme/other' },
      { status: 400, path: 'model', availability: 'model_not_found' },
    ],
    [
      'a model that only chats',
      { model: 'acme/chat' },
      {
        status: 400,
        path: 'model',
        availability: 'wrong_endpoint',
        message: expect.stringContaining('acme/chat makes no embeddings') as string,
      },
    ],
    [
      'a model that only chats among the fallbacks',
      { models: ['acme/chat'] },
      { status: 400, path: 'models[0]', availability: 'wrong_endpoint' },
    ],
    [
      'a model of a provider that cannot embed',
      { model: 'acme/quiet' },
      { status: 400, availability: 'wrong_endpoint' },
    ],
    ['a model that chooses others', { model: 'router/auto' }, { status: 400, availability: 'wrong_endpoint' }],
    ['free models at random', { model: 'router/free' }, { status: 400, availability: 'wrong_endpoint' }],
    ['a web search', { model: 'acme/embed:online' }, { status: 400, path: 'model' }],
  ])('is refused with %s', (_name, request, fault) => {
    const offers = { up: { 'acme/embed': EMBEDS, 'acme/chat': CHATS }, silent: { 'acme/quiet': {} } };
    expect(faultOf(offers, request)).toMatchObject(fault);
  });
});

describe('the plan for embeddings', () => {
  it('has the endpoints that declare them, and those of which nobody knows', () => {
    const offers = {
      both: { 'acme/embed': DOES_BOTH },
      chat: { 'acme/embed': CHATS },
      embed: { 'acme/embed': EMBEDS },
      silent: { 'acme/embed': {} },
      unknown: { 'acme/embed': {} },
    };
    const { tags, rejected } = planned(offers);
    expect([...tags].sort()).toEqual(['both', 'embed', 'unknown']);
    expect(rejected).toEqual({ chat: 'output_modality', silent: 'output_modality' });
    const strict = planned(offers, {}, { unknownCapability: 'exclude' });
    expect([...strict.tags].sort()).toEqual(['both', 'embed']);
  });

  it('leaves out endpoints where the length of vectors cannot be chosen, and says so', () => {
    const offers = {
      fixed: { 'acme/embed': { ...EMBEDS, parameters: [] } },
      free: { 'acme/embed': { ...EMBEDS, parameters: ['dimensions'] } },
      unknown: { 'acme/embed': EMBEDS },
    } as const;
    expect(planned(offers).tags).toHaveLength(3);
    // What is known of single parameters says nothing about the others.
    const partly = { partly: { 'acme/embed': { ...EMBEDS, abilities: { temperature: false } } } };
    expect(planned(partly, { dimensions: 64 }).tags).toEqual(['partly']);
    expect(planned(partly, { dimensions: 64 }, { unknownCapability: 'exclude' }).tags).toEqual([]);
    const { tags, rejected } = planned(offers, { dimensions: 64 });
    expect([...tags].sort()).toEqual(['free', 'unknown']);
    expect(rejected).toEqual({ fixed: 'dimensions' });
    expect(planned({ fixed: offers.fixed }, { dimensions: 64 }).error).toBe(
      'No endpoints found for acme/embed that satisfy dimensions (they cannot be chosen there)',
    );
  });

  it('obeys the same preferences as that of a chat', () => {
    const offers = {
      cheap: { 'acme/embed': { ...EMBEDS, price: { prompt: 0.01, completion: 0 } } },
      dear: { 'acme/embed': { ...EMBEDS, price: { prompt: 1, completion: 0 }, zeroDataRetention: true } },
    };
    expect(planned(offers, { provider: { sort: 'price' } }).tags).toEqual(['cheap', 'dear']);
    expect(planned(offers, { provider: { order: ['dear'] } }).tags).toEqual(['dear', 'cheap']);
    expect(planned(offers, { provider: { zdr: true } }).tags).toEqual(['dear']);
    expect(planned(offers, { provider: { max_price: { prompt: 0.1 } } }).tags).toEqual(['cheap']);
    expect(planned(offers, { provider: { order: ['dear'], allow_fallbacks: false } }).tags).toEqual(['dear']);
    expect(
      planned(
        { typeless: { 'acme/embed': { ...EMBEDS, parameters: [] } } },
        {
          input_type: 'query',
          provider: { require_parameters: true },
        },
      ).rejected,
    ).toEqual({ typeless: 'require_parameters' });
  });

  it('holds each input to the context by itself', () => {
    const offers = { up: { 'acme/embed': { ...EMBEDS, contextLength: 3 } } };
    expect(
      planned(offers, {
        input: [
          [1, 2, 3],
          [4, 5, 6],
        ],
      }).tags,
    ).toEqual(['up']);
    expect(planned(offers, { input: [[1, 2, 3, 4]] }).error).toContain('Split the longest input into several.');
  });

  it('needs an endpoint that takes pictures for pictures', () => {
    const input = [{ content: [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }] }] as const;
    const offers = {
      text: { 'acme/embed': { ...EMBEDS, inputModalities: ['text'] } },
      vision: { 'acme/embed': { ...EMBEDS, inputModalities: ['text', 'image'] } },
    } as const;
    expect(planned(offers, { input })).toMatchObject({ tags: ['vision'], rejected: { text: 'input_modality' } });
  });
});

describe('the plan for a chat', () => {
  const scene = sceneOf({
    providers: {
      embed: { 'acme/one': EMBEDS, 'acme/embed': EMBEDS },
      both: { 'acme/one': DOES_BOTH },
      unknown: { 'acme/one': {} },
    },
  });

  it('has no endpoint that makes nothing but embeddings', () => {
    const plan = scene.plan();
    expect(plan.steps.map(({ endpoint }) => endpoint.tag).sort()).toEqual(['both', 'unknown']);
    expect(reasonsOf(plan)).toEqual({ embed: 'output_modality' });
  });

  it('does not begin for a model that nobody chats with', () => {
    expect(scene.fault({ model: 'acme/embed' })).toMatchObject({
      status: 400,
      path: 'model',
      message: 'acme/embed only makes embeddings: use POST /embeddings, or a chat model here',
      availability: { code: 'wrong_endpoint', retryable: false },
    });
  });
});
