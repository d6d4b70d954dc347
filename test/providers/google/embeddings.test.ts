import { createRouter, google } from 'signalbox';
import { describe, expect, it } from 'vitest';
import type { EmbeddingRequest } from '../../../src/protocol/embedding.ts';
import type { EncodedEmbeddingRequest } from '../../../src/providers/embedding-codec.ts';
import { EncodeError } from '../../../src/providers/codec.ts';
import { googleEmbeddings } from '../../../src/providers/google/embeddings.ts';
import { embeddingScene } from '../../support/embedding-requests.ts';
import { tokenIssuer } from '../../support/token-issuer.ts';
import { sendJson, startUpstream } from '../../support/upstream.ts';

function encoded(request: Partial<EmbeddingRequest>, upstreamModel = 'gemini-embedding-001'): EncodedEmbeddingRequest {
  const { normalized, endpoint } = embeddingScene(request, { upstreamModel });
  const [first, ...others] = [googleEmbeddings().encode(normalized, endpoint)].flat();
  if (first === undefined || others.length > 0) throw new RangeError('one call was enough');
  return first;
}

function decoded(body: unknown): unknown {
  const read = googleEmbeddings().decode(JSON.stringify(body), { secrets: [], wallClock: 0 });
  return read.ok ? read.result : read.failure.kind;
}

