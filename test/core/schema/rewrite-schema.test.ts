import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { heldSchema, toolArgumentsSchema } from '../../../src/core/schema/rewrite-schema.ts';
import type { JsonSchema } from '../../../src/core/schema/schema-parts.ts';
import type { HeldSchemaRules } from '../../../src/core/schema/schema-rules.ts';
import {
  CLAUDE_HELD,
  CLAUDE_STRICT_TOOLS,
  CLAUDE_TOOLS,
  OPENAI_HELD,
  OPENAI_TOOLS,
} from '../../../src/providers/accepts/schemas.ts';
import { storm } from '../../support/storms.ts';

const A = { type: 'string' };
const B = { type: 'number' };

describe('the schema of a tool', () => {
  it('is passed on where nothing has to change', () => {
    const schema = { type: 'object', properties: { a: A, b: { anyOf: [A, B] } }, required: ['a'] };
    expect(toolArgumentsSchema(schema, CLAUDE_TOOLS)).toBe(schema);
    expect(toolArgumentsSchema(schema, OPENAI_TOOLS)).toBe(schema);
  });

  it('has a rule of its root in the description', () => {
    const schema = { type: 'object', properties: { a: A, b: B }, anyOf: [{ required: ['a'] }, { required: ['b'] }] };
    expect(toolArgumentsSchema(schema, CLAUDE_TOOLS)).toEqual({
      type: 'object',
      properties: { a: A, b: B },
      description: 'At least one of these rules must be kept: required ["a"] | required ["b"]',
    });
  });

  it('is one object in place of a union of objects', () => {
    const one = { type: 'object', properties: { kind: { const: 'a' }, a: A }, required: ['kind', 'a'] };
    const other = { type: 'object', properties: { kind: { const: 'b' }, b: B, c: A }, required: ['kind', 'b'] };
    expect(toolArgumentsSchema({ description: 'Two ways.', oneOf: [one, other] }, CLAUDE_TOOLS)).toEqual({
      type: 'object',
      properties: { kind: { enum: ['a', 'b'] }, a: A, b: B, c: A },
      required: ['kind'],
      description:
        'Two ways.. Exactly one of these rules must be kept: required ["kind","a"] with {"kind":"a"} | ' +
        'required ["kind","b"] with {"kind":"b"}',
    });
  });

  it('keeps a property that members of a union describe differently as a union of its own', () => {
    const schema = { anyOf: [{ properties: { a: A } }, { properties: { a: B } }] };
    expect(toolArgumentsSchema(schema, CLAUDE_TOOLS)).toMatchObject({
      type: 'object',
      properties: { a: { anyOf: [A, B] } },
    });
  });

  it('follows references at its root, also those that come back', () => {
    const $defs = { Tree: { properties: { left: { $ref: '#/$defs/Tree' }, a: A }, required: ['a'] } };
    const tree = { type: 'object', properties: $defs.Tree.properties, required: ['a'], $defs };
    expect(toolArgumentsSchema({ $ref: '#/$defs/Tree', $defs }, CLAUDE_TOOLS)).toEqual(tree);
    expect(toolArgumentsSchema({ allOf: [{ $ref: '#/$defs/Tree' }], $defs }, OPENAI_TOOLS)).toEqual(tree);
    const circle = { $ref: '#/$defs/A', $defs: { A: { $ref: '#/$defs/B' }, B: { $ref: '#/$defs/A' } } };
    expect(toolArgumentsSchema(circle, CLAUDE_TOOLS)).toMatchObject({ type: 'object' });
  });

  it('has all members of `allOf` in one', () => {
    const schema = {
      allOf: [
        { type: 'object', properties: { a: A }, required: ['a'] },
        { properties: { a: { minLength: 2 }, b: B }, required: ['b'] },
      ],
    };
    expect(toolArgumentsSchema(schema, CLAUDE_TOOLS)).toEqual({
      type: 'object',
      properties: { a: { type: 'string', minLength: 2 }, b: B },
      required: ['a', 'b'],
    });
  });

  it('is completed for servers that check schemas', () => {
    expect(toolArgumentsSchema({ type: 'object' }, OPENAI_TOOLS)).toEqual({ type: 'object', properties: {} });
    expect(toolArgumentsSchema({}, OPENAI_TOOLS)).toEqual({ type: 'object', properties: {} });
    const schema = { type: 'object', properties: { a: { type: 'array' }, b: { type: 'object' }, c: true } };
    expect(toolArgumentsSchema(schema, OPENAI_TOOLS)).toEqual({
      type: 'object',
      properties: { a: { type: 'array', items: {} }, b: { type: 'object', properties: {} }, c: {} },
    });
  });

  it('is one of this decade', () => {
    const schema = {
      type: 'object',
      properties: {
        pair: { type: 'array', items: [A, B] },
        size: { type: 'number', minimum: 0, exclusiveMinimum: true },
        name: { type: 'string', required: true },
      },
    };
    expect(toolArgumentsSchema(schema, CLAUDE_TOOLS)).toEqual({
      type: 'object',
      properties: {
        pair: { type: 'array', prefixItems: [A, B] },
        size: { type: 'number', minimum: 0, description: 'exclusiveMinimum: true' },
        name: { type: 'string', description: 'required: true' },
      },
    });
  });

  it('takes a limited time, whatever its references stand for', () => {
    const $defs: Record<string, unknown> = { d0: { properties: { a: A } } };
    for (let level = 1; level < 40; level += 1) {
      const below = { $ref: `#/$defs/d${level - 1}` };
      $defs[`d${level}`] = { anyOf: [below, below], allOf: [below, below] };
    }
    const schema = { type: 'object', anyOf: [{ $ref: '#/$defs/d39' }, {}], $defs };
    expect(toolArgumentsSchema(schema, CLAUDE_TOOLS)).toMatchObject({ type: 'object' });
    expect(heldSchema(schema, OPENAI_HELD)).toBeUndefined();
  });
});

