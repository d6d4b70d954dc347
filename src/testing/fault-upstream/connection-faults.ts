import type { Fault } from './fault.ts';
import type { FaultExchange } from './exchange.ts';
import type { AddressInfo, Socket } from 'node:net';

/** Faults of the connection itself, before or instead of an answer. */
export const CONNECTION_FAULTS = {
  'U-06-self-signed': { does: 'shows a certificate that nobody vouches for', ...secured('self-signed') },
  'U-06-expired': { does: 'shows a certificate that has expired', ...secured('expired') },
  'U-06-wrong-host': { does: 'shows a certificate for another host', ...secured('wrong-host') },
  'U-07': {
    does: 'takes the connection and never takes part in the TLS handshake',
    secure: true,
    onConnection: (socket) => void socket.resume(),
  },
  'U-08': { does: 'speaks plain HTTP where TLS is expected', secure: true, play: answer },
  'U-09': {
    does: 'takes the connection and closes it without a byte',
    onConnection: (socket) => void socket.end(),
  },
  'U-10': { does: 'resets the connection before it sends headers', play: (exchange) => exchange.reset() },
  'U-11': {
    does: 'answers the first request of a connection and resets it at the second',
    play: (exchange) => (exchange.requestOnConnection === 1 ? exchange.answer() : exchange.reset()),
  },
  'U-26': {
    does: 'is gone without a trace: neither reads nor writes nor closes any more',
    async play(exchange) {
      if (exchange.streaming && exchange.afterChunks > 0) await exchange.begin();
      exchange.socket.pause();
      await exchange.silence();
    },
  },
} as const satisfies Record<string, Fault>;

function secured(certificate: NonNullable<Fault['certificate']>): Pick<Fault, 'secure' | 'certificate' | 'play'> {
  return { secure: true, certificate, play: answer };
}

function answer(exchange: FaultExchange): void {
  exchange.answer();
}

/** Connections that fill the backlog; what the systems make of a backlog of one differs a little. */
const FILLERS = 8;

/** Listens, tells its port, and then stops for good without ever taking a connection. */
const LISTENER = `
  const { parentPort, workerData } = require('node:worker_threads');
  const server = require('node:net').createServer();
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    parentPort.postMessage(server.address().port);
    setImmediate(() => {
      Atomics.wait(workerData, 0, 0);
      process.exit();
    });
  });
`;

/**
 * An address where connections are neither taken nor refused: a thread listens there and sleeps, and its short queue
 * is full. Runs on Node only; where the system answers a full queue with a refusal, so does this.
 */
export async function blackHole(): Promise<DeadAddress> {
  const { Worker } = await import('node:worker_threads');
  const { connect } = await import('node:net');
  const gate = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(LISTENER, { eval: true, workerData: gate });
  const port = await new Promise<number>((resolve, reject) => {
    worker.once('message', resolve).once('error', reject);
  });
  const fillers = Array.from({ length: FILLERS }, () =>
    connect({ port, host: '127.0.0.1' }).on('error', () => undefined),
  );
  await Promise.race([fillers.at(0), fillers.at(1)].map(connected));
  return {
    baseURL: `http://127.0.0.1:${port}/v1`,
    async [Symbol.asyncDispose]() {
      for (const socket of fillers) socket.destroy();
      Atomics.store(gate, 0, 1);
      Atomics.notify(gate, 0);
      await worker.terminate();
    },
  };
}

function connected(socket: Socket | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (socket === undefined) resolve();
    else socket.once('connect', () => resolve());
  });
}

/** An address that leads nowhere, for a provider's `baseURL`. */
export interface DeadAddress extends AsyncDisposable {
  readonly baseURL: string;
}

/** A host that no name server knows, by agreement of all of them. */
export const UNKNOWN_HOST_URL = 'https://signalbox-fault.invalid/v1';

/**
 * An address that refuses every connection. It is the near end of a connection that is kept open: nobody listens
 * there, and nobody else can be given the port meanwhile. Runs on Node only.
 */
export async function refusingAddress(): Promise<DeadAddress> {
  const { connect, createServer } = await import('node:net');
  const accepted: Socket[] = [];
  const server = createServer((socket) => accepted.push(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const holder = await new Promise<Socket>((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => resolve(socket));
  });
  return {
    baseURL: `http://127.0.0.1:${holder.localPort ?? port}/v1`,
    async [Symbol.asyncDispose]() {
      holder.destroy();
      for (const socket of accepted) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
