import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Batch } from 'signalbox';
import type { BatchScene } from './batches.ts';

/** A request that a batch API received. */
export interface BatchServerRequest {
  /** Method and path, as in `GET /v1/batches`. */
  readonly line: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** What a batch API answers: a status, a body, as JSON unless it is a text, and headers. */
export type BatchServerAnswer = readonly [status: number, body: unknown, headers?: Readonly<Record<string, string>>];

/** A real HTTP server that plays a batch API. */
export interface BatchServer extends AsyncDisposable {
  readonly origin: string;
  readonly requests: readonly BatchServerRequest[];
  /** Methods and paths so far. */
  readonly lines: readonly string[];
}

/** Starts a batch API on a free port of loopback. */
export async function startBatchServer(
  handle: (request: BatchServerRequest) => BatchServerAnswer | Promise<BatchServerAnswer>,
): Promise<BatchServer> {
  const requests: BatchServerRequest[] = [];
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const line = `${incoming.method} ${incoming.url}`;
      const request = { line, headers: incoming.headers, body: Buffer.concat(chunks) };
      requests.push(request);
      void Promise.resolve(handle(request)).then(([status, body, headers]) => {
        const type = typeof body === 'string' ? 'text/plain' : 'application/json';
        outgoing.writeHead(status, { 'content-type': type, ...headers });
        outgoing.end(typeof body === 'string' ? body : JSON.stringify(body));
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    requests,
    get lines() {
      return requests.map(({ line }) => line);
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** What a call of a batch API is made with, for tests that make it themselves. */
export function nativeCall<const Job extends Readonly<Record<string, string>>>(job: Job) {
  return {
    operation: '/v1/chat/completions',
    endpoint: {} as never,
    signal: new AbortController().signal,
    job,
  } as const;
}

/**
 * Lets time pass until a batch at a real server has ended. Sockets do not follow the time of a scene, so it passes in
 * small steps, however many it takes; the time limit of the test is the bound.
 */
export async function endedAtServer({ router, environment }: BatchScene, id: string): Promise<Batch> {
  for (;;) {
    const batch = await router.batches.retrieve(id);
    if (batch.finalized_at !== null) return batch;
    await new Promise((resolve) => setImmediate(resolve));
    await environment.advance(100);
  }
}
