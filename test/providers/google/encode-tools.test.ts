import { describe, expect, it } from 'vitest';
import { takesNothing } from '../../../src/providers/google/encode-tools.ts';

describe('the schema of a function', () => {
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
