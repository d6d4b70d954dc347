import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A call of a request. */
export interface CrashCall {
  /** Epoch milliseconds. */
  readonly at: number;
  /** The process that made it. */
  readonly process: number;
}

/** A webhook that came. */
export interface CrashWebhook {
  readonly id: string;
  readonly body: string;
  readonly accepted: boolean;
  /** Status of the batch at this moment; undefined when the store could not be read. */
  readonly seen: string | undefined;
}

/** What the workers of the crash test call, and the logs of it. */
export interface CrashUpstream extends AsyncDisposable {
  readonly url: string;
  /** The calls of each request, in the order in which they came. */
  readonly calls: ReadonlyMap<string, readonly CrashCall[]>;
  /** Webhooks, in the order in which they came; those that were turned away too. */
  readonly webhooks: readonly CrashWebhook[];
}

/** Milliseconds that an answer takes, at most. */
const ANSWER_MS = 12;
/** Milliseconds that one takes while a batch is to be cancelled. */
const SLOW_MS = 400;

/**
 * Starts a {@link CrashUpstream}.
 *
 * @param look - Reads the status of a batch, as a client would that was just told of its end.
 */
export async function startUpstream(
  random: () => number,
  look: (id: string) => Promise<string | undefined>,
): Promise<CrashUpstream> {
  const calls = new Map<string, CrashCall[]>();
  const webhooks: CrashWebhook[] = [];
  const turnedAway = new Set<string>();

  const server = createServer((request, response) => {
    void text(request).then(async (body) => {
      const path = request.url ?? '';
      if (path.startsWith('/webhook/')) {
        const id = String(request.headers['webhook-id']);
        const accepted = path !== '/webhook/deferred' || turnedAway.has(id);
        turnedAway.add(id);
        const seen = await look((JSON.parse(body) as { data: { id: string } }).data.id).catch(() => undefined);
        webhooks.push({ id, body, accepted, seen });
        response.writeHead(accepted ? 204 : 500).end();
        return;
      }
      const call = { at: Date.now(), process: Number(request.headers['x-process']) };
      calls.set(body, [...(calls.get(body) ?? []), call]);
      const index = Number(body.split('/')[1]);
      // The batch's time ends before these are answered.
      if (path === '/expire' && index > 1) return;
      const delay = path === '/cancel' ? SLOW_MS : random() * ANSWER_MS;
      setTimeout(() => response.end(`answer to ${body}`), delay);
    }, ignore);
  });
  // A worker that is paused for longer would meet a closed connection when it goes on.
  server.keepAliveTimeout = 600_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    webhooks,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Whoever sent it was killed meanwhile. */
function ignore(): void {}
