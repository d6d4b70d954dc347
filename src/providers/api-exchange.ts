import type { TransportResponse } from '../net/transport.ts';
import type { ErrorContext } from './upstream-failure.ts';

/** A request that is on its way. */
export interface ApiExchange {
  /** Rejects with a {@link TransportError}. */
  readonly response: Promise<TransportResponse>;
  readonly context: ErrorContext;
}