describe('a schema to which answers are held', () => {
  it('says in descriptions what the provider has no words for', () => {
    const schema = {
      type: 'object',
      properties: {
        a: { oneOf: [{ type: 'string', minLength: 3 }, { type: 'null' }] },
        b: { type: 'integer', not: { const: 3 }, const: 2, multipleOf: 2 },
      },
      required: ['a', 'b'],
      if: { properties: { b: { const: 1 } } },
      // oxlint-disable-next-line unicorn/no-thenable -- a word of JSON Schema.
      then: { required: ['a'] },
    };
    expect(heldSchema(schema, CLAUDE_HELD)).toEqual({
      type: 'object',
      properties: {
        a: { anyOf: [{ type: 'string', description: 'minLength: 3' }, { type: 'null' }] },
        b: { type: 'integer', const: 2, description: 'not: {"const":3}, multipleOf: 2' },
      },
      required: ['a', 'b'],
      description: 'if: {"properties":{"b":{"const":1}}}, then: {"required":["a"]}',
      additionalProperties: false,
    });
  });

  it.each([
    ['may be any object', { type: 'object', properties: { a: { type: 'object' } } }],
    ['is open on purpose', { type: 'object', properties: {}, additionalProperties: { type: 'string' } }],
    ['has properties by pattern', { type: 'object', properties: {}, patternProperties: { '^a': A } }],
    ['refers to another document', { type: 'object', properties: { a: { $ref: 'https://schemas.example/a' } } }],
    ['refers to itself', { type: 'object', properties: { a: { $ref: '#' } } }],
  ])('is none where it %s', (_what, schema) => {
    expect(heldSchema(schema, CLAUDE_HELD)).toBeUndefined();
  });

  it('is none where a property may be left out, at a provider that holds none to that', () => {
    const schema = { type: 'object', properties: { a: A, b: B }, required: ['a'] };
    expect(heldSchema(schema, OPENAI_HELD)).toBeUndefined();
    expect(heldSchema({ ...schema, required: ['a', 'b'] }, OPENAI_HELD)).toMatchObject({ additionalProperties: false });
  });

  it('shares the limits of its request with others', () => {
    const schema = {
      type: 'object',
      properties: Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`p${n}`, A])),
    };
    const used = { optional: 0, unions: 0 };
    expect(heldSchema(schema, CLAUDE_HELD, used)).toBeDefined();
    expect(heldSchema(schema, CLAUDE_HELD, used)).toBeDefined();
    expect(heldSchema(schema, CLAUDE_HELD, used)).toBeUndefined();
    expect(used).toEqual({ optional: 18, unions: 0 });
  });

  it('joins what a model of a program says beside a reference', () => {
    const schema = {
      type: 'object',
      properties: { a: { allOf: [{ $ref: '#/definitions/A' }], description: 'An a.', default: null } },
      required: ['a'],
      definitions: { A: { type: 'object', properties: { x: { type: 'string', nullable: true } }, required: ['x'] } },
    };
    const a = { type: 'object', properties: { x: { type: ['string', 'null'] } }, required: ['x'] };
    const closed = { ...a, additionalProperties: false };
    expect(heldSchema(schema, CLAUDE_HELD)).toMatchObject({
      properties: { a: { ...closed, description: 'An a.', default: null } },
    });
    expect(heldSchema(schema, OPENAI_HELD)).toMatchObject({
      properties: { a: { ...closed, description: 'An a.. default: null' } },
      definitions: { A: closed },
    });
  });
});

const NAMES = ['a', 'b', 'kind', 'oneOf', '__proto__'];
const scalar = fc.constantFrom<unknown>('x', 'yy', 'zzzz', 0, 1, 2.5, true, null);

