import { describe, expect, it } from 'vitest';
import { anyOf, conjoin, conjunction, flattened } from '../../../src/core/schema/join-schemas.ts';
import type { JsonSchema, State } from '../../../src/core/schema/schema-parts.ts';

function stateOf(root: JsonSchema = {}): State {
  return { root, rules: {}, following: new Set(), optional: 0, unions: 0, looked: 0, isImpossible: false };
}

const A = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] } as const;
const B = { type: 'object', properties: { b: { type: 'number' } }, required: ['b'] } as const;

describe('several schemas as one', () => {
  it('has what all of them demand', () => {
    expect(conjunction({ allOf: [A, B], additionalProperties: false }, stateOf())).toEqual({
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'number' } },
      required: ['a', 'b'],
      additionalProperties: false,
    });
  });

  it('joins the same property, and tells what cannot be joined', () => {
    const joined = conjoin({ type: 'number', minimum: 1 }, { type: 'integer', minimum: 3 }, stateOf());
    expect(joined).toEqual({ type: 'integer', minimum: 1, description: 'minimum: 3' });
  });

  it('follows references, and not in circles', () => {
    const root: JsonSchema = {
      $defs: { x: { $ref: '#/$defs/y' }, y: { allOf: [{ $ref: '#/$defs/x' }], type: 'string' } },
    };
    expect(conjoin({}, { $ref: '#/$defs/x' }, stateOf(root))).toMatchObject({ type: 'string' });
  });

  it('keeps a reference that stands alone', () => {
    expect(conjunction({ allOf: [{ $ref: '#/$defs/x' }], description: 'An x' }, stateOf())).toEqual({
      $ref: '#/$defs/x',
      description: 'An x',
    });
  });
});

describe('a union as one object', () => {
  it('has the properties of all, requires what all require, and tells the rule', () => {
    const union = { type: 'object', oneOf: [{ ...A, properties: { ...A.properties, kind: { const: 'a' } } }, B] };
    expect(flattened(union, 'oneOf', stateOf())).toEqual({
      type: 'object',
      properties: { a: { type: 'string' }, kind: { const: 'a' }, b: { type: 'number' } },
      description: 'Exactly one of these rules must be kept: required ["a"] with {"kind":"a"} | required ["b"]',
    });
  });

  it('is closed only where each member is', () => {
    const closed = { ...A, additionalProperties: false };
    expect(flattened({ anyOf: [closed, closed] }, 'anyOf', stateOf())).toMatchObject({ additionalProperties: false });
    expect(flattened({ anyOf: [closed, B] }, 'anyOf', stateOf())).not.toHaveProperty('additionalProperties');
    expect(flattened({ anyOf: [closed, { ...B, additionalProperties: true }] }, 'anyOf', stateOf())).toMatchObject({
      additionalProperties: true,
    });
  });

  it('leaves out members that are no objects', () => {
    expect(flattened({ type: 'object', anyOf: [{ type: 'null' }] }, 'anyOf', stateOf())).toEqual({ type: 'object' });
  });
});

describe('values of any of several schemas', () => {
  it('stay one list where they are named one by one', () => {
    expect(anyOf([{ const: 'a' }, { enum: ['b', 'a'] }])).toEqual({ enum: ['a', 'b'] });
    expect(
      anyOf([
        { type: 'string', const: 'a' },
        { type: 'string', const: 'b' },
      ]),
    ).toEqual({
      type: 'string',
      enum: ['a', 'b'],
    });
  });

  it('are a union otherwise, or the only one', () => {
    expect(anyOf([{ type: 'string' }])).toEqual({ type: 'string' });
    expect(anyOf([{ type: 'string' }, { const: 1 }])).toEqual({ anyOf: [{ type: 'string' }, { const: 1 }] });
  });
});
