import { cheapestFirst, type Coder } from './tiers.ts';

/**
 * The pareto frontier: models for which no other is both as cheap and better, or as good and cheaper. Best score first,
 * which is also the dearest first.
 */
export function frontier(coders: readonly Coder[]): readonly Coder[] {
  const found: Coder[] = [];
  let best = -Infinity;
  for (const coder of [...coders].sort(cheapestFirst)) {
    if (coder.price === undefined || coder.score <= best) continue;
    best = coder.score;
    found.push(coder);
  }
  return found.toReversed();
}

/** Models at or under a cap: those on the frontier by score, then the others by score (gaps 5.9). */
export function codersUnder(coders: readonly Coder[], cap: number): readonly Coder[] {
  const affordable = coders.filter(({ price }) => price !== undefined && price <= cap);
  const best = frontier(affordable);
  const others = affordable.filter((coder) => !best.includes(coder));
  return [...best, ...others.sort((left, right) => right.score - left.score || cheapestFirst(left, right))];
}
