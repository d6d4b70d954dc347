import type { ErrorType } from '../../protocol/error.ts';
import type { FailureKind } from './failure.ts';

/** What the router does about a kind of failure. The only table of its sort. */
export interface FailureRule {
  /** Status for the caller when this failure is the end of it. */
  readonly status: number;
  readonly errorType: ErrorType;
  /**
   * What may be tried next: any other endpoint, only another model (the request itself was refused), or nothing.
   */
  readonly next: 'endpoint' | 'model' | 'nothing';
  /** Whether the same endpoint may be tried once more when nothing else is left. */
  readonly sameEndpoint: boolean;
  /** Whether the circuit breaker counts it. */
  readonly breaks: boolean;
  /** Whether it counts against the endpoint's uptime. */
  readonly againstUptime: boolean;
  /** Milliseconds of cooldown when the provider named none; 0 for none at all. */
  readonly cooldownMs: number;
}

const MINUTE = 60_000;

/** Failures that say something about the endpoint at this moment. */
const outage = { next: 'endpoint', breaks: true, againstUptime: true, cooldownMs: 0 } as const;
/** Failures of our account with the provider: they last, and they are not the provider's fault. */
const account = {
  status: 502,
  errorType: 'provider_unavailable',
  next: 'endpoint',
  sameEndpoint: false,
  breaks: false,
  againstUptime: true,
  cooldownMs: 10 * MINUTE,
} as const;
/** Failures of the request itself: another provider of the same model would say the same. */
const refused = { next: 'model', sameEndpoint: false, breaks: false, againstUptime: false, cooldownMs: 0 } as const;

/** The rule for each kind of failure. */
export const FAILURE_RULES: Readonly<Record<FailureKind, FailureRule>> = {
  connection: { ...outage, status: 502, errorType: 'provider_unavailable', sameEndpoint: true },
  unreachable: { ...outage, status: 502, errorType: 'provider_unavailable', sameEndpoint: false, cooldownMs: MINUTE },
  timeout: { ...outage, status: 524, errorType: 'timeout', sameEndpoint: false },
  deadline: { ...refused, status: 408, errorType: 'timeout', next: 'nothing' },
  aborted: { ...refused, status: 499, errorType: 'unmapped', next: 'nothing' },
  rate_limited: {
    status: 429,
    errorType: 'rate_limit_exceeded',
    next: 'endpoint',
    sameEndpoint: true,
    breaks: false,
    againstUptime: false,
    cooldownMs: 5_000,
  },
  quota: account,
  credentials: account,
  overloaded: { ...outage, status: 503, errorType: 'provider_overloaded', sameEndpoint: true },
  server: { ...outage, status: 502, errorType: 'provider_unavailable', sameEndpoint: true },
  bad_response: { ...outage, status: 502, errorType: 'provider_unavailable', sameEndpoint: true },
  conflict: { ...outage, status: 502, errorType: 'provider_unavailable', sameEndpoint: true, breaks: false },
  model_not_found: { ...account, status: 404, errorType: 'not_found' },
  invalid_request: { ...refused, status: 400, errorType: 'invalid_request' },
  unsupported_parameter: { ...refused, status: 400, errorType: 'invalid_request', next: 'endpoint' },
  unprocessable: { ...refused, status: 422, errorType: 'unprocessable' },
  context_length: { ...refused, status: 400, errorType: 'context_length_exceeded' },
  too_large: { ...refused, status: 413, errorType: 'payload_too_large' },
  content_policy: { ...refused, status: 403, errorType: 'content_policy_violation' },
  adapter: { ...outage, status: 502, errorType: 'provider_unavailable', sameEndpoint: false },
};
