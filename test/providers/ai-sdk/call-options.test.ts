import { describe, expect, it } from 'vitest';
import type { UpstreamCallOptions } from '../../../src/providers/ai-sdk/model.ts';
import { callSchema } from '../../support/ai-sdk-call-schema.ts';
import { type AskingModel, type HandMade, callOf, handMade } from '../../support/ai-sdk-models.ts';
import type { Body } from '../../support/chat-bodies.ts';

/** What a model is called with. */
async function called(body: Body, made: HandMade = {}, asking: AskingModel = {}): Promise<UpstreamCallOptions> {
  const call = await callOf(handMade(made), body, asking);
  callSchema(made.version ?? 'v4').parse(call);
  return call;
}

/** The options that a model's own provider gets. */
async function optionsOf(body: Body, made: HandMade = {}, asking: AskingModel = {}): Promise<unknown> {
  return (await called(body, made, asking)).providerOptions;
}

const TOOL = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } };
const COMPATIBLE = { provider: 'own-server.chat' };

describe('the options of a call', () => {
  it('carry every parameter that the interface knows, under its name there', async () => {
    const call = await called({
      temperature: 0,
      top_p: 0.5,
      top_k: 40,
      presence_penalty: -1,
      frequency_penalty: 1,
      seed: 0,
      stop: 'END',
      max_tokens: 100,
    });
    expect(call).toMatchObject({
      temperature: 0,
      topP: 0.5,
      topK: 40,
      presencePenalty: -1,
      frequencyPenalty: 1,
      seed: 0,
      stopSequences: ['END'],
      maxOutputTokens: 100,
    });
  });

  it('hold nothing that the caller did not set', async () => {
    const call = await called({ top_k: 0 }, COMPATIBLE);
    expect(Object.keys(call).sort()).toEqual(['abortSignal', 'prompt', 'providerOptions']);
    expect(call.providerOptions).toEqual({ ownServer: { user: 'user_check' } });
  });

  it('leave out what the endpoint does not declare', async () => {
    const body = {
      temperature: 1,
      seed: 7,
      max_tokens: 9,
      tools: [TOOL],
      tool_choice: 'required',
      reasoning: { effort: 'high' },
      response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'object' } } },
      logit_bias: { 5: 1 },
    };
    const some = await called(body, COMPATIBLE, { parameters: ['temperature', 'response_format', 'tools'] });
    expect(some).toMatchObject({ temperature: 1, responseFormat: { type: 'json' }, tools: [{ name: 'look' }] });
    expect(some.responseFormat).toEqual({ type: 'json' });
    for (const name of ['seed', 'maxOutputTokens', 'toolChoice', 'reasoning']) expect(some).not.toHaveProperty(name);
    expect(some.providerOptions).toEqual({ ownServer: { user: 'user_check' } });
  });

  it('have tools and choices in the form of the interface', async () => {
    const tools = [
      { ...TOOL, cache_control: { type: 'ephemeral' } },
      { type: 'function', function: { name: 'ring', description: 'Rings', strict: true } },
    ];
    expect((await called({ tools })).tools).toEqual([
      {
        type: 'function',
        name: 'look',
        inputSchema: { type: 'object' },
        providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } },
      },
      {
        type: 'function',
        name: 'ring',
        description: 'Rings',
        inputSchema: { type: 'object', properties: {}, additionalProperties: false },
        strict: true,
      },
    ]);
    expect((await called({ tools }, { version: 'v2' })).tools?.[1]).not.toHaveProperty('strict');
    const choices = [
      ['auto', { type: 'auto' }],
      ['none', { type: 'none' }],
      ['required', { type: 'required' }],
      [
        { type: 'function', function: { name: 'ring' } },
        { type: 'tool', toolName: 'ring' },
      ],
    ];
    for (const [choice, written] of choices) {
      expect((await called({ tools, tool_choice: choice })).toolChoice).toEqual(written);
    }
  });

  it('have the form of the answer', async () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } } };
    const named = { type: 'json_schema', json_schema: { name: 'a', description: 'An a', schema, strict: true } };
    const call = await called({ response_format: named }, COMPATIBLE);
    expect(call.responseFormat).toEqual({ type: 'json', name: 'a', description: 'An a', schema });
    expect(call.providerOptions).toEqual({ ownServer: { strictJsonSchema: true, user: 'user_check' } });
    expect((await called({ response_format: { type: 'json_object' } })).responseFormat).toEqual({ type: 'json' });
    expect(await called({ response_format: { type: 'text' } })).not.toHaveProperty('responseFormat');
    const grammar = { type: 'grammar', grammar: 'root ::= "a"' };
    expect(await optionsOf({ response_format: grammar }, COMPATIBLE)).toMatchObject({
      ownServer: { response_format: grammar },
    });
  });

  it('carry the headers of the declaration, and a signal', async () => {
    const call = await called({}, {}, { headers: { 'x-team': 'signals' } });
    expect(call.headers).toEqual({ 'x-team': 'signals' });
    expect(call.abortSignal?.aborted).toBe(false);
  });
});

