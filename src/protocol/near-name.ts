import { distance } from 'fastest-levenshtein';

/**
 * The candidate that a misspelt name probably meant, or undefined when none is close.
 *
 * @param allowed - Letters that may be wrong. Default: a third of them.
 */
export function nearName(
  name: string,
  candidates: Iterable<string>,
  allowed: number = Math.max(1, Math.floor(name.length / 3)),
): string | undefined {
  const wanted = name.toLowerCase();
  let best: string | undefined;
  let bestDistance = allowed + 1;
  for (const candidate of candidates) {
    // What the caller sent may be very long.
    if (Math.abs(candidate.length - wanted.length) > allowed) continue;
    const steps = distance(wanted, candidate.toLowerCase());
    if (steps < bestDistance) {
      best = candidate;
      bestDistance = steps;
    }
  }
  return best;
}

/**
 * The candidates that a misspelt name probably meant, the nearest first; few letters may be wrong.
 *
 * @param candidates - What is proposed, and as what it is compared.
 * @param most - Names that are given at most.
 */
export function nearNames(
  name: string,
  candidates: Iterable<{ readonly name: string; readonly as: string }>,
  most: number,
): readonly string[] {
  const wanted = name.toLowerCase();
  const allowed = Math.max(1, Math.floor(name.length / 4));
  const found = new Map<string, number>();
  for (const { name: candidate, as } of candidates) {
    if (Math.abs(as.length - wanted.length) > allowed) continue;
    const steps = distance(wanted, as.toLowerCase());
    if (steps <= allowed && steps < (found.get(candidate) ?? Infinity)) found.set(candidate, steps);
  }
  const nearest = [...found].sort(([, left], [, right]) => left - right);
  return nearest.slice(0, most).map(([candidate]) => candidate);
}
