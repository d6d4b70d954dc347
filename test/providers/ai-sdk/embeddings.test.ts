import {
  type AiSdkEmbeddingModel,
  type AiSdkOptions,
  type AiSdkWarning,
  type EmbeddingRequest,
  type EmbeddingResult,
  type Router,
  type SpecVersion,
  createRouter,
  fromAiSdk,
} from 'signalbox';
import { scriptedVector } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { handMade } from '../../support/ai-sdk-models.ts';

interface Asked {
  readonly values: readonly string[];
  readonly dimensions?: number;
  readonly providerOptions?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly headers?: unknown;
  readonly abortSignal?: AbortSignal;
}

interface Embedder extends AiSdkEmbeddingModel {
  readonly calls: Asked[];
}

/** A hand-made embedding model of some version. */
function embedder(
  specificationVersion: SpecVersion,
  provider = 'openai.embedding',
  { most, answer }: { readonly most?: unknown; readonly answer?: (asked: Asked) => unknown } = {},
): Embedder {
  const calls: Asked[] = [];
  return {
    specificationVersion,
    provider,
    modelId: 'embed-1',
    maxEmbeddingsPerCall: most,
    calls,
    doEmbed(options: never) {
      const asked = options as Asked;
      calls.push(asked);
      if (answer !== undefined) return Promise.resolve(answer(asked));
      const embeddings = asked.values.map((value) => scriptedVector(value, lengthOf(asked)));
      return Promise.resolve({ embeddings, usage: { tokens: asked.values.length }, warnings: [] });
    },
  };
}

function lengthOf({ dimensions, providerOptions = {} }: Asked): number {
  const [own = {}] = Object.values(providerOptions);
  return dimensions ?? Number(own['dimensions'] ?? own['outputDimensionality'] ?? own['outputDimension'] ?? 4);
}

function routerOver(models: AiSdkOptions['models'], more: Partial<AiSdkOptions> = {}): Router {
  return createRouter({
    providers: [fromAiSdk({ slug: 'sdk', models, ...more })],
    fallback: { triesPerEndpoint: 1 },
    on: { warning: () => {} },
  });
}

function embed(router: Router, request: Partial<EmbeddingRequest> = {}): Promise<EmbeddingResult> {
  return router.embed({ model: 'acme/embed', input: ['One', 'Two'], ...request });
}

describe.each(['v2', 'v3', 'v4'] as const)('an embedding model of version %s', (version) => {
  it('is a model that makes embeddings and nothing else, without a word about it', async () => {
    const model = embedder(version);
    const router = routerOver({ 'acme/embed': model });
    const { data, usage } = await embed(router);
    expect(data.map(({ embedding }) => embedding)).toEqual([scriptedVector('One'), scriptedVector('Two')]);
    expect(usage).toMatchObject({ prompt_tokens: 2, total_tokens: 2 });
    await expect(
      router.chat({ model: 'acme/embed', messages: [{ role: 'user', content: 'Hi' }] }),
    ).rejects.toMatchObject({ status: 400, message: expect.stringContaining('only makes embeddings') as string });
    expect(model.calls).toHaveLength(1);
  });

  it('is asked as often as its own limit makes of the inputs, in order, and its tokens are added up', async () => {
    const model = embedder(version, 'openai.embedding', { most: Promise.resolve(3) });
    const input = Array.from({ length: 8 }, (_, index) => `Line ${index}`);
    const { data, usage } = await embed(routerOver({ 'acme/embed': model }), { input });
    expect(model.calls.map(({ values }) => values.length)).toEqual([3, 3, 2]);
    expect(data.map(({ embedding }) => embedding)).toEqual(input.map((text) => scriptedVector(text)));
    expect(usage?.prompt_tokens).toBe(8);
  });

  it.each([Infinity, undefined, Number.NaN, 0])('is asked once when its limit is %s', async (most) => {
    const model = embedder(version, 'openai.embedding', { most });
    await embed(routerOver({ 'acme/embed': model }), { input: ['a', 'b', 'c'] });
    expect(model.calls).toHaveLength(1);
  });

  it.each([
    ['openai.embedding', 'openai', 'dimensions'],
    ['google.generative-ai', 'google', 'outputDimensionality'],
    ['mistral.embedding', 'mistral', 'outputDimension'],
    ['amazon-bedrock', 'bedrock', 'dimensions'],
    ['cohere.textEmbedding', 'cohere', 'outputDimension'],
    ['house.embedding', 'house', 'dimensions'],
  ])('of %s is told the length of its vectors', async (provider, key, option) => {
    const model = embedder(version, provider);
    const { data } = await embed(routerOver({ 'acme/embed': model }), { dimensions: 6 });
    expect(data.map(({ embedding }) => embedding.length)).toEqual([6, 6]);
    const [call] = model.calls;
    if (version === 'v4') expect(call).toMatchObject({ dimensions: 6 });
    else expect(call?.providerOptions?.[key]).toMatchObject({ [option]: 6 });
    expect(Object.hasOwn(call ?? {}, 'dimensions')).toBe(version === 'v4');
  });

  it('is told the type of its inputs in its own words', async () => {
    const gemini = embedder(version, 'google.generative-ai');
    await embed(routerOver({ 'acme/embed': gemini }), { input_type: 'search_query' });
    expect(gemini.calls[0]?.providerOptions?.['google']).toMatchObject({ taskType: 'RETRIEVAL_QUERY' });
    const cohere = embedder(version, 'cohere.textEmbedding');
    await embed(routerOver({ 'acme/embed': cohere }), { input_type: 'search_query' });
    expect(cohere.calls[0]?.providerOptions?.['cohere']).toMatchObject({ inputType: 'search_query' });
  });

  it('gets the options and headers of its declaration, which win, and a signal', async () => {
    const model = embedder(version);
    const declared = { model, providerOptions: { openai: { dimensions: 5 } } };
    await embed(routerOver({ 'acme/embed': declared }, { headers: { 'x-team': 'rail' } })).catch(() => {});
    const [call] = model.calls;
    expect(call).toMatchObject({ providerOptions: { openai: { dimensions: 5 } }, headers: { 'x-team': 'rail' } });
    expect(call?.abortSignal).toBeInstanceOf(AbortSignal);
  });
});