describe('parameters without an option', () => {
  const body = {
    logit_bias: { 50256: -100 },
    logprobs: true,
    top_logprobs: 3,
    parallel_tool_calls: false,
    tools: [TOOL],
    verbosity: 'low',
    prediction: { type: 'content', content: 'a' },
    prompt_cache_key: 'k',
    service_tier: 'priority',
    min_p: 0.1,
  };

  it('stand under the names that OpenAI has for them', async () => {
    expect(await optionsOf(body, { provider: 'openai.chat' })).toEqual({
      openai: {
        logitBias: { 50256: -100 },
        logprobs: 3,
        parallelToolCalls: false,
        textVerbosity: 'low',
        prediction: { type: 'content', content: 'a' },
        promptCacheKey: 'k',
        serviceTier: 'priority',
        safetyIdentifier: 'user_check',
      },
    });
    expect(await optionsOf({ logprobs: true }, { provider: 'azure.responses' })).toMatchObject({
      openai: { logprobs: true },
    });
  });

  it('keep their wire names for servers that are compatible', async () => {
    expect(await optionsOf(body, COMPATIBLE)).toEqual({
      ownServer: {
        logit_bias: { 50256: -100 },
        logprobs: true,
        top_logprobs: 3,
        parallel_tool_calls: false,
        verbosity: 'low',
        prediction: { type: 'content', content: 'a' },
        prompt_cache_key: 'k',
        service_tier: 'priority',
        min_p: 0.1,
        user: 'user_check',
      },
    });
    expect(await optionsOf({}, { ...COMPATIBLE, version: 'v3' })).toHaveProperty('own-server');
  });

  it('are left out for providers that have no word for them', async () => {
    expect(await optionsOf(body)).toEqual({
      anthropic: { disableParallelToolUse: true, serviceTier: 'auto', metadata: { userId: 'user_check' } },
    });
    expect(await optionsOf(body, { provider: 'google.generative-ai' })).toEqual({
      google: { serviceTier: 'priority' },
    });
    expect(await optionsOf(body, { provider: 'amazon-bedrock' })).toEqual({ bedrock: { serviceTier: 'priority' } });
    expect(await optionsOf(body, { provider: 'mistral.chat' })).toEqual({
      mistral: { parallelToolCalls: false, promptCacheKey: 'k' },
    });
  });

  it('are sent by the keys of those who speak for others', async () => {
    const keys = [
      ['googleVertex.anthropic.messages', 'anthropic'],
      ['bedrock.anthropic.messages', 'anthropic'],
      ['google.vertex.chat', 'google'],
      ['azure.chat', 'openai'],
      ['groq.chat', 'groq'],
    ] as const;
    for (const [provider, key] of keys) {
      expect(Object.keys((await called({}, { provider })).providerOptions ?? {})).toEqual([key]);
    }
  });

  it('say nothing of parallel calls without tools', async () => {
    expect(await optionsOf({ parallel_tool_calls: false }, COMPATIBLE)).toEqual({ ownServer: { user: 'user_check' } });
  });

  it('ask for the tier of the endpoint', async () => {
    const tiers = [
      ['anthropic.messages', 'default', 'standard_only'],
      ['google.generative-ai', 'flex', 'flex'],
      ['openai.chat', 'priority', 'priority'],
    ] as const;
    for (const [provider, tier, name] of tiers) {
      const [key = ''] = provider.split('.');
      const call = await called({ service_tier: tier }, { provider }, { tier });
      expect(call.providerOptions?.[key]?.['serviceTier']).toBe(name);
    }
  });

  it('make images as Google is asked for them', async () => {
    const image = { modalities: ['text', 'image'], image_config: { aspect_ratio: '16:9', image_size: '2K' } };
    expect(await optionsOf(image, { provider: 'google.generative-ai' })).toEqual({
      google: { responseModalities: ['TEXT', 'IMAGE'], imageConfig: { aspectRatio: '16:9', imageSize: '2K' } },
    });
    expect(await optionsOf(image, COMPATIBLE)).toMatchObject({
      ownServer: { modalities: ['text', 'image'], image_config: { aspect_ratio: '16:9', image_size: '2K' } },
    });
  });

  it('that nobody here knows go to the provider as they are', async () => {
    expect(await optionsOf({ inferenceGeo: 'us' })).toMatchObject({ anthropic: { inferenceGeo: 'us' } });
    expect(await optionsOf({ chat_template: 'a' }, COMPATIBLE)).toMatchObject({ ownServer: { chat_template: 'a' } });
  });

  it('give way to what the declaration sets', async () => {
    const providerOptions = { anthropic: { metadata: { userId: 'all' }, speed: 'fast' }, other: { a: 1 } };
    expect(await optionsOf({ speed: 'standard' }, {}, { providerOptions })).toEqual({
      anthropic: { metadata: { userId: 'all' }, speed: 'fast' },
      other: { a: 1 },
    });
  });
});

