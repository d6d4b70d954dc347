/** The contract of authentication: credentials in, an account out. */
import type { Account } from './account.ts';
import type { MaybePromise } from '../platform/wait.ts';
import type { KeyManagement } from './key-store.ts';

/** What a caller showed of itself. */
export interface Credentials {
  /** The key from `Authorization: Bearer`, or from `x-api-key`. */
  readonly key: string | undefined;
  /** Any header by its lower-case name, for hosts that know their callers by something else. */
  readonly header: (name: string) => string | undefined;
}

/**
 * Identifies the caller, or undefined for nobody we know (contract: authentication). What it throws becomes a 503,
 * never a way in.
 */
export interface Authenticate {
  (credentials: Credentials): MaybePromise<Account | undefined>;
  /**
   * How many accounts there can be. One alone may have everything that accounts share, and its keys with
   * the scope `management` operate the router, too. Default: unknown, so several.
   */
  readonly accounts?: number | undefined;
  /** Where keys are stored: their management, which clients with the scope `management` reach at `/keys`. */
  readonly keys?: KeyManagement | undefined;
}

/**
 * Who is answered over HTTP without authentication: `local` are callers on this machine, as far as a request shows.
 */
export type AnonymousCallers = 'anybody' | 'local' | 'nobody';
