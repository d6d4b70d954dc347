import type { Socket } from 'node:net';
import type { DeadAddress } from './addresses.ts';

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
  const fillers = Array.from({ length: FILLERS }, () => connect({ port, host: '127.0.0.1' }).on('error', ignore));
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

function ignore(): void {}
