/** Failures of upstream calls as data, and what each kind allows to happen next. */
import type { ErrorType } from '../protocol/error.ts';

/** What went wrong with one upstream call, by how the router reacts to it. */
export type FailureKind =
  /** Refused, reset or cut before an answer was complete. */
  | 'connection'
  /** No such host, no trusted certificate, a redirect, a wrong base URL: trying again at once is pointless. */
  | 'unreachable'
  /** Connecting, the first token or the gap between two took too long. */
  | 'timeout'
  /** The request's own time is over. */
  | 'deadline'
  /** The client disconnected. */
  | 'aborted'
  /** Another call of the same request answered first. */
  | 'superseded'
  | 'rate_limited'
  /** The balance or quota of our key is used up. */
  | 'quota'
  /** Our key is not accepted, or not for this. */
  | 'credentials'
  | 'overloaded'
  | 'server'
  /** HTML, nothing, half an answer, an answer in no known form. */
  | 'bad_response'
  /** 408, 409, 425: the same call may work in a moment. */
  | 'conflict'
  | 'model_not_found'
  | 'invalid_request'
  /** This provider does not support a parameter; another one may. */
  | 'unsupported_parameter'
  | 'unprocessable'
  | 'context_length'
  | 'too_large'
  /** The provider refuses the content. */
  | 'content_policy'
  /** The provider's adapter itself failed. */
  | 'adapter'
  /** A complete answer that does not fit the JSON schema of the request, where a plugin holds answers to it. */
  | 'schema_mismatch';

/**
 * One failed upstream call, as data. Holds nothing secret but what an adapter threw, and at most a little of the
 * provider's text.
 */
export interface AttemptFailure {
  readonly kind: FailureKind;
  /** For the caller; never HTML, never more than 500 characters. */
  readonly message: string;
  /** HTTP status of the provider, when it answered with one. */
  readonly status?: number | undefined;
  /** Milliseconds until the provider may be called again. */
  readonly retryAfterMs?: number | undefined;
  /**
   * True when nothing that the provider said concerns its account or model as such, so that it may have refused this
   * request alone. The endpoint is then left alone only after several such failures of different requests in a row.
   */
  readonly doubtful?: boolean | undefined;
  /** True for a connection that was refused: no server listens there. */
  readonly notListening?: boolean | undefined;
  /** True for a call that was given up because nothing came, while another one was to be had. */
  readonly silent?: boolean | undefined;
  /** True for an answer that did not begin, or did not end, in time: it may have waited behind others. */
  readonly overdue?: boolean | undefined;
  /** The message for callers, where the provider's words say more than the kind (gaps 7.3). */
  readonly errorType?: ErrorType | undefined;
  /** The provider's own code. */
  readonly providerCode?: string | undefined;
  /** The provider's own text, cut and with secrets taken out. */
  readonly raw?: string | undefined;
  /** Where the call went: scheme, host and path. Absent where the provider did not say. */
  readonly address?: string | undefined;
  /**
   * Words of the message by which its kind, or the time until the next call, was found, and which may have come from the
   * request. Absent where the status, a code or a header says it.
   */
  readonly evidence?: readonly string[] | undefined;
  /** The parameter that the provider's error names in a member of its own, beside its message. */
  readonly parameter?: string | undefined;
  /** What the provider does not take, where it named that and the call may be made without it. */
  readonly refusal?: RefusedWord | undefined;
  /** Where a complete answer does not fit its schema. Holds what the model wrote, so only the caller's error says it. */
  readonly mismatch?: Mismatch | undefined;
  /** What the adapter threw. It may hold anything, so only a warning for the operator tells it. */
  readonly thrown?: unknown;
  /**
   * What the router had put into the call and the provider refused. The same call without it is the next one, at once:
   * nothing is said of the endpoint or of the caller's request.
   */
  readonly addition?: Addition | undefined;
}

/** The message for a caller whose request used up all of its time. */
export const TOOK_TOO_LONG =
  'The request took longer than the router allows; request a shorter answer, or raise timeouts.totalMs';

/** Builds a failure. */
export function failure(
  kind: FailureKind,
  message: string,
  details: Omit<AttemptFailure, 'kind' | 'message'> = {},
): AttemptFailure {
  return { kind, message, ...details };
}

/** What the router does about a kind of failure. The only table of its sort. */
export interface FailureRule {
  /** Status for the caller when this failure is the end of it. */
  readonly status: number;
  readonly errorType: ErrorType;
  /**
   * What may be tried next: any other endpoint, one that holds more or another model (the prompt was too long), only
   * another model (the request itself was refused), or nothing.
   */
  readonly next: 'endpoint' | 'longer' | 'model' | 'nothing';
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
  superseded: { ...refused, status: 499, errorType: 'unmapped', next: 'endpoint' },
  rate_limited: {
    status: 429,
    errorType: 'rate_limit_exceeded',
    next: 'endpoint',
    sameEndpoint: true,
    breaks: false,
    againstUptime: false,
    cooldownMs: 1_000,
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
  context_length: { ...refused, status: 400, errorType: 'context_length_exceeded', next: 'longer' },
  too_large: { ...refused, status: 413, errorType: 'payload_too_large' },
  content_policy: { ...refused, status: 403, errorType: 'content_policy_violation' },
  adapter: { ...outage, status: 502, errorType: 'provider_unavailable', sameEndpoint: false },
  // The endpoint works; how well its answers fit is counted with its performance. When it is asked again is in `nextMove`.
  schema_mismatch: { ...refused, status: 502, errorType: 'schema_mismatch', next: 'endpoint' },
};

/** A word of a request that a provider does not take, and without which the request means the same. */
export interface RefusedWord {
  /** Name of the parameter or of the field of the body. */
  readonly name: string;
  /** Values that it takes, where it only refuses others. */
  readonly accepted?: readonly string[] | undefined;
  /** The name that it requires instead. */
  readonly instead?: string | undefined;
  /** Words of JSON Schema, where it refuses those. They are said in descriptions then. */
  readonly words?: readonly string[] | undefined;
  /**
   * Whose requests it may be left out of: this one alone, those of the account that has met the refusal, or those of all
   * accounts, once two of them have met it.
   */
  readonly holdsFor: 'request' | 'account' | 'all';
}

/** The first place where an answer does not fit the schema of its request. */
export interface Mismatch {
  /** Path in the answer, such as `steps[2].cost`; `$` for all of it. */
  readonly path: string;
  /** What is wrong there, without any value: `must be of type number, not string`. */
  readonly problem: string;
  /** The answer as the model gave it. */
  readonly answer: string;
  /** True where the call had named the fault of an answer before. Default false. */
  readonly named?: boolean | undefined;
}

/** What the router may put into a call beside what the caller sent: text to go on from, or a credit for a refusal. */
export type Addition = 'prefill' | 'credit' | 'diagnostics';

/** The message for a caller whose endpoint has no key at the moment, because the function that gives it failed. */
export const NO_TOKEN = 'The apiKey function of the provider failed';

/** How a call goes on with the text of another: from that text, or by saying the same once more. */
export interface Continuation {
  readonly way: 'prefill' | 'repetition';
  /** UTF-16 units of text before it. */
  readonly after: number;
}
