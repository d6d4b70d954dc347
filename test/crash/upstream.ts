import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** What the workers of the crash test call, and the logs of it. */
export interface CrashUpstream extends AsyncDisposable {
  readonly url: string;
  /** How often each request came. */
  readonly calls: ReadonlyMap<string, number>;
  /** Webhooks, in the order in which they came; those that were turned away too. */
  readonly webhooks: readonly { readonly id: string; readonly body: string; readonly accepted: boolean }[];
}

/** Milliseconds that an answer takes, at most. */
const ANSWER_MS = 12;
/** Milliseconds that one takes while a batch is to be cancelled. */
const SLOW_MS = 400;

/** Starts a {@link CrashUpstream}. */
export async function startUpstream(random: () => number): Promise<CrashUpstream> {
  const calls = new Map<string, number>();
  const webhooks: { id: string; body: string; accepted: boolean }[] = [];
  const turnedAway = new Set<string>();

  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const path = request.url ?? '';
      if (path.startsWith('/webhook/')) {
        const id = String(request.headers['webhook-id']);
        const accepted = path !== '/webhook/deferred' || turnedAway.has(id);
        turnedAway.add(id);
        webhooks.push({ id, body, accepted });
        response.writeHead(accepted ? 204 : 500).end();
        return;
      }
      calls.set(body, (calls.get(body) ?? 0) + 1);
      const index = Number(body.split('/')[1]);
      // The batch's time ends before these are answered.
      if (path === '/expire' && index > 1) return;
      const delay = path === '/cancel' ? SLOW_MS : random() * ANSWER_MS;
      setTimeout(() => response.end(`answer to ${body}`), delay);
    }, ignore);
  });
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
