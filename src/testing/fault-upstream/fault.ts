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
