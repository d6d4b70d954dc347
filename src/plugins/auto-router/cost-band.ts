import type { AutoRouterEntry } from '../../protocol/model-router-options.ts';
import { type Candidate, byPrice } from '../model-choice/candidates.ts';

/** Models between two percentiles of price. */
export interface CostBand {
  readonly from: number;
  readonly to: number;
  /** Whether models exactly at `to` belong to it. */
  readonly closed: boolean;
  /** False when the caller said nothing of costs: then models outside may stand in as the last fallbacks. */
  readonly strict: boolean;
}

/** Candidates inside a band, and those that may stand in when all of them fail. */
export interface Banded {
  readonly inside: readonly Candidate[];
  readonly reserve: readonly Candidate[];
}

/** `cost_quality_tradeoff` when nothing is said of costs (contract). */
const DEFAULT_TRADEOFF = 9;

const TIERS: Readonly<Record<NonNullable<AutoRouterEntry['cost_tier']>, CostBand>> = {
  low: { from: 0, to: 20, closed: false, strict: true },
  medium: { from: 20, to: 40, closed: false, strict: true },
  high: { from: 40, to: 60, closed: false, strict: true },
  xhigh: { from: 60, to: 80, closed: false, strict: true },
  max: { from: 80, to: 100, closed: true, strict: true },
};

/**
 * The band that a request asks for. A tier is a band and wins; the deprecated number is a ceiling, from the 90th
 * percentile at 0 down to the 10th at 10.
 */
export function costBandOf({ cost_tier: tier, cost_quality_tradeoff: tradeoff }: AutoRouterEntry): CostBand {
  if (tier !== undefined) return TIERS[tier];
  const ceiling = 90 - 8 * (tradeoff ?? DEFAULT_TRADEOFF);
  return { from: 0, to: ceiling, closed: true, strict: tradeoff !== undefined };
}

/**
 * Splits candidates by a band of price percentiles, counted among these candidates alone. With few models a band may be
 * empty; then it is those nearest to it. Where no price is known there are no bands, and where some are, models without
 * one are outside of all.
 */
export function withinBand(candidates: readonly Candidate[], band: CostBand): Banded {
  const priced = candidates.filter((one) => one.price !== undefined).sort(byPrice);
  if (priced.length === 0) return { inside: candidates, reserve: [] };
  const distances = percentiles(priced).map((percentile) => distance(percentile, band));
  const nearest = Math.min(...distances);
  const inside = new Set(priced.filter((_, index) => distances[index] === nearest));
  const reserve = band.strict ? [] : [...candidates].sort(byPrice).filter((one) => !inside.has(one));
  return { inside: [...inside], reserve };
}

/** Percentile of each price in a sorted list: the middle of the places that it takes. */
function percentiles(sorted: readonly Candidate[]): readonly number[] {
  const result: number[] = [];
  while (result.length < sorted.length) {
    const first = result.length;
    const end = sorted.findIndex(({ price }, index) => index > first && price !== sorted[first]?.price);
    const count = (end < 0 ? sorted.length : end) - first;
    const middle = ((first + count / 2) / sorted.length) * 100;
    for (let index = 0; index < count; index += 1) result.push(middle);
  }
  return result;
}

/** How far a percentile is from a band; 0 inside. */
function distance(percentile: number, { from, to, closed }: CostBand): number {
  if (percentile < from) return from - percentile;
  if (percentile < to || (closed && percentile === to)) return 0;
  // The open end is outside, if only just.
  return Math.max(percentile - to, Number.EPSILON);
}
