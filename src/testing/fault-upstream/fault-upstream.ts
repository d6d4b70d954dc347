/** Starts a server that plays the faults of providers, over real sockets. */
import type { Fault } from './fault.ts';
import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { type CertificateKind, makeCertificate, type TestCertificate } from './certificate.ts';
import { FaultExchange, type FaultSettings } from './exchange.ts';
import { FAULTS, type FaultId } from './faults.ts';
import { FAULT_WIRES, type FaultWire, type RecordedRequest, type FaultWireName } from './wire.ts';

/**
 * Starts a server on a free port of 127.0.0.1 that answers like a provider, well or with a fault. Runs on Node only.
 *
 * @example
 * ```ts
 * await using upstream = await startFaultUpstream();
 * upstream.script(['U-10', 'ok']); // resets the first connection, answers the second request
 * const provider = openaiCompatible({ slug: 'faulty', baseURL: upstream.baseURL, models: { 'acme/one': {} } });
 * ```
 */
export async function startFaultUpstream(options: FaultUpstreamOptions = {}): Promise<FaultUpstream> {
  const net = await import('node:net');
  const http = await import('node:http');
  const tls = await import('node:tls');
  const upstream = new RunningUpstream(options, http.createServer(), (socket, { certificate, privateKey }) => {
    const secureContext = tls.createSecureContext({ cert: certificate, key: privateKey });
    return new tls.TLSSocket(socket, { isServer: true, secureContext });
  });
  await upstream.listen(net.createServer({ noDelay: true }, (socket) => upstream.accept(socket)));
  return upstream;
}

type Recording = { -readonly [Name in keyof RecordedRequest]: RecordedRequest[Name] };

/** What is known of one connection. */
interface Connection {
  /** Counted from 1. */
  readonly number: number;
  /** Requests so far. */
  requests: number;
  /** Called when it closes: one for each request whose answer is not over. */
  readonly unfinished: Set<() => void>;
}

/** Puts TLS on a connection. */
type Secure = (socket: Socket, certificate: TestCertificate) => TLSSocket;

const DEFAULT_TEXT = 'The quick brown fox jumps over the lazy dog';

/** The upstream at work: takes connections, lets Node read their requests, and has one fault played for each. */
class RunningUpstream implements FaultUpstream {
  readonly text: string;
  readonly requests: Recording[] = [];
  readonly #wire: FaultWire;
  readonly #timeScale: number;
  readonly #http: HttpServer;
  readonly #secure: Secure;
  readonly #sockets = new Set<Socket>();
  readonly #connections = new WeakMap<Socket, Connection>();
  readonly #certificates = new Map<CertificateKind, Promise<TestCertificate>>();
  #server: Server | undefined;
  #port = 0;
  #steps: Fault[];
  #settings: FaultSettings;
  #accepted = 0;
  #recorded = 0;
  #bytesOfClosed = 0;

