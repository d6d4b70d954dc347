import { distance } from 'fastest-levenshtein';

/** The candidate that a misspelt name probably meant, or undefined when none is close. */
export function nearName(name: string, candidates: Iterable<string>): string | undefined {
  const wanted = name.toLowerCase();
  const allowed = Math.max(1, Math.floor(wanted.length / 3));
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
