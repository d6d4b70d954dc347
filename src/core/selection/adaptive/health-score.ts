/** Folds failures into the probability that an endpoint serves the next call well. */
import type { AdaptivePolicy } from './policy.ts';
import type { EndpointRecord } from '../world.ts';
import { fading } from '../../fallback/outcomes.ts';
import { slownessOf } from './speed.ts';

/** What time is worth that a request loses by a failure, in US dollars for a millisecond: ten for an hour. */
const MILLISECOND_USD = 10 / 3_600_000;

/** US dollars that a failure has cost: the time that it took, and what is charged for it. */
export function failureUsd(ms: number, chargedUsd = 0): number {
  return Math.max(0, ms) * MILLISECOND_USD + chargedUsd;
}

/** How well an endpoint does now. */
export interface HealthScore {
  /** From 0 to 1: what is left after failures and slowness. */
  readonly health: number;
  /** How many times as long as usual calls take; 1 is as usual. */
  readonly slowness: number;
  /** Undefined where no failure is remembered. */
  readonly failures: RememberedFailures | undefined;
}

/** Failures as far as they are not forgotten. */
export interface RememberedFailures {
  /** Share of the calls that fail. */
  readonly share: number;
  /** As in {@link Condition}. */
  readonly lostUsd: number;
}

const WELL: HealthScore = { health: 1, slowness: 1, failures: undefined };

/** Health of an endpoint: the share of failures that is not forgotten yet, and slowness beyond what is tolerated. */
export function healthScore(record: EndpointRecord | undefined, policy: AdaptivePolicy, now: number): HealthScore {
  if (record === undefined) return WELL;
  const { condition } = record.health;
  const slowness = record.speed === undefined ? 1 : slownessOf(record.speed, now);
  const promptness = Math.min(1, policy.toleratedSlowness / slowness);
  if (condition.value === 1) return { health: promptness, slowness, failures: undefined };
  const left = fading(now - condition.at);
  const share = (1 - condition.value) * left;
  return { health: (1 - share) * promptness, slowness, failures: { share, lostUsd: condition.lostUsd * left } };
}
