import type { ReasoningEffort } from '../protocol/reasoning.ts';

/** A share of some number of tokens for each effort that reasons at all. */
export type EffortShares = Readonly<Record<Exclude<ReasoningEffort, 'none'>, number>>;

/** Shares of the token limit that efforts stand for where only a budget can be sent (gaps 2.5). */
export const EFFORT_SHARES: EffortShares = {
  max: 0.95,
  xhigh: 0.95,
  high: 0.8,
  medium: 0.5,
  low: 0.2,
  minimal: 0.1,
};