describe('reasoning', () => {
  it('is an option of version 4, at the nearest effort that the endpoint knows', async () => {
    expect((await called({ reasoning: { effort: 'xhigh' } })).reasoning).toBe('xhigh');
    expect((await called({ reasoning_effort: 'none' })).reasoning).toBe('none');
    const low = { reasoning: { efforts: ['low', 'medium'], mandatory: true } } as const;
    expect((await called({ reasoning: { effort: 'max' } }, {}, low)).reasoning).toBe('medium');
    expect(await called({})).not.toHaveProperty('reasoning');
  });

  it('is a budget where tokens were named and the provider counts them', async () => {
    const body = { reasoning: { max_tokens: 2_000 }, max_tokens: 8_000 };
    const budgets = [
      ['anthropic.messages', { anthropic: { thinking: { type: 'enabled', budgetTokens: 2_000 } } }],
      ['amazon-bedrock', { bedrock: { reasoningConfig: { type: 'enabled', budgetTokens: 2_000 } } }],
      ['google.vertex', { google: { thinkingConfig: { thinkingBudget: 2_000, includeThoughts: true } } }],
      ['cohere.chat', { cohere: { thinking: { type: 'enabled', tokenBudget: 2_000 } } }],
    ] as const;
    for (const [provider, options] of budgets) {
      const call = await called(body, { provider });
      expect(call.providerOptions).toMatchObject(options);
      expect(call).not.toHaveProperty('reasoning');
    }
    expect((await called(body, COMPATIBLE)).reasoning).toBe('low');
  });

  it.each(['v2', 'v3'] as const)('is an option of the provider in version %s', async (version) => {
    const body = { reasoning: { effort: 'medium' }, max_tokens: 10_000 };
    const efforts = [
      ['anthropic.messages', { anthropic: { thinking: { type: 'enabled', budgetTokens: 5_000 } } }],
      ['google.generative-ai', { google: { thinkingConfig: { thinkingBudget: 5_000, includeThoughts: true } } }],
      ['openai.responses', { openai: { reasoningEffort: 'medium', reasoningSummary: 'auto' } }],
      ['mistral.chat', { mistral: { reasoningEffort: 'high' } }],
      ['xai.chat', { xai: { reasoningEffort: 'medium' } }],
      ['own-server.chat', { 'own-server': { reasoningEffort: 'medium' } }],
    ] as const;
    for (const [provider, options] of efforts) {
      const call = await called(body, { provider, version });
      expect(call.providerOptions).toMatchObject(options);
      expect(call).not.toHaveProperty('reasoning');
    }
    const off = { reasoning: { effort: 'none' } };
    expect(await optionsOf(off, { version })).toMatchObject({ anthropic: { thinking: { type: 'disabled' } } });
    expect(await optionsOf(off, { version, provider: 'google.vertex' })).toMatchObject({
      google: { thinkingConfig: { thinkingBudget: 0 } },
    });
  });

  it('is only shown to who wants to see it', async () => {
    const google = { provider: 'google.generative-ai' };
    expect(await optionsOf({ reasoning: { effort: 'high', exclude: true } }, google)).toEqual({ google: {} });
    expect(await optionsOf({ reasoning: { effort: 'none' } }, google)).toEqual({ google: {} });
    expect(await optionsOf({ reasoning: { summary: 'detailed' } }, { provider: 'openai.responses' })).toMatchObject({
      openai: { reasoningSummary: 'detailed' },
    });
  });
});
