import * as fc from 'fast-check';
import type { JsonObject } from 'signalbox';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { Chance } from '../../../src/providers/simulated/chance.ts';
import { jsonFromSchema } from '../../../src/providers/simulated/draft.ts';
import { readPrompt } from '../../../src/providers/simulated/prompt.ts';
import { ask, hearBoth, instantRouter } from '../../support/simulated.ts';

const PROMPT = readPrompt([{ role: 'user', content: 'Which trains run from Basel to Milan on Sunday?' }]);

function write(schema: JsonObject, seed = 1): unknown {
  return jsonFromSchema(schema, new Chance(seed), PROMPT);
}

/** Two bounds of which the lower comes first. */
function bounds(lowest: number, highest: number): fc.Arbitrary<[number, number]> {
  return fc
    .tuple(fc.integer({ min: lowest, max: highest }), fc.integer({ min: lowest, max: highest }))
    .map(([one, other]) => [Math.min(one, other), Math.max(one, other)]);
}

const { schema: anySchema } = fc.letrec<{ schema: JsonObject; leaf: JsonObject }>((tie) => ({
  leaf: fc.oneof(
    fc.constantFrom<JsonObject>(
      { type: 'boolean' },
      { type: 'null' },
      { type: 'string' },
      { type: ['integer', 'null'] },
    ),
    fc.constantFrom<JsonObject>({ const: 'fixed' }, { const: 7 }, { enum: ['a', 'b', 3] }, { type: 'number' }),
    fc
      .constantFrom('date-time', 'date', 'time', 'duration', 'email', 'uuid', 'ipv4', 'ipv6', 'uri')
      .map((format) => ({ type: 'string', format })),
    bounds(0, 40).map(([minLength, maxLength]) => ({ type: 'string', minLength, maxLength })),
    bounds(-50, 50).map(([minimum, maximum]) => ({ type: 'integer', minimum, maximum })),
    bounds(-50, 50).map(([minimum, maximum]) => ({ type: 'number', exclusiveMinimum: minimum, maximum: maximum + 1 })),
    fc.integer({ min: 2, max: 9 }).map((multipleOf) => ({ type: 'integer', multipleOf, minimum: -20 })),
  ),
  schema: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'schema' },
    tie('leaf'),
    bounds(0, 4).chain(([minItems, maxItems]) =>
      tie('schema').map((items) => ({ type: 'array', items, minItems, maxItems })),
    ),
    fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
    fc
      .dictionary(fc.stringMatching(/^[a-z_]{1,8}$/), tie('schema'), { maxKeys: 4 })
      .chain((properties) =>
        fc
          .subarray(Object.keys(properties))
          .map((required) => ({ type: 'object', properties, required, additionalProperties: false })),
      ),
  ),
}));