describe("Google's embeddings wire", () => {
  it('asks for one vector per input, with length and task in its own words', () => {
    expect(encoded({ input: ['One', 'Two'], dimensions: 768, input_type: 'search_query' })).toEqual({
      path: '/models/gemini-embedding-001:batchEmbedContents',
      inputs: 2,
      body: {
        requests: ['One', 'Two'].map((text) => ({
          model: 'models/gemini-embedding-001',
          content: { role: 'user', parts: [{ text }] },
          outputDimensionality: 768,
          taskType: 'RETRIEVAL_QUERY',
        })),
      },
    });
  });

  it("passes Google's own tasks, fields that are not known here, and paths of models on", () => {
    const request = { input: 'x', input_type: 'FACT_VERIFICATION', label: 'a' } as Partial<EmbeddingRequest>;
    expect(encoded(request, 'tunedModels/mine')).toMatchObject({
      path: '/tunedModels/mine:batchEmbedContents',
      body: { label: 'a', requests: [{ model: 'tunedModels/mine', taskType: 'FACT_VERIFICATION' }] },
    });
  });

  it.each([
    ['gemini-embedding-001?key=x#y', '/models/gemini-embedding-001%3Fkey%3Dx%23y:batchEmbedContents'],
    ['../../v1/files', '/models/..%2F..%2Fv1%2Ffiles:batchEmbedContents'],
    ['..', '/models/..:batchEmbedContents'],
    ['google/gemini-embedding-001', '/models/gemini-embedding-001:batchEmbedContents'],
  ])('lets no name of a model lead anywhere else: %s', (name, path) => {
    expect(encoded({ input: 'x' }, name)).toMatchObject({ path });
    expect(new URL(`https://google.test/v1beta${path}`).href).toMatch(
      /^https:\/\/google\.test\/v1beta\/models\/[^?#]+$/,
    );
  });

  it('sends media that are in the request itself', () => {
    const input = [
      {
        content: [
          { type: 'text', text: 'A cat' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0=' } },
          { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
        ],
      },
    ] as const;
    expect(encoded({ input })).toMatchObject({
      body: {
        requests: [
          {
            content: {
              parts: [
                { text: 'A cat' },
                { inlineData: { mimeType: 'image/png', data: 'iVBORw0=' } },
                { inlineData: { mimeType: 'audio/wav', data: 'UklGRg==' } },
              ],
            },
          },
        ],
      },
    });
  });

  it.each<readonly [string, Partial<EmbeddingRequest>]>([
    ['tokens', { input: [1, 2] }],
    [
      'media behind an address',
      { input: [{ content: [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }] }] },
    ],
  ])('has no words for %s, so that another endpoint may be asked', (_name, request) => {
    expect(() => encoded(request)).toThrow(EncodeError);
  });

  it('reads the vectors in their order, and the tokens where they were counted', () => {
    const embeddings = [{ values: [0.1, 0.2] }, { values: [0.3, 0.4] }];
    const vectors = [
      [0.1, 0.2],
      [0.3, 0.4],
    ];
    expect(decoded({ embeddings })).toEqual({ vectors, usage: undefined });
    expect(decoded({ embeddings, usageMetadata: { promptTokenCount: 5 } })).toEqual({
      vectors,
      usage: { prompt_tokens: 5, completion_tokens: 0, total_tokens: 5 },
    });
  });

  it.each<readonly [unknown, string]>([
    [{}, 'bad_response'],
    [{ embeddings: [{}] }, 'bad_response'],
    [{ embeddings: [null] }, 'bad_response'],
    [{ error: { code: 429, message: 'Quota', status: 'RESOURCE_EXHAUSTED' } }, 'rate_limited'],
  ])('takes nothing else for an answer: %j', (body, kind) => {
    expect(decoded(body)).toBe(kind);
  });
});

describe('embeddings of Vertex AI', () => {
  /** Plays Vertex AI, which refuses tokens that it did not issue and more inputs than a model takes. */
  async function vertex(models: Readonly<Record<string, { upstreamModel: string }>>) {
    const issuer = tokenIssuer(() => Date.now() + 3_600_000);
    const upstream = await startUpstream();
    upstream.handler = issuer.guard(({ path, body }, response) => {
      const [, model = '', method = ''] = /\/publishers\/google\/models\/([^:]+):(\w+)$/.exec(path) ?? [];
      const instances = (body['instances'] ?? []) as readonly { readonly content: string }[];
      const refuse = (message: string): void =>
        sendJson(response, 400, { error: { code: 400, message, status: 'INVALID_ARGUMENT' } });
      if (method === 'embedContent') {
        if (body['instances'] !== undefined || model === 'text-embedding-005')
          return refuse('Unknown name "instances"');
        const { parts } = body['content'] as { readonly parts: readonly { readonly text: string }[] };
        return sendJson(response, 200, {
          embedding: { values: [parts[0]?.text.length, 1] },
          usageMetadata: { promptTokenCount: 3 },
        });
      }
      const most = model === 'gemini-embedding-001' ? 1 : 250;
      if (instances.length === 0 || instances.length > most) return refuse(`${instances.length} instance(s) provided`);
      return sendJson(response, 200, {
        predictions: instances.map(({ content }) => ({
          embeddings: { values: [content.length, 0], statistics: { token_count: 2, truncated: false } },
        })),
      });
    });
    const provider = google({
      slug: 'vertex',
      baseURL: `${upstream.baseURL}/projects/p/locations/europe-west4/publishers/google`,
      authorization: 'bearer',
      apiKey: issuer.give,
      models: Object.fromEntries(
        Object.entries(models).map(([id, declared]) => [
          id,
          { ...declared, outputModalities: ['embeddings'] as const },
        ]),
      ),
    });
    return { upstream, issuer, router: createRouter({ providers: [provider] }) };
  }

  const MODELS = {
    'google/text': { upstreamModel: 'text-embedding-005' },
    'google/one': { upstreamModel: 'gemini-embedding-001' },
    'google/two': { upstreamModel: 'gemini-embedding-2' },
  };

  it('are made by the method of each model, in as many calls as it needs, also with a token that was revoked', async () => {
    const { upstream, issuer, router } = await vertex(MODELS);
    const input = Array.from({ length: 251 }, (_, index) => 'x'.repeat(index + 1));
    const many = await router.embed({ model: 'google/text', input, dimensions: 2, input_type: 'query' });
    expect(many.data.map(({ embedding }) => embedding[0])).toEqual(input.map(({ length }) => length));
    expect(many.usage).toMatchObject({ prompt_tokens: 502 });
    expect(upstream.requests.map(({ path }) => path)).toEqual(
      Array(2).fill('/v1/projects/p/locations/europe-west4/publishers/google/models/text-embedding-005:predict'),
    );
    expect(upstream.requests[0]?.body).toMatchObject({
      instances: expect.arrayContaining([{ content: 'x', task_type: 'RETRIEVAL_QUERY' }]) as unknown,
      parameters: { outputDimensionality: 2 },
    });
    issuer.revoke();
    const one = await router.embed({ model: 'google/one', input: ['one', 'three'] });
    expect(one.data.map(({ embedding }) => embedding)).toEqual([
      [3, 0],
      [5, 0],
    ]);
    const two = await router.embed({ model: 'google/two', input: ['one', 'three'], dimensions: 2 });
    expect(two.data.map(({ embedding }) => embedding)).toEqual([
      [3, 1],
      [5, 1],
    ]);
    expect(two.usage).toMatchObject({ prompt_tokens: 6 });
    expect(upstream.requests.at(-1)).toMatchObject({
      path: expect.stringMatching(/models\/gemini-embedding-2:embedContent$/) as string,
      body: { content: { parts: [{ text: 'three' }] }, embedContentConfig: { outputDimensionality: 2 } },
    });
    expect(issuer.issued).toHaveLength(2);
    await router.close();
    await upstream[Symbol.asyncDispose]();
  });

  it('of pictures are refused by models that take texts only, before anything is sent', async () => {
    const { upstream, router } = await vertex(MODELS);
    const content = [{ type: 'image_url', image_url: { url: 'data:image/png;base64,aGVsbG8=' } }];
    await expect(router.embed({ model: 'google/text', input: [{ content }] } as never)).rejects.toThrow(/must be text/);
    expect(upstream.requests).toHaveLength(0);
    await router.close();
    await upstream[Symbol.asyncDispose]();
  });
});
