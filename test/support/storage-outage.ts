import { createServer } from 'node:http';
import { type Batch, type BatchStore, createRouter, localQueue } from 'signalbox';
import { nodeRouter } from 'signalbox/node';
import { expect } from 'vitest';
import { systemEnvironment } from '../../src/platform/environment.ts';
import { answer, batchProvider } from './batches.ts';
import { listen } from './mounts.ts';
import { HOOK_URL, SECRET, webhookReceiver } from './webhook-receiver.ts';
import { withConstants } from './constants.ts';

/** Something that makes a storage useless for a while. */
export interface Outage {
  begin(): Promise<void> | void;
  end(): Promise<void> | void;
}

/** Milliseconds that the storage stays away: longer than the leases of tasks and requests. */
const AWAY_MS = 2_500;
const LEASE_MS = 1_000;
/** Milliseconds in which a call is answered that does not need the storage, however busy the machine is. */
const CHAT_MS = 5_000;
const CALL_MS = 20_000;
const ITEMS = 240;
/** Long enough to need room on the disk. */
const TEXT = 'All trains to the coast leave from the other platform today. '.repeat(100);

interface Reply {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly json: Record<string, unknown>;
}

/**
 * Takes the storage away from a router that is running a batch, and gives it back. Meanwhile chats are answered and
 * callers of batches are told to come back; afterwards everything that was accepted has come to its end once, with every
 * outcome and a webhook.
 *
 * @param storage - Over which the router is made; it is closed in the end.
 */
export async function outlive(storage: BatchStore, outage: Outage): Promise<void> {
  const provider = batchProvider('up', async () => {
    await pause(15);
    return answer('Hello');
  });
  const receiver = webhookReceiver(systemEnvironment());
  const warnings = new Set<string>();
  const router = createRouter({
    providers: [provider],
    allowAnonymous: true,
    batches: {
      storage,
      queue: localQueue({ pollMs: 100, leaseMs: LEASE_MS }),
      limits: { leaseMs: LEASE_MS, perBatch: 4 },
    },
    webhooks: { secrets: [SECRET] },
    on: { warning: ({ code }) => warnings.add(code) },
  });
  withConstants(router, { webhooks: { createTransport: receiver.createTransport } });
  await using server = await listen(createServer(nodeRouter(router)));
  const call = async (method: string, path: string, body?: unknown, ms = CALL_MS): Promise<Reply> => {
    const response = await fetch(`${server.baseURL}${path}`, {
      method,
      signal: AbortSignal.timeout(ms),
      ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    const json = (await response.json()) as Reply['json'];
    return { status: response.status, retryAfter: response.headers.get('retry-after'), json };
  };
  try {
    await router.batches.start();
    // The tables are made meanwhile, for which a busy machine takes longer than a statement may.
    let id = '';
    const begin = async (): Promise<number> => {
      const { status, json } = await call('POST', '/batches', batchOf(ITEMS));
      if (status === 202) ({ id } = json as unknown as Batch);
      return status;
    };
    await expect.poll(begin, { timeout: CALL_MS, interval: 200 }).toBe(202);
    await expect.poll(() => provider.calls.length, { timeout: CALL_MS }).toBeGreaterThan(20);

    await outage.begin();
    const endsAt = performance.now() + AWAY_MS;
    const refused: Reply[] = [];
    const chats: number[] = [];
    const looks: number[] = [];
    const asking = (async () => {
      do {
        refused.push(await call('POST', '/batches', batchOf(300)));
        looks.push((await call('GET', `/batches/${id}`)).status);
      } while (performance.now() < endsAt);
    })();
    const chatting = (async () => {
      do {
        const chat = { model: 'acme/one', messages: [{ role: 'user', content: 'chat' }] };
        chats.push((await call('POST', '/chat/completions', chat, CHAT_MS)).status);
        await pause(50);
      } while (performance.now() < endsAt);
    })();
    try {
      await Promise.all([asking, chatting]);
    } finally {
      await outage.end();
    }
    expect(new Set(chats)).toEqual(new Set([200]));
    expect(refused.map(({ status, retryAfter }) => [status, Number(retryAfter) >= 1])).toEqual(
      refused.map(() => [503, true]),
    );
    expect(looks.filter((status) => status !== 200 && status !== 503)).toEqual([]);
    expect(warnings).toContain('batch_storage');

    // Connections that broke are found out one by one.
    await expect
      .poll(async () => (await call('POST', '/batches', batchOf(3))).status, { timeout: CALL_MS, interval: 200 })
      .toBe(202);
    const listed = async (): Promise<readonly Batch[]> =>
      (await call('GET', '/batches?limit=100')).json['data'] as readonly Batch[];
    const done = async (): Promise<boolean> => (await listed()).every(({ status }) => status === 'completed');
    await expect.poll(done, { timeout: 60_000, interval: 200 }).toBe(true);
    const batches = await listed();
    expect(batches.some((batch) => batch.id === id)).toBe(true);
    for (const { id: one, request_counts: counts } of batches) {
      expect(counts).toEqual({ total: counts.total, completed: counts.total, failed: 0 });
      const results = (await call('GET', `/batches/${one}`)).json['results'] as readonly {
        readonly custom_id: string;
      }[];
      const names = Array.from({ length: counts.total }, (_, index) => `n${index}`);
      expect(results.map(({ custom_id: name }) => name)).toEqual(names);
    }
    const told = (): readonly string[] => receiver.deliveries.map(({ headers }) => headers['webhook-id'] ?? '');
    await expect.poll(() => new Set(told()).size, { timeout: CALL_MS }).toBe(batches.length);
  } finally {
    await router.close();
  }
}

function batchOf(count: number): object {
  const requests = Array.from({ length: count }, (_, index) => ({
    custom_id: `n${index}`,
    body: { messages: [{ role: 'user', content: TEXT }] },
  }));
  return { endpoint: '/v1/chat/completions', model: 'acme/one', callback_url: HOOK_URL, requests };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
