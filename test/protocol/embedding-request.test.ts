import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RequestFault } from '../../src/protocol/fault.ts';
import { DEFAULT_REQUEST_LIMITS } from '../../src/protocol/limits.ts';
import { parseEmbeddingRequest } from '../../src/protocol/embedding.ts';
import { runs } from '../support/properties.ts';

const list = <Item>(length: number, item: Item): Item[] => Array.from({ length }, () => item);

function faultOf(body: unknown, limits = DEFAULT_REQUEST_LIMITS): RequestFault {
  const parsed = parseEmbeddingRequest(body, limits);
  if (parsed.ok) throw new Error('was accepted');
  return parsed.fault;
}

function accepted(body: unknown): Readonly<Record<string, unknown>> {
  const parsed = parseEmbeddingRequest(body);
  if (!parsed.ok) throw new Error(parsed.fault.message);
  return parsed.value as unknown as Readonly<Record<string, unknown>>;
}

const PICTURE = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };

describe('a request for embeddings', () => {
  it.each([
    ['a string', 'Hello'],
    ['one space', ' '],
    ['a list of texts', ['Hello', 'again']],
    ['2,048 texts', list(2_048, 'x')],
    ['the tokens of a text', [1, 2, 0, 100_257]],
    ['300,000 tokens', list(300_000, 7)],
    ['a list of token lists', [[1], [2, 3]]],
    ['300,000 tokens in lists', list(3, list(100_000, 7))],
    ['a list of parts', [{ content: [{ type: 'text', text: 'A cat' }, PICTURE] }]],
  ])('may hold %s', (_name, input) => {
    expect(accepted({ model: 'acme/embed', input })).toEqual({ model: 'acme/embed', input });
  });

  it('may set every field, or null, and fields that are not known here', () => {
    const body = {
      input: 'x',
      model: 'acme/embed',
      models: ['acme/other'],
      encoding_format: 'base64',
      dimensions: 65_536,
      input_type: 'search_query',
      user: 'ada',
      session_id: 's'.repeat(256),
      metadata: { team: 'search' },
      provider: { order: ['up'], max_price: { prompt: 1 } },
      trace: { trace_id: 't' },
      stream: false,
      truncate: 'END',
    };
    expect(accepted(body)).toEqual(body);
    const nulls = Object.fromEntries(Object.keys(body).map((name) => [name, null]));
    expect(accepted({ ...nulls, input: 'x' })).toEqual({ ...nulls, input: 'x' });
  });

  it.each<readonly [unknown, string]>([
    [null, 'The request body must be a JSON object with an "input", not null.'],
    [['x'], 'The request body must be a JSON object with an "input", not an array.'],
    [
      {},
      'input is required and must be a string, an array of strings, an array of tokens, or an array of arrays of tokens.',
    ],
    [
      { input: 7 },
      'input must be a string, an array of strings, an array of tokens, or an array of arrays of tokens, not 7.',
    ],
    [{ input: '' }, 'input must not be empty.'],
    [{ input: [] }, 'input must have at least 1 item.'],
    [{ input: [null] }, 'input[0] must be a string or tokens, not null.'],
    [{ input: ['a', ''] }, 'input[1] must not be empty.'],
    [{ input: ['a', 1] }, 'input[1] must be a string, like the items before it, not 1.'],
    [
      { input: [1, 'a'] },
      'input[1] must be a token, which is a non-negative whole number, like the items before it, not "a".',
    ],
    [{ input: [1.5] }, 'input[0] must be a token, which is a non-negative whole number, not 1.5.'],
    [{ input: [-1] }, 'input[0] must be a token, which is a non-negative whole number, not -1.'],
    [{ input: [[1], []] }, 'input[1] must have at least 1 token.'],
    [{ input: [[1, 'x']] }, 'input[0][1] must be a token, which is a non-negative whole number, not "x".'],
    [{ input: [[1], 'x'] }, 'input[1] must be an array of tokens, like the items before it, not "x".'],
    [{ input: list(2_049, 'x') }, 'input must have at most 2,048 items, not 2,049.'],
    [{ input: list(300_001, 7) }, 'input must have at most 300,000 tokens, not 300,001.'],
    [{ input: [list(300_000, 7), [7]] }, 'input must have at most 300,000 tokens, not 300,001.'],
    [{ input: [{ text: 'x' }] }, 'input[0].content is required and must be an array.'],
    [{ input: [{ content: [] }] }, 'input[0].content must have at least 1 item, not 0.'],
    [
      { input: [{ content: [{ ...PICTURE, image_url: { url: 'file:///etc/passwd' } }] }] },
      'input[0].content[0].image_url.url must be an http(s) URL or a data URL, not "file:///etc/passwd".',
    ],
    [{ input: 'x', encoding_format: 'int8' }, 'encoding_format must be "float" or "base64", not "int8".'],
    [{ input: 'x', dimensions: 0 }, 'dimensions must be at least 1, not 0.'],
    [{ input: 'x', dimensions: 65_537 }, 'dimensions must be at most 65,536, not 65537.'],
    [{ input: 'x', dimensions: 1.5 }, 'dimensions must be an integer, not 1.5.'],
    [{ input: 'x', stream: true }, 'stream must be false, not true.'],
    [{ input: 'x', models: ['a', 'b', 'c', 'd'] }, "'models' array must have 3 items or fewer."],
    [{ input: 'x', input_type: 'x'.repeat(65) }, 'input_type must have at most 64 characters, not 65.'],
    [{ input: 'x', session_id: 'x'.repeat(257) }, 'session_id must have at most 256 characters, not 257.'],
    [
      { input: 'x', provider: { allow_fallback: true } },
      'provider has a member that is not known here: "allow_fallback"; did you mean "allow_fallbacks"?',
    ],
    [{ messages: [] }, 'messages belongs to chat requests; what is to be embedded goes into input.'],
    [{ input: 'x', plugins: [] }, 'plugins belongs to chat requests; plugins do not run for embeddings.'],
    [{ input: 'x', tools: [] }, 'tools belongs to chat requests; embeddings call no tools.'],
    [{ input: 'x', preset: 'p' }, 'preset belongs to chat requests; presets do not apply to embeddings.'],
  ])('is refused with a sentence that helps: %#', (body, message) => {
    expect(faultOf(body)).toMatchObject({ status: 400, message });
  });

  it('is held to limits that the program may change', () => {
    const limits = { ...DEFAULT_REQUEST_LIMITS, embeddingInputs: 1, embeddingTokens: 2, depth: 2, nodes: 4 };
    expect(faultOf({ input: ['a', 'b'] }, limits).path).toBe('input');
    expect(faultOf({ input: [1, 2, 3] }, limits).path).toBe('input');
    expect(faultOf({ input: 'a', deep: [[[]]] }, limits).message).toContain('nested more than 2 levels');
    expect(faultOf({ input: 'a', wide: [1, 2, 3, 4] }, limits).message).toContain('more than 4 JSON values');
  });

  it('is accepted or refused with a 400, whatever it is', () => {
    const input = fc.oneof(
      fc.jsonValue(),
      fc.array(fc.oneof(fc.string(), fc.integer(), fc.array(fc.integer()), fc.jsonValue()), { maxLength: 4 }),
    );
    const other = fc.dictionary(
      fc.constantFrom('model', 'dimensions', 'encoding_format', 'user', 'provider', '__proto__', 'x'),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(input, other, (value, fields) => {
        const parsed = parseEmbeddingRequest({ ...fields, input: value });
        if (parsed.ok) return;
        expect(parsed.fault.status).toBe(400);
        expect(parsed.fault.message).toMatch(/^\S.*[.!?]$/s);
        expect(parsed.fault.message.length).toBeLessThan(400);
      }),
      runs(3_000),
    );
  });
});
