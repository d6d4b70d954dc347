import type { Socket } from 'node:net';
import type { CertificateKind } from './certificate.ts';
import type { FaultExchange } from './exchange.ts';

/** One way in which a provider misbehaves. */
export interface Fault {
  /** What the upstream does, as a sentence without its subject. */
  readonly does: string;
  /** Has the upstream's address begin with `https`. */
  readonly secure?: boolean;
  /** Certificate to speak TLS with; without one a secure address is answered in plain HTTP. */
  readonly certificate?: CertificateKind;
  /** Takes a connection before anything is read from it. */
  readonly onConnection?: (socket: Socket) => void;
  /** Plays as soon as the headers of the request are there, without waiting for its body. */
  readonly early?: boolean;
  /** Answers one request. Left out where the connection never gets as far as a request. */
  readonly play?: (exchange: FaultExchange) => Promise<void> | void;
}

/** When in an answer a fault happens. */
export interface FaultSettings {
  /**
   * Content chunks of a stream that come before the fault. Default 0: it comes before any content, so that a router
   * may still fall back.
   */
  readonly afterChunks?: number | undefined;
  /** For `U-15`: bytes of the response body before the cut. Default: right where the fault would happen. */
  readonly cutAt?: number | undefined;
}

/** A request that the upstream has received. */
export interface RecordedRequest {
  /** Counted from 1 over all connections. */
  readonly number: number;
  /** Connection it came on, counted from 1. */
  readonly connection: number;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The body as JSON; its text when it is not JSON; undefined while, or if, it has not been read to its end. */
  readonly body: unknown;
  /** Milliseconds after its headers at which the client closed the connection, if it did so before the answer was over. */
  readonly closedAfterMs: number | undefined;
}
