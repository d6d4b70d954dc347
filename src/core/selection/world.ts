import type { Endpoint } from '../../catalog/endpoint.ts';
import type { EndpointHealth } from '../fallback/health.ts';
import type { EndpointPerformance } from './performance.ts';

/** What is known from earlier calls of an endpoint. */
export interface EndpointRecord {
  readonly health: EndpointHealth;
  readonly performance: EndpointPerformance;
}

/** All that selection may know besides the request, as one value. */
export interface World {
  /** Undefined for an endpoint that was never called. */
  readonly record: (endpoint: Endpoint) => EndpointRecord | undefined;
  /** Endpoint that the session sticks to. */
  readonly sticky?: string | undefined;
  /** Monotonic milliseconds. */
  readonly now: number;
  /** Random number from 0 (included) to 1 (excluded). */
  readonly roll: number;
  readonly policy: SelectionPolicy;
}

/** Choices of the embedding program about selection. */
export interface SelectionPolicy {
  /**
   * What to do with a capability nobody declared: `allow` sends the request and lets the provider decide,
   * `exclude` treats it as absent. Default `allow`.
   */
  readonly unknownCapability: 'allow' | 'exclude';
  /** `exclude`: no endpoint without tool support gets a request with tools. `prefer`: it may, when nobody has it. */
  readonly toolSupport: 'exclude' | 'prefer';
}

/** Default {@link SelectionPolicy}. */
export const DEFAULT_SELECTION_POLICY: SelectionPolicy = { unknownCapability: 'allow', toolSupport: 'exclude' };