/** Schemas of values, with words that some provider refuses; objects are closed, so that no rewriting has to close one. */
const { schema: schemas } = fc.letrec<{ schema: JsonSchema; object: JsonSchema; leaf: JsonSchema }>((tie) => ({
  schema: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    tie('leaf'),
    tie('object'),
    fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }) }),
    fc.record({ oneOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }) }),
    fc.record({ allOf: fc.array(tie('leaf'), { minLength: 1, maxLength: 2 }) }),
    fc.record(
      { type: fc.constant('array'), items: tie('schema'), minItems: fc.constantFrom(0, 2) },
      { requiredKeys: ['type', 'items'] },
    ),
  ),
  leaf: fc.oneof(
    fc.record(
      {
        type: fc.constantFrom<unknown>('string', 'number', 'integer', 'boolean', 'null', ['string', 'null']),
        minLength: fc.constant(2),
        maximum: fc.constant(1),
        not: fc.constant({ const: 'x' }),
        title: fc.constant('Leaf'),
        default: fc.constant('x'),
        description: fc.constantFrom('One.', 'Two.'),
      },
      { requiredKeys: ['type'] },
    ),
    fc.record({ enum: fc.uniqueArray(scalar, { minLength: 1, maxLength: 3 }) }),
    fc.record({ const: scalar }),
  ),
  object: fc
    .uniqueArray(fc.tuple(fc.constantFrom(...NAMES), tie('schema')), { selector: ([name]) => name, maxLength: 3 })
    .chain((entries) =>
      fc.record(
        {
          type: fc.constant('object'),
          properties: fc.constant(Object.fromEntries(entries)),
          required: fc.subarray(entries.map(([name]) => name)),
          additionalProperties: fc.constant(false),
          anyOf: fc.array(fc.record({ required: fc.subarray(entries.map(([name]) => name)) }), {
            minLength: 1,
            maxLength: 2,
          }),
        },
        { requiredKeys: ['type', 'properties', 'additionalProperties'] },
      ),
    ),
}));

const roots = fc.oneof(
  fc.record({
    type: fc.constant('object'),
    properties: fc.dictionary(fc.constantFrom(...NAMES), schemas, { maxKeys: 3 }),
    additionalProperties: fc.constant(false),
  }),
  fc.record({ oneOf: fc.array(objects(), { minLength: 1, maxLength: 3 }) }),
  fc.record({ anyOf: fc.array(objects(), { minLength: 1, maxLength: 3 }) }),
  objects(),
);

function objects(): fc.Arbitrary<JsonSchema> {
  return schemas.filter((schema) => schema['type'] === 'object');
}

const { value: values } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    scalar,
    fc.array(tie('value'), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom(...NAMES), tie('value'), { maxKeys: 3 }),
  ),
}));
const objectValues = fc.dictionary(fc.constantFrom(...NAMES), values, { maxKeys: 3, noNullPrototype: true });

function fits(schema: JsonSchema): (value: unknown) => boolean {
  const ajv = addFormats.default(new Ajv2020({ strict: false, logger: false, meta: false, validateSchema: false }));
  const validate = ajv.compile(schema);
  return (value) => validate(value);
}

const BY_NAME = new Set(['properties', '$defs', 'definitions']);

/** Every word of a schema and of those in it. */
function wordsOf(schema: unknown): readonly string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  if (Array.isArray(schema)) return schema.flatMap(wordsOf);
  return Object.entries(schema).flatMap(([word, value]) => {
    if (word === 'enum' || word === 'const' || word === 'default' || word === 'required') return [word];
    const inner = BY_NAME.has(word) ? Object.values(value as object).flatMap(wordsOf) : wordsOf(value);
    return [word, ...inner];
  });
}

describe('whatever schema it is', () => {
  const runs = { numRuns: storm(2_000) };
  const held: readonly (readonly [string, HeldSchemaRules])[] = [
    ['Anthropic', CLAUDE_HELD],
    ['strict tools of Anthropic', CLAUDE_STRICT_TOOLS],
    ['OpenAI', OPENAI_HELD],
  ];

  it.each([
    ['Anthropic', CLAUDE_TOOLS],
    ['OpenAI', OPENAI_TOOLS],
  ])('as a tool at %s it is one object, takes what it took, and stays as it is', (_vendor, rules) => {
    fc.assert(
      fc.property(roots, fc.array(objectValues, { maxLength: 8 }), (schema, some) => {
        const written = toolArgumentsSchema(schema, rules);
        expect(written['type']).toBe('object');
        for (const word of rules.notAtRoot ?? []) expect(written).not.toHaveProperty(word);
        expect(toolArgumentsSchema(written, rules)).toEqual(written);
        const [before, after] = [fits(schema), fits(written)];
        for (const value of some) if (before(value)) expect(after(value)).toBe(true);
      }),
      runs,
    );
  });

  it.each(held)('held by %s it has only known words, takes what it took, and stays as it is', (_vendor, rules) => {
    let written = 0;
    fc.assert(
      fc.property(roots, fc.array(objectValues, { maxLength: 8 }), (schema, some) => {
        const closed = heldSchema(schema, rules);
        if (closed === undefined) return;
        written += 1;
        for (const word of wordsOf(closed)) expect(rules.words).toContain(word);
        expect(heldSchema(closed, rules)).toEqual(closed);
        const [before, after] = [fits(schema), fits(closed)];
        for (const value of some) if (before(value)) expect(after(value)).toBe(true);
      }),
      runs,
    );
    expect(written).toBeGreaterThan(storm(100));
  });
});
