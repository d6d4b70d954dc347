/** What a routing decision knows of the endpoints at one moment. */
import type { ReasoningOrigins } from '../normalize/reasoning-origin.ts';
import type { TokenCalibration } from '../tokens/likely-tokens.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import { fill } from '../../options/option.ts';
import { SELECTION, type SelectionPolicy } from '../../options/selection.ts';
import type { Admission, EndpointHealth } from '../fallback/health.ts';
import type { ServedBy } from './adaptive/expected-cost.ts';
import type { EndpointPace } from './adaptive/pacer.ts';
import type { AdaptivePolicy } from './adaptive/policy.ts';
import type { Charges } from './adaptive/charges.ts';
import type { Timing, EndpointSpeed } from './adaptive/speed.ts';
import type { EndpointPerformance } from './performance.ts';

/** What is known from earlier calls of an endpoint. */
export interface EndpointRecord {
  readonly health: EndpointHealth;
  readonly performance: EndpointPerformance;
  /** Absent as long as no call has answered. */
  readonly speed?: EndpointSpeed | undefined;
  /** Absent as long as nothing was sent. */
  readonly pace?: EndpointPace | undefined;
  /** How it counts tokens; undefined where it has reported nothing yet. */
  readonly tokens?: TokenCalibration | undefined;
  /** What it charges, where that is not what is declared. */
  readonly charges?: Charges | undefined;
  /** True once it has given an answer whose cost is unknown. */
  readonly unpriced?: boolean | undefined;
}

/**
 * Shares of a prompt that endpoints have computed before, whoever sent its beginning: that which they likely have in their
 * caches still, and that which they have had. The latter does not lower what a request is expected to cost; among endpoints
 * of the same cost it still counts.
 */
export type CachedPrompts = readonly {
  readonly endpoint: string;
  readonly share: number;
  readonly before: number;
}[];

/** How endpoints are chosen where a request gives neither `order` nor `sort`. */
export type SelectionStrategy = 'adaptive' | 'balanced';

/** All that selection may know besides the request, as one value. */
export interface World {
  /** Undefined for an endpoint that was never called. */
  readonly record: (endpoint: Endpoint) => EndpointRecord | undefined;
  /** Endpoint that the session sticks to. */
  readonly sticky?: string | undefined;
  /** Who made the encrypted reasoning of the conversation, the latest last; undefined where there is none. */
  readonly origins?: ReasoningOrigins | undefined;
  /** Endpoints that served the session, the latest first. */
  readonly served?: ServedBy | undefined;
  /** Endpoints that have computed the beginning of the prompt before, for any session. */
  readonly prompts?: CachedPrompts | undefined;
  /** Whether an endpoint may be called now. Left out: every one may. */
  readonly admission?: ((endpoint: Endpoint) => Admission) | undefined;
  /** What a call of the request's kind takes at an endpoint at the moment; undefined where it is hardly measured. */
  readonly timing?: ((endpoint: Endpoint) => Timing | undefined) | undefined;
  /** Tokens that answers of this account and model usually have; undefined where nothing is known. */
  readonly usualAnswerTokens?: number | undefined;
  /** Tokens that providers report for one of the rough count of this account's prompts; undefined where none has. */
  readonly promptRatio?: number | undefined;
  /** Default `balanced`. */
  readonly strategy?: SelectionStrategy | undefined;
  /** Left out: neither costs nor health decide, only prices and uptime. */
  readonly adaptive?: AdaptivePolicy | undefined;
  /** Monotonic milliseconds. */
  readonly now: number;
  /** Random number from 0 (included) to 1 (excluded). */
  readonly roll: number;
  readonly policy: SelectionPolicy;
}

export type { SelectionPolicy } from '../../options/selection.ts';

/** Default {@link SelectionPolicy}. */
export const DEFAULT_SELECTION_POLICY: SelectionPolicy = fill(SELECTION);
