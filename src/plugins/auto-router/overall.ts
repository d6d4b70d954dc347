/** A score and how many prompts it counts for. */
export interface CountedScore {
  readonly score: number;
  readonly count: number;
}

/** The name whose score is the overall one, where every model has it. */
const OVERALL = 'general';
/** Rounds after which models and scores have settled, near enough; with the same names for all one is enough. */
const ROUNDS = 12;
const SETTLED = 1e-6;

/**
 * How good models are overall, each from its scores by name. Where all have `general`, it is that. Otherwise models are
 * compared by the scores that they share: each score is the level of its model plus how easy what it measures is, and
 * the levels are fitted to all of them, by the counts. With the same names for all that is the mean; a model that was
 * measured at easy things alone does not win by that.
 *
 * @returns For each model its level, undefined without a score. Only differences mean something.
 */
export function overallScores(rows: readonly ReadonlyMap<string, CountedScore>[]): readonly (number | undefined)[] {
  const scored = rows.filter((row) => row.size > 0);
  if (scored.every((row) => row.has(OVERALL))) return rows.map((row) => row.get(OVERALL)?.score);
  const ease = new Map<string, number>();
  let levels = levelsOf(rows, ease);
  for (let round = 0; round < ROUNDS; round += 1) {
    const sums = new Map<string, { total: number; weight: number }>();
    for (const [index, row] of rows.entries()) {
      for (const [name, { score, count }] of row) {
        const sum = sums.get(name) ?? { total: 0, weight: 0 };
        sum.total += count * (score - (levels[index] ?? 0));
        sum.weight += count;
        sums.set(name, sum);
      }
    }
    let largest = 0;
    for (const [name, { total, weight }] of sums) {
      const fitted = weight === 0 ? 0 : total / weight;
      largest = Math.max(largest, Math.abs(fitted - (ease.get(name) ?? 0)));
      ease.set(name, fitted);
    }
    if (largest < SETTLED) break;
    levels = levelsOf(rows, ease);
  }
  return levels;
}

/** The mean of each model's scores, after what is easy or hard about them was taken out. */
function levelsOf(
  rows: readonly ReadonlyMap<string, CountedScore>[],
  ease: ReadonlyMap<string, number>,
): readonly (number | undefined)[] {
  return rows.map((row) => {
    let total = 0;
    let weight = 0;
    for (const [name, { score, count }] of row) {
      total += count * (score - (ease.get(name) ?? 0));
      weight += count;
    }
    return weight === 0 ? undefined : total / weight;
  });
}
