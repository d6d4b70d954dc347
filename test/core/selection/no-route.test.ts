import { describe, expect, it } from 'vitest';
import { type NoRoute, explainNoRoute } from '../../../src/core/selection/no-route.ts';
import type { ChatRequest } from '../../../src/protocol/chat-request.ts';
import { type Asking, type Scene, sceneOf, serving } from '../../support/requests.ts';

const TOOLS: Partial<ChatRequest> = { tools: [{ type: 'function', function: { name: 'look_up' } }] };
const IMAGE = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } } as const;

const scene = serving({
  alpha: {
    price: { prompt: 1, completion: 1 },
    dataCollection: true,
    quantization: 'fp8',
    parameters: ['temperature', 'tools'],
    toolChoices: ['auto'],
    inputModalities: ['text'],
    outputModalities: ['text'],
    maxOutputTokens: 100,
    contextLength: 1_000,
    reasoning: { mandatory: true },
  },
  beta: { price: { prompt: 2, completion: 2 }, dataCollection: true, parameters: ['temperature'] },
});

function explained(where: Scene, body: Partial<ChatRequest>, asking?: Asking): NoRoute {
  const plan = where.plan(body, {}, asking);
  expect(plan.steps).toEqual([]);
  return explainNoRoute(plan, where.request(body, asking), 'docs');
}

