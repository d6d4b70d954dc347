import type { Chance } from './chance.ts';
import type { Schema } from './json-schema.ts';

/** How far numbers go where the schema does not say. */
const USUAL_SPAN = 100;

/**
 * A number within the bounds of a schema.
 *
 * @param variation - Added on top where there is room, to find different numbers.
 */
export function numberFor(schema: Schema, type: 'integer' | 'number', chance: Chance, variation: number): number {
  const step = stepOf(schema, type);
  const lowest = Math.max(boundOf(schema, 'minimum', -Infinity), boundOf(schema, 'exclusiveMinimum', -Infinity));
  const highest = Math.min(boundOf(schema, 'maximum', Infinity), boundOf(schema, 'exclusiveMaximum', Infinity));
  const from = lowest === -Infinity ? Math.min(1, highest - USUAL_SPAN) : lowest;
  const to = highest === Infinity ? Math.max(from + USUAL_SPAN, 1) : highest;
  if (step === undefined) return rounded(from, to, chance.next());
  // Counting in steps keeps multiples exact; the bounds are moved inward to the nearest multiple that they allow.
  const first = firstStep(from, step, from === boundOf(schema, 'exclusiveMinimum', NaN));
  const last = -firstStep(-to, step, to === boundOf(schema, 'exclusiveMaximum', NaN));
  const room = Math.max(1, last - first + 1);
  const steps = first + ((chance.integer(0, Math.min(room, USUAL_SPAN) - 1) + variation) % room);
  return steps * step + 0;
}

function stepOf(schema: Schema, type: 'integer' | 'number'): number | undefined {
  const multiple = schema['multipleOf'];
  const step = typeof multiple === 'number' && multiple > 0 ? multiple : undefined;
  if (type === 'number') return step;
  if (step === undefined) return 1;
  // A whole number that is a multiple of a broken one: the smallest whole multiple will do as the step.
  for (let factor = 1; factor <= USUAL_SPAN; factor += 1) if (Number.isInteger(step * factor)) return step * factor;
  return 1;
}

function firstStep(from: number, step: number, exclusive: boolean): number {
  const first = Math.ceil(from / step);
  return exclusive && first * step === from ? first + 1 : first;
}

/** A number with few digits, if one lies between the bounds. */
function rounded(from: number, to: number, share: number): number {
  const exact = from + (to - from) * (0.1 + 0.8 * share);
  for (const digits of [1, 10, 100, 1_000]) {
    const short = Math.round(exact * digits) / digits;
    if (short > from && short < to) return short + 0;
  }
  return exact;
}

function boundOf(schema: Schema, name: string, without: number): number {
  const value = schema[name];
  return typeof value === 'number' ? value : without;
}
