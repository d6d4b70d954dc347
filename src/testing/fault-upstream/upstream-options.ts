import type { CertificateKind } from './certificate.ts';
import type { FaultSettings } from './fault-settings.ts';
import type { Fault } from './fault.ts';
import type { FaultId } from './faults.ts';
import type { RecordedRequest } from './recorded-request.ts';
import type { FaultWireName } from './wires.ts';

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
