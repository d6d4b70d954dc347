/**
 * What is known about a value under a schema: true when it fits, false when it does not, undefined when nobody can
 * say, because a keyword is not understood or the work became too much.
 */
export type Verdict = boolean | undefined;

/** True when all are; one that is false decides at once. */
export function all(verdicts: Iterable<Verdict>): Verdict {
  let known = true;
  for (const verdict of verdicts) {
    if (verdict === false) return false;
    if (verdict === undefined) known = false;
  }
  return known ? true : undefined;
}

/** True when one is; one that is true decides at once. */
export function any(verdicts: Iterable<Verdict>): Verdict {
  let known = true;
  for (const verdict of verdicts) {
    if (verdict === true) return true;
    if (verdict === undefined) known = false;
  }
  return known ? false : undefined;
}

/** True when as many are true as a rule allows: at least `least` and at most `most`. */
export function some(verdicts: Iterable<Verdict>, least: number, most: number): Verdict {
  let sure = 0;
  let possible = 0;
  for (const verdict of verdicts) {
    if (verdict === true) sure += 1;
    if (verdict !== false) possible += 1;
  }
  if (sure > most || possible < least) return false;
  return sure >= least && possible <= most ? true : undefined;
}

/** The opposite, if it is known. */
export function not(verdict: Verdict): Verdict {
  return verdict === undefined ? undefined : !verdict;
}
