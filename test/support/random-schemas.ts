import * as fc from 'fast-check';

/** JSON Schemas as tools in the field have them: unions at the root, words that few providers take, holes. */

const DEPTH = { maxDepth: 2, depthSize: 'small' } as const;

const leaf: fc.Arbitrary<object> = fc.constantFrom<object>(
  { type: 'string' },
  { type: 'string', description: 'A text.', minLength: 1, maxLength: 20 },
  { type: 'string', pattern: '^[a-z]+$' },
  { type: 'string', format: 'uri' },
  { type: 'string', format: 'date-time' },
  { type: 'string', enum: ['a', 'b'] },
  { enum: ['a', 'b'] },
  { type: 'integer', enum: [1, 2] },
  { const: 'a' },
  { type: 'string', const: 'a' },
  { type: 'integer', minimum: 1, maximum: 10 },
  { type: 'number', exclusiveMinimum: 0, multipleOf: 0.5 },
  { type: 'boolean', default: false },
  { type: ['string', 'null'] },
  { type: 'null' },
  { type: 'array' },
  { type: 'object' },
  { $ref: '#/$defs/Place' },
  { $ref: '#/$defs/Place', description: 'Where.' },
  {},
);

const inner: fc.Arbitrary<object> = fc.letrec<{ schema: object }>((tie) => ({
  schema: fc.oneof(
    DEPTH,
    { weight: 5, arbitrary: leaf },
    { weight: 3, arbitrary: objectOf(tie('schema')) },
    {
      weight: 2,
      arbitrary: fc.record(
        {
          type: fc.constant('array'),
          items: tie('schema'),
          minItems: fc.constantFrom(0, 1, 3),
          maxItems: fc.constant(5),
          uniqueItems: fc.constant(true),
        },
        { requiredKeys: ['type', 'items'] },
      ),
    },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.constantFrom('anyOf', 'oneOf', 'allOf'), fc.array(tie('schema'), { minLength: 1, maxLength: 2 }))
        .map(([word, list]) => ({ [word]: list })),
    },
    { weight: 1, arbitrary: tie('schema').map((one) => ({ type: 'string', not: one })) },
    {
      weight: 1,
      arbitrary: tie('schema').map((one) => ({
        type: 'object',
        properties: { a: one },
        if: { required: ['a'] },
        // oxlint-disable-next-line unicorn/no-thenable -- a word of JSON Schema.
        then: {},
      })),
    },
    {
      weight: 1,
      arbitrary: tie('schema').map((one) => ({ type: 'object', patternProperties: { '^x-': one } })),
    },
  ),
})).schema;

function objectOf(property: fc.Arbitrary<object>): fc.Arbitrary<object> {
  return fc
    .record(
      {
        type: fc.constant('object'),
        properties: fc.dictionary(fc.constantFrom('a', 'b', 'at', 'some-name'), property, { maxKeys: 3 }),
        additionalProperties: fc.constantFrom<unknown>(true, false, { type: 'string' }),
        title: fc.constant('Things'),
      },
      { requiredKeys: ['type'] },
    )
    .chain((schema) =>
      fc
        .option(fc.subarray(Object.keys(schema.properties ?? {})), { nil: undefined })
        .map((required) => (required === undefined ? schema : { ...schema, required })),
    );
}

const DEFINITIONS = {
  Place: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};

/** Roots: objects, unions of what is required, unions of objects, and roots that say nothing of their type. */
const root: fc.Arbitrary<object> = fc.oneof(
  { weight: 6, arbitrary: objectOf(inner) },
  {
    weight: 2,
    arbitrary: fc.constantFrom('anyOf', 'oneOf').map((word) => ({
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'string' } },
      [word]: [{ required: ['a'] }, { required: ['b'] }],
    })),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom('anyOf', 'oneOf', 'allOf'), fc.array(objectOf(inner), { minLength: 1, maxLength: 2 }))
      .map(([word, list]) => ({ [word]: list })),
  },
  {
    weight: 1,
    arbitrary: inner.map((one) => ({
      type: 'object',
      properties: { a: one },
      if: { required: ['a'] },
      // oxlint-disable-next-line unicorn/no-thenable -- a word of JSON Schema.
      then: { required: ['b'] },
      else: {},
    })),
  },
  { weight: 1, arbitrary: objectOf(inner).map((one) => ({ type: 'object', properties: {}, not: one })) },
  { weight: 1, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc.constant({ $schema: 'http://json-schema.org/draft-07/schema#', type: 'object', properties: {} }),
  },
  {
    weight: 1,
    arbitrary: fc.constant({
      type: 'object',
      properties: { child: { $ref: '#' }, list: { type: 'array', items: { $ref: '#/$defs/Place' } } },
    }),
  },
);

/** A schema of a tool or a response format; what it refers to is there. */
export const randomSchema: fc.Arbitrary<object> = root.map((schema) =>
  JSON.stringify(schema).includes('#/$defs/') ? { ...schema, $defs: DEFINITIONS } : schema,
);
