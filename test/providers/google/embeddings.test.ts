import { describe, expect, it } from 'vitest';
import type { EmbeddingRequest } from '../../../src/protocol/embedding.ts';
import type { EncodedEmbeddingRequest } from '../../../src/providers/embedding-codec.ts';
import { EncodeError } from '../../../src/providers/codec.ts';
import { googleEmbeddings } from '../../../src/providers/google/embeddings.ts';
import { embeddingScene } from '../../support/embedding-requests.ts';

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
