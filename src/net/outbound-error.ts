/** The error of a request to a URL that a user gave. */

/** Why a request to a URL that a user gave did not come to an answer. */
type OutboundProblem =
  /** The URL itself must not be called: scheme, port, credentials or a literal address that is not public. */
  | 'refused'
  /** No connection, a name that leads nowhere public, a connection that broke: deliberately one word for all. */
  | 'unreachable'
  /** It took too long. */
  | 'timeout'
  /** More redirects than are followed. */
  | 'redirects'
  /** More bytes than are read. */
  | 'too_large'
  /** The client disconnected. */
  | 'aborted';

/** A failed request to a URL that a user gave. Its text may be shown to that user: it tells nothing about our network. */
export class OutboundError extends Error {
  override readonly name = 'OutboundError';
  readonly problem: OutboundProblem;

  constructor(problem: OutboundProblem, message: string) {
    super(message);
    this.problem = problem;
  }
}
