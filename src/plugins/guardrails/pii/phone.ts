import type { Finding } from '../finding.ts';

/**
 * Shapes of telephone numbers. A row of digits alone is none, and neither is a date: there must be a `+`, or the groups
 * of a country. Every repetition is bounded, so the work is proportional to the text.
 */
const SHAPES: readonly RegExp[] = [
  // International.
  /(?<![\w+]|\d[ .-])(?:\+|00(?=[1-9]))\d(?:[ .()/-]{0,2}\d){6,14}(?!\d)/g,
  // North America.
  /(?<![\d.])(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?![\d.-]*\d)/g,
  // National, with the code of a city or network.
  /(?<![\w.,-]|\d )\(?0[1-9]\d{1,3}\)?[ /-]\d{2,8}(?:[ -]\d{2,8}){0,3}(?!\d)/g,
  // National, in pairs.
  /(?<![\w.]|\d[ -])0[1-9](?:[ .-]\d{2}){4}(?![\d.-]*\d)/g,
];

const FEWEST_DIGITS = 9;
const MOST_DIGITS = 15;

/** Telephone numbers. */
export function findPhones(text: string): readonly Finding[] {
  return SHAPES.flatMap((shape) =>
    [...text.matchAll(shape)]
      .filter(([number]) => {
        const digits = number.replaceAll(/\D/g, '').length;
        return digits <= MOST_DIGITS && digits >= (number.startsWith('+') ? 8 : FEWEST_DIGITS);
      })
      .map(({ 0: number, index }) => ({ pattern: 'PHONE', start: index, end: index + number.length })),
  );
}
