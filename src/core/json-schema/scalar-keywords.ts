import { type JsonObject, type JsonValue, isJsonObject } from '../../protocol/json.ts';
import { canonical } from './canonical.ts';
import { type Verdict, all, any } from './verdict.ts';

/** What the keywords about a value by itself say: its type, its set of values, limits of numbers and texts. */
export function* scalarVerdicts(schema: JsonObject, value: JsonValue): Generator<Verdict> {
  if (schema['type'] !== undefined) yield any([schema['type']].flat().map((type) => isOfType(value, type)));
  if (Array.isArray(schema['enum'])) {
    const own = canonical(value);
    yield schema['enum'].some((one) => canonical(one) === own);
  }
  if (schema['const'] !== undefined) yield canonical(schema['const']) === canonical(value);
  if (typeof value === 'number') yield all(numberVerdicts(schema, value));
  if (typeof value === 'string') yield all(textVerdicts(schema, value));
}

function isOfType(value: JsonValue, type: JsonValue): Verdict {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isJsonObject(value);
    case 'integer':
      return Number.isInteger(value);
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type;
    default:
      return undefined;
  }
}

function* numberVerdicts(schema: JsonObject, value: number): Generator<Verdict> {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  // In draft 4 the exclusive limits are flags that stand beside the limits.
  if (typeof minimum === 'number') yield exclusiveMinimum === true ? value > minimum : value >= minimum;
  if (typeof maximum === 'number') yield exclusiveMaximum === true ? value < maximum : value <= maximum;
  if (typeof exclusiveMinimum === 'number') yield value > exclusiveMinimum;
  if (typeof exclusiveMaximum === 'number') yield value < exclusiveMaximum;
  if (typeof multipleOf === 'number' && multipleOf > 0) {
    const times = value / multipleOf;
    // 0.3 is a multiple of 0.1, although binary fractions say otherwise.
    yield Math.abs(times - Math.round(times)) <= 1e-9 * Math.max(1, Math.abs(times));
  }
}

function* textVerdicts({ minLength, maxLength, pattern }: JsonObject, value: string): Generator<Verdict> {
  if (typeof minLength === 'number') yield lengthOf(value) >= minLength;
  if (typeof maxLength === 'number') yield lengthOf(value) <= maxLength;
  // Expressions of callers are not run: one can be made to compute for hours.
  if (pattern !== undefined) yield undefined;
}

/** Characters, as JSON Schema counts them: a pair of surrogates is one. */
function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}
