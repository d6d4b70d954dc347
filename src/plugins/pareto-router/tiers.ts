import { type Coder, cheapestFirst } from './coder.ts';

/** Classes of models by their coding score. */
export const TIERS = ['high', 'medium', 'low'] as const;

/** One of {@link TIERS}. */
export type Tier = (typeof TIERS)[number];

/** The tier that a score belongs to (contract: `min_coding_score`). */
export function tierOf(score: number): Tier {
  if (score >= 0.66) return 'high';
  return score >= 0.33 ? 'medium' : 'low';
}

/** Tiers by how near they are: the one that was asked for, then the better one, then the weaker one. */
const NEIGHBOURS: Readonly<Record<Tier, readonly Tier[]>> = {
  high: ['high', 'medium', 'low'],
  medium: ['medium', 'high', 'low'],
  low: ['low', 'medium', 'high'],
};

/** The models of a tier, or of the nearest one that has any; best value first. */
export function codersOfTier(
  coders: readonly Coder[],
  wanted: Tier,
  speedOf: ((coder: Coder) => number | undefined) | undefined,
): { readonly tier: Tier; readonly coders: readonly Coder[] } {
  const tier = NEIGHBOURS[wanted].find((one) => coders.some(({ score }) => tierOf(score) === one)) ?? wanted;
  const own = coders.filter(({ score }) => tierOf(score) === tier).sort(cheapestFirst);
  if (speedOf === undefined) return { tier, coders: own };
  // A stable sort: what nobody measured stays in the order of prices, behind the rest.
  const speeds = new Map(own.map((coder) => [coder, speedOf(coder) ?? 0]));
  return { tier, coders: [...own].sort((left, right) => (speeds.get(right) ?? 0) - (speeds.get(left) ?? 0)) };
}