  constructor(options: FaultUpstreamOptions, server: HttpServer, secure: Secure) {
    this.text = options.text ?? DEFAULT_TEXT;
    this.#wire = FAULT_WIRES[options.wire ?? 'chat'];
    this.#timeScale = options.timeScale ?? 1;
    this.#http = server;
    this.#secure = secure;
    this.#settings = options;
    const ok = options.certificate === undefined ? OK : { ...OK, secure: true, certificate: options.certificate };
    this.#steps = [options.fault === undefined || options.fault === 'ok' ? ok : faultOf(options.fault)];
    server.on('request', (request: IncomingMessage, response: ServerResponse) => void this.#play(request, response));
    server.on('checkContinue', (request, response) => server.emit('request', request, response));
  }

  get baseURL(): string {
    return `${this.#step.secure === true ? 'https' : 'http'}://127.0.0.1:${this.#port}/v1`;
  }

  get connections(): number {
    return this.#accepted;
  }

  get openConnections(): number {
    return this.#sockets.size;
  }

  get bytesSent(): number {
    let bytes = this.#bytesOfClosed;
    for (const socket of this.#sockets) bytes += socket.bytesWritten;
    return bytes;
  }

  forget(): void {
    this.requests.length = 0;
  }

  use(fault: FaultStep, settings: FaultSettings = {}): void {
    this.script([fault], settings);
  }

  script(faults: readonly FaultStep[], settings: FaultSettings = {}): void {
    if (faults.length === 0) throw new RangeError('A script must hold at least one fault, or "ok"');
    this.#steps = faults.map(faultOf);
    this.#settings = settings;
  }

  async certificate(kind: CertificateKind): Promise<string> {
    return (await this.#certificate(kind)).certificate;
  }

  async listen(server: Server): Promise<void> {
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    this.#port = (server.address() as AddressInfo).port;
  }

  accept(socket: Socket): void {
    this.#accepted += 1;
    const state: Connection = { number: this.#accepted, requests: 0, unfinished: new Set() };
    this.#connections.set(socket, state);
    this.#sockets.add(socket);
    socket.on('error', ignore).on('close', () => {
      this.#sockets.delete(socket);
      this.#bytesOfClosed += socket.bytesWritten;
      for (const note of state.unfinished) note();
    });
    const { onConnection, certificate } = this.#step;
    if (onConnection !== undefined) {
      this.#advance();
      onConnection(socket);
    } else if (certificate === undefined) {
      this.#http.emit('connection', socket);
    } else {
      void this.#certificate(certificate).then((made) => {
        const secured = this.#secure(socket, made).on('error', ignore);
        this.#connections.set(secured, state);
        this.#http.emit('connection', secured);
      });
    }
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server?.close(resolve));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  get #step(): Fault {
    return this.#steps[0] ?? OK;
  }

  #advance(): void {
    if (this.#steps.length > 1) this.#steps.shift();
  }

  async #play(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { socket } = request;
    const fault = this.#step;
    this.#advance();
    const state = this.#connections.get(socket);
    if (state === undefined) return;
    state.requests += 1;
    const recording = this.#record(request, state);
    const startedAt = performance.now();
    const noteEarlyClose = (): void => void (recording.closedAfterMs = performance.now() - startedAt);
    const finish = (): void => void state.unfinished.delete(noteEarlyClose);
    state.unfinished.add(noteEarlyClose);
    response.on('finish', finish).on('error', ignore);
    const exchange = new FaultExchange({
      request: recording,
      requestOnConnection: state.requests,
      socket,
      response,
      settings: this.#settings,
      wire: this.#wire,
      text: this.text,
      timeScale: this.#timeScale,
      onEnd: finish,
    });
    if (fault.early !== true) await read(request, recording);
    if (!socket.destroyed) await (fault.play ?? OK.play)(exchange);
    // An answer that was written past Node is over when it has been written.
    if (!response.headersSent) finish();
  }

  #record({ method = '', url = '', headers }: IncomingMessage, { number: connection }: Connection): Recording {
    this.#recorded += 1;
    const number = this.#recorded;
    const recording = { number, connection, method, path: url, headers, body: undefined, closedAfterMs: undefined };
    this.requests.push(recording);
    return recording;
  }

  #certificate(kind: CertificateKind): Promise<TestCertificate> {
    const made = this.#certificates.get(kind) ?? makeCertificate(kind);
    this.#certificates.set(kind, made);
    return made;
  }
}

const OK = { does: 'answers well', play: (exchange: FaultExchange) => exchange.answer() } satisfies Fault;

function faultOf(step: FaultStep): Fault {
  if (typeof step !== 'string') return step;
  return step === 'ok' ? OK : FAULTS[step];
}

/** Reads the body; ends early when the client disconnects. */
function read(request: IncomingMessage, recording: Recording): Promise<void> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => resolve()).on('close', () => resolve());
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      recording.body = parseOrText(text);
      resolve();
    });
  });
}

function parseOrText(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function ignore(): void {}

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
  /** Its API. Default `chat`. */
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