describe('an answer of an embedding model', () => {
  const asked = (answer: (call: Asked) => unknown, more: Partial<AiSdkOptions> = {}): Promise<EmbeddingResult> =>
    embed(routerOver({ 'acme/embed': embedder('v4', 'openai.embedding', { answer }) }, more));

  it.each<readonly [string, unknown]>([
    ['nothing', null],
    ['no vectors', {}],
    ['something else than vectors', { embeddings: [1, 2] }],
    ['too few vectors', { embeddings: [[1, 2]] }],
    [
      'indexes that cannot be',
      {
        embeddings: [[1], [2]],
        response: { body: { data: [{ index: 1 }, { index: 1 }] } },
      },
    ],
  ])('with %s is a failure of the provider', async (_name, answer) => {
    await expect(asked(() => answer)).rejects.toMatchObject({ status: 502 });
  });

  it('is put in the order of its indexes, which the SDK does not look at', async () => {
    const { data } = await asked(() => ({
      embeddings: [[0.5], [0.25]],
      response: { body: { data: [{ index: 1 }, { index: 0 }] } },
    }));
    expect(data.map(({ embedding }) => embedding)).toEqual([[0.25], [0.5]]);
  });

  it('without a count of tokens is estimated', async () => {
    const { usage } = await asked(() => ({ embeddings: [[1], [2]], usage: { tokens: Number.NaN } }));
    expect(usage).toMatchObject({ estimated: true });
  });

  it('tells its warnings to who listens, and fails where a parameter is required that it ignored', async () => {
    const warnings: AiSdkWarning[] = [];
    const answer = ({ values }: Asked): unknown => ({
      embeddings: values.map((value) => scriptedVector(value, 6)),
      warnings: [{ type: 'unsupported', feature: 'dimensions' }],
    });
    const model = embedder('v4', 'openai.embedding', { answer });
    const router = routerOver({ 'acme/embed': model }, { onWarning: (warning) => warnings.push(warning) });
    await embed(router, { dimensions: 6 });
    expect(warnings).toEqual([
      { provider: 'sdk', model: 'acme/embed', type: 'unsupported', feature: 'dimensions', message: undefined },
    ]);
    await expect(embed(router, { dimensions: 6, provider: { require_parameters: true } })).rejects.toMatchObject({
      status: 400,
    });
  });
});

describe('what an embedding model of the SDK cannot do', () => {
  it.each<readonly [string, Partial<EmbeddingRequest>, string]>([
    ['tokens', { input: [[1, 2]] }, 'input[0] is a list of tokens'],
    [
      'images',
      { input: [{ content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0=' } }] }] },
      'input[0].content[0] is of type image_url',
    ],
  ])('is refused with its path, and nobody is asked: %s', async (_name, request, message) => {
    const model = embedder('v4');
    await expect(embed(routerOver({ 'acme/embed': model }), request)).rejects.toThrow(message);
    expect(model.calls).toEqual([]);
  });

  it('takes inputs that consist of texts', async () => {
    const model = embedder('v4');
    const content = [
      { type: 'text', text: 'One' },
      { type: 'text', text: 'more' },
    ] as const;
    await embed(routerOver({ 'acme/embed': model }), { input: [{ content }] });
    expect(model.calls[0]?.values).toEqual(['One\nmore']);
  });

  it('is asked of no language model, although one stands beside it', async () => {
    const models = { 'acme/chat': handMade(), 'acme/embed': embedder('v4') };
    const router = routerOver(models);
    await expect(embed(router, { model: 'acme/chat' })).rejects.toThrow('acme/chat makes no embeddings');
    const { choices } = await router.chat({ model: 'acme/chat', messages: [{ role: 'user', content: 'Hello' }] });
    expect(choices[0]?.message.content).toBe('Hello');
  });

  it("is done with an account's own key only by a model that was made with it", async () => {
    const shared = embedder('v4');
    const own = embedder('v4');
    const keys: string[] = [];
    const declared = { model: shared, modelForKey: (key: string) => (keys.push(key), own) };
    const account = { id: 'ada', providerKeys: { sdk: { apiKey: 'key-of-ada' } } };
    const router = routerOver({ 'acme/embed': declared });
    await router.embed({ model: 'acme/embed', input: 'One' }, { account });
    expect([shared.calls.length, own.calls.length, keys]).toEqual([0, 1, ['key-of-ada']]);
  });
});
