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
  /** The caller went away. */
  | 'aborted'
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
  /** This provider does not know a parameter; another one may. */
  | 'unsupported_parameter'
  | 'unprocessable'
  | 'context_length'
  | 'too_large'
  /** The provider refuses the content. */
  | 'content_policy'
  /** The provider's adapter itself failed. */
  | 'adapter';

/** One failed upstream call, as data. Holds nothing secret and at most a little of the provider's text. */
export interface AttemptFailure {
  readonly kind: FailureKind;
  /** For the caller; never HTML, never more than 500 characters. */
  readonly message: string;
  /** HTTP status of the provider, when it answered with one. */
  readonly status?: number | undefined;
  /** Milliseconds until the provider wants to be asked again. */
  readonly retryAfterMs?: number | undefined;
  /** The provider's own code. */
  readonly providerCode?: string | undefined;
  /** The provider's own text, cut and with secrets taken out. */
  readonly raw?: string | undefined;
}

/** Builds a failure. */
export function failure(
  kind: FailureKind,
  message: string,
  details: Omit<AttemptFailure, 'kind' | 'message'> = {},
): AttemptFailure {
  return { kind, message, ...details };
}