describe('a request that nobody can serve', () => {
  it('because of its lists names who serves the model and who was asked for', () => {
    expect(explained(scene, { provider: { only: ['azure'], order: ['openai', 'azure'] } })).toEqual({
      status: 404,
      errorType: 'not_found',
      message: 'No allowed providers are available for the selected model.',
      metadata: { available_providers: ['alpha', 'beta'], requested_providers: ['azure', 'openai'] },
      availability: {
        code: 'no_endpoints',
        retryable: false,
        requested_models: ['acme/one'],
        docs_url: 'docs#no_endpoints',
        affected_providers: ['alpha', 'beta'],
        excluded_by: ['allowed_providers'],
      },
    });
  });

  it('because of the lists of its account is answered in the same way', () => {
    const { status, message, metadata } = explained(
      scene,
      {},
      { account: { id: 'tester', policy: { only: ['azure'] } } },
    );
    expect({ status, message }).toEqual({
      status: 404,
      message: 'No allowed providers are available for the selected model.',
    });
    expect(metadata).toEqual({ available_providers: ['alpha', 'beta'], requested_providers: ['azure'] });
  });

  const cases: readonly (readonly [string, Partial<ChatRequest>, object])[] = [
    [
      'data collection',
      { provider: { data_collection: 'deny' } },
      { code: 'privacy_restricted', excluded_by: ['data_policy:training'] },
    ],
    ['data retention', { provider: { zdr: true } }, { code: 'privacy_restricted', excluded_by: ['data_policy:zdr'] }],
    [
      'distillation',
      { provider: { enforce_distillable_text: true } },
      {
        code: 'constraint_filtered',
        excluded_by: ['distillable'],
        constraint: { field: 'provider.enforce_distillable_text', detail: 'distillable' },
      },
    ],
    [
      'prices',
      { provider: { max_price: { prompt: 0.5 } } },
      {
        code: 'constraint_filtered',
        excluded_by: ['max_price'],
        constraint: { field: 'provider.max_price', detail: 'prompt 1' },
      },
    ],
    [
      'quantizations',
      { provider: { quantizations: ['int4'] } },
      {
        code: 'constraint_filtered',
        excluded_by: ['quantization'],
        constraint: { field: 'provider.quantizations', detail: 'fp8' },
      },
    ],
    [
      'required parameters',
      { top_k: 3, provider: { require_parameters: true } },
      {
        code: 'constraint_filtered',
        excluded_by: ['require_parameters'],
        constraint: { field: 'provider.require_parameters', detail: 'top_k' },
      },
    ],
    [
      'an order without fallbacks',
      { provider: { order: ['azure'], allow_fallbacks: false } },
      {
        code: 'constraint_filtered',
        excluded_by: ['allow_fallbacks'],
        constraint: { field: 'provider.allow_fallbacks', detail: 'allow_fallbacks' },
      },
    ],
  ];
  it.each(cases)('because of %s says so', (_name, body, expected) => {
    const { status, errorType, availability } = explained(scene, body);
    expect({ status, errorType }).toEqual({ status: 404, errorType: 'not_found' });
    expect(availability).toMatchObject({ retryable: false, requested_models: ['acme/one'], ...expected });
    expect(availability?.docs_url).toBe(`docs#${availability?.code}`);
  });

  const features: readonly (readonly [Partial<ChatRequest>, string])[] = [
    [{ messages: [{ role: 'user', content: [IMAGE] }] }, 'No endpoints found that support image input'],
    [{ modalities: ['audio'] }, 'No endpoints found that support audio output'],
    [{ ...TOOLS, provider: { only: ['beta'] } }, 'No endpoints found that support tool use. Try disabling "look_up".'],
    [
      { ...TOOLS, tool_choice: 'required', provider: { only: ['alpha'] } },
      `No endpoints found that support the provided 'tool_choice' value "required"`,
    ],
  ];
  it.each(features)('because of a feature names the feature: %j', (body, message) => {
    const only = { ...body.provider, only: body.provider?.only ?? ['alpha'] };
    const found = explained(scene, { ...body, provider: only });
    expect(found).toMatchObject({ status: 404, message, availability: { code: 'no_endpoints' } });
  });

  it('because it switches mandatory reasoning off is a mistake of the caller', () => {
    const body: Partial<ChatRequest> = { reasoning: { effort: 'none' }, provider: { only: ['alpha'] } };
    expect(explained(scene, body)).toMatchObject({
      status: 400,
      errorType: 'invalid_request',
      message: 'acme/one always reasons: reasoning.effort must not be "none"',
    });
  });

  it('because it is too long gives the numbers', () => {
    const body: Partial<ChatRequest> = {
      messages: [{ role: 'user', content: 'x'.repeat(8 * 960) }],
      max_tokens: 50,
      provider: { only: ['alpha'] },
    };
    const found = explained(scene, body);
    expect(found).toMatchObject({
      status: 400,
      errorType: 'context_length_exceeded',
      metadata: { provider_name: null },
    });
    expect(found.message).toContain('1000 tokens');
    expect(found.message).toContain('1010 (960 of text input, 50 in the output)');
    expect(found.message).toContain('context-compression');
  });

  it('because its model has no endpoint at all says just that', () => {
    const empty = sceneOf({ providers: { alpha: { 'acme/one': {} } }, models: { 'acme/planned': {} } });
    expect(explained(empty, { model: 'acme/planned' })).toMatchObject({
      status: 404,
      message: 'No endpoints found for acme/planned',
      availability: { code: 'no_endpoints' },
    });
  });

  it('tells the last obstacle of the endpoint that came furthest', () => {
    const body: Partial<ChatRequest> = {
      provider: { ignore: ['beta'], max_price: { prompt: 5 } },
      max_tokens: 101,
    };
    expect(explained(scene, body).availability).toMatchObject({
      code: 'constraint_filtered',
      excluded_by: ['max_output_tokens', 'allowed_providers'],
      constraint: { field: 'max_completion_tokens', detail: '100' },
    });
  });

  it('with several models names all of them', () => {
    const two = sceneOf({ providers: { alpha: { 'acme/one': {}, 'acme/two': {} } } });
    const body = { model: 'acme/one', models: ['acme/two'], provider: { only: ['nobody'] } };
    expect(explained(two, body).availability?.requested_models).toEqual(['acme/one', 'acme/two']);
  });

  it('because of a service tier is told the field', () => {
    const flexible = serving({ alpha: { tier: 'priority' } });
    expect(explained(flexible, {}).availability?.constraint).toEqual({ field: 'service_tier', detail: 'priority' });
  });
});
