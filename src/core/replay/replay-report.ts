import type { Interval } from './local-means.ts';

/** What a replay found. Plain data, so that it can be put into a pull request. */
export interface ReplayReport {
  /** Records that were read. */
  readonly records: number;
  /** Those that were decided again. The others decided nothing: a plugin or the response cache answered. */
  readonly decided: number;
  /** Requests that nothing could answer any more: their models, or all of their endpoints, are gone, or a rule refuses them. */
  readonly unroutable: number;
  /** Requests that would go to another endpoint first. */
  readonly differing: number;
  /** Requests with the same first endpoint and others behind it, in another order, or for another reason. */
  readonly reordered: number;
  /** True when every decision is the same, to the last digit that records keep. */
  readonly identical: boolean;
  /** Ids of rules that were never applied, because they look at metadata that no record has as a tag. */
  readonly undecided_rules: readonly string[];
  /** Where requests would go instead, the most frequent first. */
  readonly changes: readonly ReplayChange[];
  /** What the decisions themselves expected, in nano-dollars per request: no estimate, where both have a price. */
  readonly expected_cost_nano_usd: Compared;
  /** What was charged for the calls, in nano-dollars per request. */
  readonly cost_nano_usd: Estimated;
  /** Share of requests that failed. Those whose caller disconnected do not count. */
  readonly failures: Estimated;
  /** Milliseconds to the first token of streams that were answered. */
  readonly first_token_ms: Estimated;
  /** Milliseconds to the end of non-streaming answers. */
  readonly answer_ms: Estimated;
}

/** Requests that went one way and would go another. */
export interface ReplayChange {
  /** Endpoint ids. Null where there was none, or would be none. */
  readonly from: string | null;
  readonly to: string | null;
  readonly requests: number;
}

/** A mean before and after. */
export interface Compared {
  readonly requests: number;
  readonly before: number;
  readonly after: number;
}

/**
 * A mean as it was, and an estimate of what it would be. Outcomes of requests that would go elsewhere are estimated from
 * requests that did go there, near in time; all others stay as they were.
 */
export interface Estimated extends Compared {
  /** After less before, with its 95 % interval. */
  readonly difference: Interval;
  /** Requests whose outcome is an estimate. */
  readonly estimated: number;
  /** Requests that would go where none went: nothing is known of them, and they are left out. */
  readonly unknown: number;
}
