/** The rules by which records of endpoints are kept. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { EndpointHealth, HealthPolicy } from '../../core/fallback/health.ts';
import type { PacerPolicy } from '../../core/selection/adaptive/pacer.ts';
import type { AdaptivePolicy } from '../../core/selection/adaptive/policy.ts';
import type { HangDetectionPolicy } from '../../core/selection/adaptive/hang-detection.ts';
import type { KnownRefusals } from './known-refusals.ts';
import type { TokenCounts } from './token-counts.ts';
import type { EndpointLoad } from './endpoint-load.ts';
import type { ReportedLimits } from '../../contracts/provider.ts';

/** Called with how an endpoint came before and how it stands now. */
export type HealthListener = (endpoint: Endpoint, before: EndpointHealth, after: EndpointHealth) => void;

/** How records are kept. */
export interface RecordPolicies {
  readonly health: HealthPolicy;
  readonly adaptive?: AdaptivePolicy | undefined;
  /** False: endpoints are called as fast as requests come, until they refuse. */
  readonly pacer?: PacerPolicy | false | undefined;
  /** False: silence is only noticed by timeouts. */
  readonly hangDetection?: HangDetectionPolicy | false | undefined;
}

/** A call that may go out. */
export interface IntendedCall {
  /** Tokens that it is likely to have. */
  readonly tokens: number;
  /** Id of the endpoint at which it has waited for its place, which is then not counted against it. */
  readonly promisedAt: string | undefined;
  /** Id of the account that it is made for. Absent: any. */
  readonly account?: string | undefined;
}

/** A call that goes out. */
export interface StartedCall {
  /** Breaker generation that it belongs to. */
  readonly generation: number;
  /** Hears what its provider says about its limits; undefined where that does not count. */
  readonly onLimits: ((limits: ReportedLimits) => void) | undefined;
  /** What is under way at its endpoint. */
  readonly load: EndpointLoad;
}

/** What records of endpoints begin with. */
export interface RecordsOptions {
  /** Called when a cooldown or the breaker of an endpoint has changed. */
  readonly onChange?: HealthListener | undefined;
  /** What endpoints have refused. Default: nothing yet. */
  readonly refusals?: KnownRefusals | undefined;
  /** How endpoints count tokens of each account. Default: unknown yet. */
  readonly counts?: TokenCounts | undefined;
}
