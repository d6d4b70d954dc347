import type { Endpoint } from '../../catalog/endpoint.ts';
import type { RoutingStrategy } from '../../protocol/metadata.ts';

/** Which rule left an endpoint out (gaps 7.4, `excluded_by`). */
export type ExclusionReason =
  | 'allowed_providers'
  | 'data_policy:training'
  | 'data_policy:zdr'
  | 'distillable'
  | 'max_price'
  | 'quantization'
  | 'require_parameters'
  | 'input_modality'
  | 'output_modality'
  | 'dimensions'
  | 'tools'
  | 'tool_choice'
  | 'reasoning'
  | 'service_tier'
  | 'response_format'
  | 'max_output_tokens'
  | 'context_length'
  | 'dialect'
  | 'allow_fallbacks'
  | 'plugin';

/** One endpoint in the order in which it will be tried, and the reason for its place. */
export interface PlanStep {
  readonly endpoint: Endpoint;
  /** Index of the requested model that this endpoint serves. */
  readonly target: number;
  readonly strategy: RoutingStrategy;
  /** In words, for `explain`. */
  readonly why: string;
}

/** An endpoint that was left out. */
export interface Rejection {
  readonly endpoint: Endpoint;
  readonly reason: ExclusionReason;
  /** What exactly did not fit, for example `image` or `context 8,192`. */
  readonly detail?: string | undefined;
  /** True when the endpoint was left out because nobody declared whether it can do it. */
  readonly undeclared?: boolean | undefined;
}

/** The whole decision about one request, before anybody is called. */
export interface RoutePlan {
  readonly requested: string;
  readonly steps: readonly PlanStep[];
  readonly rejected: readonly Rejection[];
}
