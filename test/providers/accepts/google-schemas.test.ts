import { describe, expect, it } from 'vitest';
import { toolArgumentsSchema } from '../../../src/core/schema/rewrite-schema.ts';
import { GOOGLE_FORMATS } from '../../../src/providers/accepts/schemas.ts';

const googleSchema = (schema: object): unknown =>
  toolArgumentsSchema(schema as Record<string, unknown>, GOOGLE_FORMATS);

describe('a schema for Google', () => {
  it.each<readonly [string, object, object]>([
    [
      'tells what it does not know',
      { type: 'string', pattern: '^a', minLength: 1, description: 'A name' },
      { type: 'string', description: 'A name. pattern: "^a", minLength: 1' },
    ],
    ['loses its dialect', { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'null' }, { type: 'null' }],
    ['has a list of one for a constant', { const: null }, { enum: [null] }],
    ['has a type for null', { type: 'string', nullable: true }, { type: ['string', 'null'] }],
    ['knows prefixItems', { items: [{ const: 1 }, true] }, { prefixItems: [{ enum: [1] }, true] }],
    [
      'has nothing beside a reference, and loses nothing',
      { $ref: '#/$defs/a', description: 'x' },
      { anyOf: [{ $ref: '#/$defs/a' }], description: 'x' },
    ],
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
        required: ['a', 'b'],
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
      { properties: { const: { type: 'string' }, $schema: { type: 'string' } }, description: 'enum: [{"const":1}]' },
    ],
  ])('%s', (_name, schema, expected) => {
    expect(googleSchema(schema)).toEqual(expected);
  });

  it('may have a property of any name', () => {
    const schema = JSON.parse('{"properties":{"__proto__":{"const":1}}}') as Record<string, unknown>;
    expect(JSON.stringify(googleSchema(schema))).toBe('{"properties":{"__proto__":{"enum":[1]}}}');
  });
});