describe('JSON from a schema', () => {
  it('is valid for the schema and the same for the same chance, whatever the schema', () => {
    fc.assert(
      fc.property(anySchema, fc.integer(), (schema, seed) => {
        const value = write(schema, seed);
        expect(write(schema, seed)).toEqual(value);
        expect(JSON.parse(JSON.stringify(value))).toEqual(value);
        const checked = z.fromJSONSchema(schema).safeParse(value);
        expect(checked.error?.issues ?? []).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  it('follows references, also to itself, and ends', () => {
    const tree: JsonObject = {
      $ref: '#/$defs/node',
      $defs: {
        node: {
          type: 'object',
          properties: {
            label: { type: 'string' },
            left: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] },
            more: { type: 'array', items: { $ref: '#/$defs/node' } },
          },
          required: ['label', 'left', 'more'],
        },
      },
    };
    for (let seed = 0; seed < 20; seed += 1) {
      expect(z.fromJSONSchema(tree).safeParse(write(tree, seed)).success).toBe(true);
    }
    const endless = {
      type: 'object',
      properties: { self: { $ref: '#' }, twin: { $ref: '#' } },
      required: ['self', 'twin'],
    };
    expect(JSON.stringify(write(endless)).length).toBeLessThan(1_000_000);
    expect(() => write({ anyOf: [{ $ref: '#' }] })).not.toThrow();
    expect(() => write({ $ref: '#/nowhere' })).not.toThrow();
  });

  it('merges allOf and what stands beside anyOf', () => {
    const schema = {
      allOf: [
        { type: 'object', properties: { one: { type: 'integer', minimum: 3 } }, required: ['one'] },
        { properties: { one: { maximum: 4 }, two: { const: 'yes' } }, required: ['two'] },
      ],
      anyOf: [{ required: ['three'], properties: { three: { type: 'boolean' } } }],
    };
    expect(write(schema)).toEqual({
      one: expect.toSatisfy((one) => one === 3 || one === 4),
      two: 'yes',
      three: expect.any(Boolean),
    });
  });

  it('takes the tighter of two bounds, what two lists have in common, and broken steps', () => {
    const range = {
      allOf: [
        { type: 'integer', minimum: 1, maximum: 9 },
        { minimum: 5, exclusiveMaximum: 6 },
      ],
    };
    expect(write(range)).toBe(5);
    expect(write({ allOf: [{ enum: ['a', 'b', 'c'] }, { enum: ['c', 'd'] }] })).toBe('c');
    expect(write({ type: 'integer', minimum: 4, maximum: 6, multipleOf: 2.5 })).toBe(5);
    expect(write({ type: 'integer', exclusiveMinimum: 4, exclusiveMaximum: 6 })).toBe(5);
    expect(write({ $ref: '#/$defs/a~1b%20c', $defs: { 'a/b c': { const: 'found' } } })).toBe('found');
  });

  it('writes tuples, records and lists of different items', () => {
    expect(write({ type: 'array', prefixItems: [{ const: 1 }, { const: 2 }], items: false })).toEqual([1, 2]);
    const record = write({ type: 'object', additionalProperties: { type: 'integer' }, minProperties: 3 });
    expect(Object.values(record as object).map((value) => typeof value)).toEqual(['number', 'number', 'number']);
    for (const items of [
      { type: 'string' },
      { enum: [1, 2, 3, 4, 5, 6] },
      { type: 'integer', minimum: 1, maximum: 6 },
    ]) {
      const list = write({ type: 'array', items, minItems: 6, uniqueItems: true }) as unknown[];
      expect(new Set(list).size).toBe(6);
    }
  });

  it('keeps members with dangerous names as plain members', () => {
    const schema = JSON.parse(
      '{"type":"object","properties":{"__proto__":{"const":1}},"required":["__proto__"]}',
    ) as JsonObject;
    expect(JSON.stringify(write(schema))).toBe('{"__proto__":1}');
  });

  it('does not take sizes at their word that nobody can want', () => {
    expect(write({ type: 'string', minLength: 1e9 })).toHaveLength(10_000);
    expect((write({ type: 'array', items: {}, minItems: 1e9 }) as unknown[]).length).toBeLessThanOrEqual(5_001);
  });
});

describe('a simulated JSON answer', () => {
  const person = {
    type: 'object',
    properties: { name: { type: 'string' }, age: { type: 'integer', minimum: 0, maximum: 120 } },
    required: ['name', 'age'],
  } as const;

  it('is an object when json_object asks for one, and says there that it is simulated', async () => {
    const { text, finish } = await hearBoth(ask('Tell me about storks', { response_format: { type: 'json_object' } }));
    expect(finish).toBe('stop');
    expect(JSON.parse(text)).toMatchObject({
      simulated: true,
      topic: 'storks',
      summary: expect.stringMatching(/storks/),
    });
  });

  it('follows the schema of json_schema', async () => {
    const format = { type: 'json_schema', json_schema: { name: 'person', schema: person } } as const;
    const { text } = await hearBoth(ask('Invent somebody like Grace Hopper', { response_format: format }));
    expect(JSON.parse(text)).toEqual({ name: 'Grace Hopper', age: expect.any(Number) });
  });

  it('is an object where json_schema has no schema, and need not be one where it has', async () => {
    const bare = { type: 'json_schema', json_schema: { name: 'bare' } } as const;
    expect(JSON.parse((await hearBoth(ask('Hello', { response_format: bare }))).text)).toMatchObject({
      simulated: true,
    });
    const list = {
      type: 'json_schema',
      json_schema: { name: 'list', schema: { type: 'array', minItems: 2 } },
    } as const;
    expect(JSON.parse((await hearBoth(ask('Hello', { response_format: list }))).text)).toBeInstanceOf(Array);
  });

  it('gives way to tool calls', async () => {
    const tools = [{ type: 'function', function: { name: 'ping' } }] as const;
    const { calls, text } = await hearBoth(ask('ping', { tools, response_format: { type: 'json_object' } }));
    expect({ text, name: calls[0]?.name }).toEqual({ text: '', name: 'ping' });
  });

  it('is refused in forms that nobody can simulate', async () => {
    for (const format of [{ type: 'python' }, { type: 'grammar', grammar: 'root ::= "a"' }] as const) {
      const answer = instantRouter().chat(ask('Hello', { response_format: format }));
      await expect(answer).rejects.toMatchObject({ status: 400, errorType: 'invalid_request' });
    }
  });
});
