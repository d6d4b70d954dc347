import { describe, expect, it } from 'vitest';
import type { EndpointDeclaration } from '../../../src/catalog/endpoint.ts';
import { embeddingsCodec } from '../../../src/providers/openai-compatible/embeddings.ts';
import { AZURE_QUIRKS, VENDOR_PRESETS } from '../../../src/providers/openai-compatible/presets.ts';
import type { VendorQuirks } from '../../../src/providers/openai-compatible/vendor-quirks.ts';
import type { EmbeddingRequest } from '../../../src/protocol/embedding.ts';
import { base64Of } from '../../support/embedding-upstream.ts';
import { embeddingScene } from '../../support/embedding-requests.ts';

const CONTEXT = { secrets: [], wallClock: 0 };

function bodyOf(
  request: Partial<EmbeddingRequest>,
  quirks: VendorQuirks = {},
  offer: EndpointDeclaration = {},
): Readonly<Record<string, unknown>> {
  const { normalized, endpoint } = embeddingScene(request, { ...offer, upstreamModel: 'embed-3' });
  const encoded = [embeddingsCodec(quirks).encode(normalized, endpoint)].flat();
  expect(encoded).toMatchObject([{ path: '/embeddings' }]);
  return encoded[0]?.body ?? {};
}

function decoded(body: unknown): unknown {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const read = embeddingsCodec({}).decode(text, CONTEXT);
  return read.ok ? read.result : { kind: read.failure.kind, message: read.failure.message };
}

const item = (index: unknown, embedding: unknown): object => ({ object: 'embedding', index, embedding });

describe('a request for embeddings on the wire', () => {
  it('names the model of the provider, the inputs as a list and the stand-in of the user', () => {
    expect(bodyOf({ input: 'Hello', user: 'ada' })).toEqual({
      model: 'embed-3',
      input: ['Hello'],
      user: 'user_test',
    });
    expect(bodyOf({ input: [1, 2] })).toMatchObject({ input: [[1, 2]] });
    expect(bodyOf({ input: [[1], [2]] })).toMatchObject({ input: [[1], [2]] });
    const parts = [{ content: [{ type: 'text', text: 'A cat' }] }] as const;
    expect(bodyOf({ input: parts })).toMatchObject({ input: parts });
  });

  it('passes fields that are not known here on, and keeps those that are ours to itself', () => {
    const body = bodyOf({
      input: 'x',
      truncate: 'END',
      session_id: 's',
      metadata: { team: 'search' },
      trace: { trace_id: 't' },
      provider: { order: ['up'] },
      encoding_format: 'float',
    } as Partial<EmbeddingRequest>);
    expect(body).toEqual({ model: 'embed-3', input: ['x'], user: 'user_test', truncate: 'END' });
  });

  it('asks for base64 where the server is known to write it, whatever the caller asked for', () => {
    for (const format of ['float', 'base64'] as const) {
      expect(bodyOf({ input: 'x', encoding_format: format }, { embeddings: { base64: true } })).toMatchObject({
        encoding_format: 'base64',
      });
      expect(bodyOf({ input: 'x', encoding_format: format })).not.toHaveProperty('encoding_format');
    }
    const { openai, openrouter, vllm } = VENDOR_PRESETS;
    for (const quirks of [openai.quirks, openrouter.quirks, vllm.quirks, AZURE_QUIRKS]) {
      expect(bodyOf({ input: 'x' }, quirks)).toMatchObject({ encoding_format: 'base64', user: 'user_test' });
    }
  });

  it('says dimensions and user as the vendor wants them', () => {
    expect(bodyOf({ input: 'x', dimensions: 64 })).toMatchObject({ dimensions: 64 });
    expect(bodyOf({ input: 'x', dimensions: 64 }, VENDOR_PRESETS.mistral.quirks)).toEqual({
      model: 'embed-3',
      input: ['x'],
      output_dimension: 64,
    });
  });

  it('leaves an input type out where the endpoint takes none', () => {
    const request = { input: 'x', input_type: 'search_query' };
    expect(bodyOf(request)).toMatchObject({ input_type: 'search_query' });
    expect(bodyOf(request, {}, { parameters: ['dimensions'] })).not.toHaveProperty('input_type');
  });
});

describe('an answer with embeddings', () => {
  it('may be written in numbers or in base64, whichever was asked for', () => {
    const usage = { prompt_tokens: 3, total_tokens: 3 };
    expect(decoded({ data: [item(0, [0.25, -1.5])], usage })).toEqual({
      vectors: [[0.25, -1.5]],
      usage: { prompt_tokens: 3, completion_tokens: 0, total_tokens: 3 },
    });
    expect(decoded({ data: [item(0, base64Of([0.25, -1.5]))] })).toEqual({
      vectors: [Float32Array.of(0.25, -1.5)],
      usage: undefined,
    });
  });

  it('is put into the order of its indexes', () => {
    expect(decoded({ data: [item(2, [3]), item(0, [1]), item(1, [2])] })).toMatchObject({ vectors: [[1], [2], [3]] });
    expect(decoded({ data: [{ embedding: [1] }, { embedding: [2] }] })).toMatchObject({ vectors: [[1], [2]] });
  });

  it('counts a total as the prompt where nothing else was counted', () => {
    expect(decoded({ data: [item(0, [1])], usage: { total_tokens: 9 } })).toMatchObject({
      usage: { prompt_tokens: 9 },
    });
  });

  it.each<readonly [string, unknown]>([
    ['nothing', ''],
    ['a web page', '<!doctype html>'],
    ['half of it', '{"data":[{"index":0,"embedding":[0.1'],
    ['an empty object', {}],
    ['null in place of the list', { data: null }],
    ['a number', '7'],
    ['an item that is null', { data: [null] }],
    ['an item without a vector', { data: [{ index: 0 }] }],
    ['a vector that is null', { data: [item(0, null)] }],
    ['a vector that is an object', { data: [item(0, { 0: 1 })] }],
    ['base64 of half a float', { data: [item(0, 'AAAA')] }],
    ['a text that is no base64', { data: [item(0, 'not base64!')] }],
    ['an index twice', { data: [item(0, [1]), item(0, [2])] }],
    ['an index too high', { data: [item(0, [1]), item(2, [2])] }],
    ['a negative index', { data: [item(-1, [1])] }],
    ['a broken index', { data: [item(0.5, [1])] }],
    ['an index that is text', { data: [item('0', [1])] }],
    ['indexes in part', { data: [item(1, [1]), item(undefined, [2])] }],
  ])('that is %s is a failure', (_name, body) => {
    expect(decoded(body)).toMatchObject({ kind: 'bad_response' });
  });

  it('that is an error in disguise is that error', () => {
    expect(decoded({ error: { message: 'slow down', code: 429 } })).toMatchObject({ kind: 'rate_limited' });
    expect(decoded([{ error: { message: 'no', code: 400 } }])).toMatchObject({ kind: 'invalid_request' });
  });
});
