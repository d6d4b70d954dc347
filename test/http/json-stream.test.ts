import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type JsonPart, JsonStream, JsonStreamError } from '../../src/http/json-stream.ts';

const OPTIONS = {
  fields: ['endpoint', 'model'],
  array: 'requests',
  member: 'body',
  depth: 8,
  nodes: 200_000,
  names: 20_000,
  itemBytes: 1_000_000,
};

/** Reads a text in pieces of these sizes, over and over. */
function read(
  text: string | Uint8Array,
  sizes: readonly number[] = [7],
  options: Partial<typeof OPTIONS> = {},
): JsonPart[] {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  const stream = new JsonStream({ ...OPTIONS, ...options });
  const parts: JsonPart[] = [];
  for (let start = 0, turn = 0; start < bytes.byteLength; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    for (const part of stream.write(bytes.subarray(start, start + size))) {
      // Bytes are valid until more is read.
      parts.push(part.type === 'item' && part.member !== undefined ? { ...part, member: part.member.slice() } : part);
    }
    start += size;
  }
  stream.end();
  return parts;
}

function problemOf(text: string | Uint8Array, options: Partial<typeof OPTIONS> = {}): JsonStreamError {
  try {
    read(text, [64], options);
  } catch (error) {
    if (error instanceof JsonStreamError) return error;
    throw error;
  }
  throw new Error('Nothing was wrong');
}

describe('a JSON object that is read while it comes', () => {
  it('is what JSON.parse makes of it, wherever its bytes are cut', () => {
    const item = fc.jsonValue({ maxDepth: 5 });
    fc.assert(
      fc.property(
        fc.record({ endpoint: item, model: item }),
        fc.array(item, { maxLength: 12 }),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 }),
        fc.boolean(),
        (fields, items, sizes, pretty) => {
          const text = JSON.stringify({ ...fields, requests: items }, undefined, pretty ? 2 : undefined);
          const parts = read(text, sizes);
          const parsed = JSON.parse(text) as { requests: readonly unknown[] } & typeof fields;
          expect(parts.filter(({ type }) => type === 'field')).toEqual([
            { type: 'field', name: 'endpoint', value: parsed.endpoint },
            { type: 'field', name: 'model', value: parsed.model },
          ]);
          expect(parts.flatMap((part) => (part.type === 'item' ? [part.value] : []))).toEqual(parsed.requests);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('keeps the text of one member as it was written', () => {
    const member = fc.jsonValue({ maxDepth: 4 });
    const other = fc.dictionary(fc.constantFrom('custom_id', 'a"b', 'bod', '__proto__', 'body2', 'x\\'), member, {
      maxKeys: 4,
    });
    const spaces = fc.constantFrom('', ' ', '\n\t ');
    const name = fc.constantFrom('"body"', '"b\\u006fdy"', '"body" ');
    fc.assert(
      fc.property(
        fc.array(fc.tuple(other, member, spaces, name), { maxLength: 8 }),
        fc.integer({ min: 1, max: 30 }),
        (items, size) => {
          const texts = items.map(([rest, value, space, key]) => {
            const inner = JSON.stringify(rest).slice(1, -1);
            return `{${inner}${inner === '' ? '' : `,${space}`}${key}:${space}${JSON.stringify(value, undefined, 1)}${space}}`;
          });
          const parts = read(`{"requests":[${texts.join(' , ')}]}`, [size]).filter((part) => part.type === 'item');
          expect(parts.map(({ value }) => value)).toEqual(texts.map((text) => JSON.parse(text) as unknown));
          expect(
            parts.map(({ member: bytes }) =>
              Buffer.from(bytes ?? [])
                .toString()
                .trim(),
            ),
          ).toEqual(items.map(([, value]) => JSON.stringify(value, undefined, 1)));
        },
      ),
      { numRuns: 500 },
    );
  });

  it('keeps members with dangerous names as ordinary ones', () => {
    const [, item] = read('{"requests":[{"__proto__":{"polluted":true},"constructor":1}]}');
    const value = item?.type === 'item' ? item.value : undefined;
    expect(Object.keys(value as object)).toEqual(['__proto__', 'constructor']);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  it('tells that the array begins before its first item', () => {
    expect(read('{"model":"a","requests":[1]}', [1]).map(({ type }) => type)).toEqual(['field', 'array', 'item']);
  });

  it.each([
    ['{"requests":[1],"model":"a"}', 'shape', 'model', 'must come before "requests"'],
    ['{"model":"a","model":"b","requests":[]}', 'shape', 'model', 'is there twice'],
    ['{"modle":"a","requests":[]}', 'shape', '', 'not known'],
    ['{"requests":{"0":1}}', 'shape', 'requests', 'must be an array'],
    ['{"requests":null}', 'shape', 'requests', 'must be an array'],
    ['[1]', 'shape', '', 'must be a JSON object'],
    ['"text"', 'shape', '', 'must be a JSON object'],
    ['', 'syntax', '', 'is empty'],
    ['{"requests":[1]', 'syntax', '', 'ends too early'],
    ['{"requests":[1]} x', 'syntax', '', 'something follows'],
    ['{"requests":[1,{"a":}]}', 'syntax', 'requests[1]', 'is not valid JSON'],
    ['{"requests":[1 2]}', 'syntax', 'requests[1]', 'is not valid JSON'],
    [`{"requests":[1,${'['.repeat(9)}${']'.repeat(9)}]}`, 'shape', 'requests[1]', 'nested more than 8'],
  ])('%s is wrong', (text, reason, path, problem) => {
    expect(problemOf(text)).toMatchObject({ reason, path, message: expect.stringContaining(problem) as string });
  });

  it('must be UTF-8', () => {
    const bytes = Buffer.concat([Buffer.from('{"requests":["'), Buffer.from([0xc3, 0x28]), Buffer.from('"]}')]);
    expect(problemOf(bytes)).toMatchObject({ reason: 'syntax', path: 'requests[0]', message: 'is not valid UTF-8' });
  });

  it('holds one item at a time, and refuses one that is too large before it is read to its end', () => {
    const large = `{"requests":[1,"${'x'.repeat(5_000)}`;
    expect(problemOf(large, { itemBytes: 1_000 })).toMatchObject({ reason: 'too_large', path: 'requests[1]' });
    expect(problemOf(`{"model":"${'x'.repeat(70_000)}`)).toMatchObject({
      reason: 'too_large',
      path: '',
    });
    const many = `{"requests":[${Array.from({ length: 500 }, () => '"0123456789"').join()}]}`;
    expect(read(many, [64], { itemBytes: 1_000 })).toHaveLength(501);
  });
});
