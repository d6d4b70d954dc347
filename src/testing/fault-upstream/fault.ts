import type { Socket } from 'node:net';
import type { CertificateKind } from './certificate.ts';
import type { FaultExchange } from './exchange.ts';
import type { FaultId } from './faults.ts';
import type { FaultWireName } from './wire.ts';

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

/** What an upstream does with one request: a fault by its number, one of your own, or `ok` for a good answer. */
export type FaultStep = FaultId | 'ok' | Fault;

/** Options of {@link startFaultUpstream}. */
export interface FaultUpstreamOptions extends FaultSettings {
  /** What it does with every request. Default `ok`. */
  readonly fault?: FaultStep | undefined;
  /** What a good answer says. Default `The quick brown fox jumps over the lazy dog`. */
  readonly text?: string | undefined;
  /** Factor for all waits; 0.01 makes ten seconds a tenth of one. Default 1. */
  readonly timeScale?: number | undefined;
  /** The wire it speaks. Default `chat`. */
  readonly wire?: FaultWireName | undefined;
  /** Has `ok` answered over TLS, with this certificate. */
  readonly certificate?: CertificateKind | undefined;
}

/** A server on loopback that plays a provider, with faults. */
export interface FaultUpstream extends AsyncDisposable {
  /** Address for a provider's `baseURL`, ending in `/v1`. Begins with `https` while a fault of TLS is played. */
  readonly baseURL: string;
  /** What a good answer says. */
  readonly text: string;
  /** Every request so far, also those that are still under way. */
  readonly requests: readonly RecordedRequest[];
  /** Connections so far, also those on which no request came. */
  readonly connections: number;
  /** Connections that are open at this moment. */
  readonly openConnections: number;
  /** Bytes sent on all connections so far. */
  readonly bytesSent: number;
  /** Drops the requests that were recorded so far. */
  forget(): void;
  /** Does the same with every request from now on. */
  use(fault: FaultStep, settings?: FaultSettings): void;
  /** Does one thing after the other, one for each request; the last one also with all that follow. */
  script(faults: readonly FaultStep[], settings?: FaultSettings): void;
  /** The certificate it shows, as PEM, for those who want to trust it. */
  certificate(kind: CertificateKind): Promise<string>;
  /** Closes all connections and the server. */
  close(): Promise<void>;
}
