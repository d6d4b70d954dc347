import { describe, expect, it } from 'vitest';
import { googleSchema, takesNothing } from '../../../src/providers/google/json-schema.ts';

describe('a schema for Google', () => {
  it.each<readonly [string, object, object]>([
    [
      'keeps what it knows',
      { type: 'string', pattern: '^a', minLength: 1 },
      { type: 'string', pattern: '^a', minLength: 1 },
    ],
    ['loses its dialect', { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'null' }, { type: 'null' }],
    ['has a list of one for a constant', { const: null }, { enum: [null] }],
    ['has a type for null', { type: 'string', nullable: true }, { type: ['string', 'null'] }],
    ['knows prefixItems', { items: [{ const: 1 }, true] }, { prefixItems: [{ enum: [1] }, true] }],
    ['has nothing beside a reference', { $ref: '#/$defs/a', description: 'x' }, { $ref: '#/$defs/a' }],
    [
      'has the newer word for definitions',
      { $ref: '#/definitions/a', definitions: { a: { const: 1 } } },
      { $ref: '#/$defs/a', $defs: { a: { enum: [1] } } },
    ],
    [
      'is one where all of several are meant',
      {
        type: 'object',
        required: ['a'],
        properties: { a: { allOf: [{ $ref: '#/$defs/x' }] } },
        allOf: [{ properties: { b: { type: 'string' } }, required: ['b'] }],
      },
      {
        type: 'object',
        required: ['b', 'a'],
        properties: { b: { type: 'string' }, a: { $ref: '#/$defs/x' } },
      },
    ],
    [
      'is changed wherever a schema may stand',
      { anyOf: [{ const: 1 }], additionalProperties: { const: 2 }, items: { const: 3 }, $defs: { a: { const: 4 } } },
      {
        anyOf: [{ enum: [1] }],
        additionalProperties: { enum: [2] },
        items: { enum: [3] },
        $defs: { a: { enum: [4] } },
      },
    ],
    [
      'may have properties with the names of keywords',
      { properties: { const: { type: 'string' }, $schema: { type: 'string' } }, enum: [{ const: 1 }] },
      { properties: { const: { type: 'string' }, $schema: { type: 'string' } }, enum: [{ const: 1 }] },
    ],
  ])('%s', (_name, schema, expected) => {
    expect(googleSchema(schema as Record<string, unknown>)).toEqual(expected);
  });

  it('may have a property of any name', () => {
    const schema = JSON.parse('{"properties":{"__proto__":{"const":1}}}') as Record<string, unknown>;
    expect(JSON.stringify(googleSchema(schema))).toBe('{"properties":{"__proto__":{"enum":[1]}}}');
  });

  it.each<readonly [object | null | undefined, boolean]>([
    [null, true],
    [{}, true],
    [{ type: 'object' }, true],
    [{ type: 'object', properties: {}, additionalProperties: false, $schema: 'x' }, true],
    [{ type: 'object', properties: { a: {} } }, false],
    [{ type: 'object', additionalProperties: { type: 'string' } }, false],
    [{ anyOf: [{ type: 'object' }] }, false],
    [{ $ref: '#/$defs/a', $defs: { a: {} } }, false],
    [{ type: 'array' }, false],
  ])('of %j takes nothing: %s', (schema, expected) => {
    expect(takesNothing(schema as Record<string, unknown> | null | undefined)).toBe(expected);
  });
});
