import { Ajv2020 } from 'ajv/dist/2020.js';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fitsSchema } from '../../../src/plugins/response-healing/fits-schema.ts';
import type { JsonObject, JsonValue } from '../../../src/protocol/json.ts';
import { runs } from '../../support/properties.ts';

const key = fc.constantFrom('a', 'b', 'c');
const scalar = fc.constantFrom<JsonValue>(null, true, false, 0, 1, 2, 2.5, -1, '', 'x', 'xyz', '😅');
const value = fc.letrec<{ any: JsonValue }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    scalar,
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(key, tie('any'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).any;
const count = fc.integer({ min: 0, max: 3 });
const type = fc.constantFrom('null', 'boolean', 'integer', 'number', 'string', 'array', 'object');

/** Schemas of up to four keywords that are worked out. */
const schema = fc.letrec<{ any: JsonObject | boolean; object: JsonObject }>((tie) => {
  const keyword = (name: string, said: fc.Arbitrary<unknown>): fc.Arbitrary<JsonObject> =>
    said.map((one) => ({ [name]: one }) as JsonObject);
  const plain = [
    keyword('type', fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 }))),
    keyword('enum', fc.uniqueArray(scalar, { minLength: 1, maxLength: 4 })),
    keyword('const', scalar),
    keyword('minimum', count),
    keyword('exclusiveMaximum', count),
    keyword('multipleOf', fc.constantFrom(1, 2, 0.5)),
    keyword('minLength', count),
    keyword('maxLength', count),
    keyword('required', fc.uniqueArray(key, { maxLength: 2 })),
    keyword('propertyNames', fc.record({ maxLength: fc.constantFrom(0, 1) })),
    keyword('minProperties', count),
    keyword('maxProperties', count),
    keyword('dependentRequired', fc.dictionary(key, fc.uniqueArray(key, { maxLength: 2 }), { maxKeys: 2 })),
    keyword('uniqueItems', fc.boolean()),
    keyword('minItems', count),
    keyword('maxItems', count),
  ];
  const several = fc.array(tie('any'), { minLength: 1, maxLength: 2 });
  const nested = [
    keyword('properties', fc.dictionary(key, tie('any'), { maxKeys: 2 })),
    keyword('additionalProperties', tie('any')),
    keyword('dependentSchemas', fc.dictionary(key, tie('any'), { maxKeys: 1 })),
    keyword('items', tie('any')),
    keyword('prefixItems', several),
    ...['anyOf', 'oneOf', 'allOf'].map((name) => keyword(name, several)),
    keyword('not', tie('any')),
  ];
  const keywords = fc.oneof({ maxDepth: 3, depthIdentifier: 'schema' }, fc.oneof(...plain), fc.oneof(...nested));
  return {
    any: fc.oneof({ weight: 1, arbitrary: fc.boolean() }, { weight: 8, arbitrary: tie('object') }),
    object: fc.array(keywords, { minLength: 1, maxLength: 4 }).map((all): JsonObject => Object.assign({}, ...all)),
  };
});

const oracle = new Ajv2020({ strict: false, validateSchema: false, logger: false });

describe('fitsSchema', () => {
  it('says the same as a full validator about keywords that it works out', () => {
    fc.assert(
      fc.property(schema.object, value, (one, instance) => {
        expect(fitsSchema(one, instance)).toBe(oracle.validate(one, instance));
      }),
      runs(300),
    );
  });

  it('never refuses what a full validator accepts, whatever keywords there are', () => {
    const more = fc.record(
      {
        pattern: fc.constantFrom('^x', 'z$'),
        format: fc.constantFrom('email', 'date-time'),
        patternProperties: fc.dictionary(fc.constantFrom('^a', 'c$'), schema.any, { maxKeys: 2 }),
        unevaluatedProperties: fc.boolean(),
        'x-order': fc.integer(),
      },
      { requiredKeys: [] },
    );
    const conditions = fc
      .tuple(schema.any, schema.any, schema.any)
      .map(([condition, yes, no]) =>
        Object.fromEntries(Object.entries({ if: condition, else: no }).concat([['then', yes]])),
      );
    const lenient = new Ajv2020({ strict: false, validateSchema: false, logger: false, validateFormats: false });
    fc.assert(
      fc.property(schema.object, fc.oneof(more, conditions), value, fc.boolean(), (one, other, instance, negated) => {
        const whole = (negated ? { not: { ...one, ...other } } : { ...one, ...other }) as JsonObject;
        const verdict = fitsSchema(whole, instance);
        if (verdict !== undefined) expect(verdict).toBe(lenient.validate(whole, instance));
      }),
      runs(300),
    );
  });

  it('follows references within the schema, also those that lead back', () => {
    const tree = {
      $defs: { 'a/b': { type: 'object', properties: { next: { $ref: '#/$defs/a~1b' } }, required: ['n'] } },
      $ref: '#/$defs/a~1b',
    };
    expect(fitsSchema(tree, { n: 1, next: { n: 2, next: { n: 3 } } })).toBe(true);
    expect(fitsSchema(tree, { n: 1, next: { n: 2, next: {} } })).toBe(false);
    expect(fitsSchema({ $ref: '#/$defs/gone' }, 1)).toBeUndefined();
    expect(fitsSchema({ $ref: 'https://example.org/other.json' }, 1)).toBeUndefined();
    expect(fitsSchema({ $ref: '#' }, 1)).toBeUndefined();
  });

  it('counts what a list must contain', () => {
    const ones = { contains: { const: 1 } };
    expect([[], [2], [2, 1]].map((list) => fitsSchema(ones, list))).toEqual([false, false, true]);
    expect(fitsSchema({ ...ones, minContains: 2, maxContains: 2 }, [1, 2, 1])).toBe(true);
    expect(fitsSchema({ ...ones, minContains: 2, maxContains: 2 }, [1, 1, 1])).toBe(false);
    expect(fitsSchema({ contains: { pattern: '(?=x)' } }, ['a'])).toBeUndefined();
    expect(fitsSchema({ contains: { pattern: '(?=x)' } }, [])).toBe(false);
  });

  it('gives up on schemas that branch without end', () => {
    const branching = { anyOf: [{ $ref: '#/x' }, { $ref: '#/x' }], x: { allOf: [{ $ref: '#' }, { $ref: '#' }] } };
    expect(fitsSchema(branching, 1)).toBeUndefined();
    const both = { properties: { a: { anyOf: [{ $ref: '#' }, { $ref: '#' }] } }, not: { const: 7 } };
    const deep = JSON.parse(`${'{"a":'.repeat(60)}7${'}'.repeat(60)}`) as JsonValue;
    expect(fitsSchema(both, deep)).not.toBe(true);
  });

  it('knows what older drafts and OpenAPI say differently', () => {
    expect(fitsSchema({ maximum: 3, exclusiveMaximum: true }, 3)).toBe(false);
    expect(fitsSchema({ type: 'string', nullable: true }, null)).toBe(true);
    expect(fitsSchema({ items: [{ type: 'string' }], additionalItems: false }, ['a', 1])).toBe(false);
    const draft7 = { $schema: 'http://json-schema.org/draft-07/schema#', $ref: '#/definitions/a', type: 'null' };
    expect(fitsSchema({ ...draft7, definitions: { a: { type: 'string' } } }, 'x')).toBe(true);
    expect(fitsSchema({ multipleOf: 0.1 }, 0.3)).toBe(true);
  });
});
