import { writeSync } from 'node:fs';
import process from 'node:process';
import { type BatchStore, type Provider, type ProviderCall, createRouter, localQueue } from 'signalbox';
import { pgBossQueue } from 'signalbox/pg-boss';
import { postgresStorage } from 'signalbox/postgres';
import { sqliteStorage } from 'signalbox/sqlite';
import { type Order, SIZES, type Story, type WorkerSetup, textOf } from './stories.ts';
import type { FailPoint } from '../../src/runtime/batches/ports.ts';
import { withConstants } from '../support/constants.ts';
import { unfenced } from './unfenced.ts';

/**
 * A process that works off batches and ends or pauses where it is told to. It says on its standard output, line by line,
 * which places it reached and what it stored; the lines are written before anything else happens, so they are there
 * even when it is killed right after.
 */
const setup = JSON.parse(process.argv[2] ?? '{}') as WorkerSetup;
const POLL_MS = 150;
/** Milliseconds between two looks at the clock. */
const LOOK_MS = 25;
/** Batches of the story `expire` have this much time. */
const WINDOW_MS = 2_000;
const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

let aim: Extract<Order, { type: 'aim' }> = { type: 'aim' };

function say(...words: readonly (string | number)[]): void {
  let line = Buffer.from(`${words.join(' ')}\n`);
  while (line.length > 0) {
    try {
      line = line.subarray(writeSync(1, line));
    } catch (error) {
      // Whoever reads it is busy, and the pipe is full.
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error;
    }
  }
}

function reach(point: FailPoint): void {
  say('at', point);
  const { action } = aim;
  if (aim.point !== point || action === undefined) return;
  aim = { type: 'aim' };
  say('hit', point, action);
  process.kill(process.pid, action === 'kill' ? 'SIGKILL' : 'SIGSTOP');
}

/** The store as it is, except that it is heard what was stored, and that some batches have little time. */
function watched(store: BatchStore): BatchStore {
  return {
    ...store,
    async storeOutcomes(account, id, token, outcomes) {
      const stored = await store.storeOutcomes(account, id, token, outcomes);
      for (const index of stored) say('stored', id, index, outcomes.find((one) => one.index === index)?.resultId ?? '');
      return stored;
    },
    async claimTasks(claim) {
      const tasks = await store.claimTasks(claim);
      for (const { batchId, effect, attempts } of tasks) say('heard', batchId, `${effect}, attempt ${attempts}`);
      return tasks;
    },
    save(next, tasks) {
      const { expiresAt, createdAt, model } = next;
      const isShort = model === 'acme/expire' && expiresAt !== undefined;
      return store.save(isShort ? { ...next, expiresAt: createdAt + WINDOW_MS } : next, tasks);
    },
  };
}

function openStore(): BatchStore {
  if (setup.store === 'postgres') return postgresStorage({ connectionString: setup.where, connections: 4 });
  const store = sqliteStorage({ file: setup.where });
  return setup.unfenced ? unfenced(store, setup.where) : store;
}

function whole(text: string) {
  const message = { role: 'assistant', content: text, refusal: null, reasoning: null } as const;
  const choice = { index: 0, finish_reason: 'stop', native_finish_reason: 'stop', logprobs: null, message } as const;
  return { type: 'whole', result: { choices: [choice], usage: USAGE } } as const;
}

function lastText({ messages }: Pick<ProviderCall['request'], 'messages'>): string {
  const content = messages.at(-1)?.content;
  return typeof content === 'string' ? content : '';
}

const models: Provider['models'] = Object.fromEntries(
  Object.keys(SIZES).flatMap((story) => (story === 'native' ? [] : [[`acme/${story}`, {}]])),
);

const upstream: Provider = {
  slug: 'up',
  name: 'Up',
  models,
  async chat({ request, endpoint, signal }) {
    const text = lastText(request);
    const response = await fetch(`${setup.upstream}/${endpoint.model.split('/')[1] ?? ''}`, {
      method: 'POST',
      headers: { 'x-process': `${process.pid}` },
      body: text,
      signal,
    });
    return whole(await response.text());
  },
};

/** Its batch API keeps nothing: the job says by itself which requests it has. */
const nativeUpstream: Provider = {
  ...upstream,
  slug: 'native',
  name: 'Native',
  models: { 'acme/native': {} },
  batches: {
    accepts: () => true,
    async submit({ items }) {
      const texts: Record<string, string> = {};
      for await (const { id, request } of items()) {
        texts[id] = 'messages' in request ? lastText(request) : '';
      }
      return { ok: true, value: { job: { texts } } };
    },
    poll: () => Promise.resolve({ ok: true, value: { status: 'ended', outcome: 'completed' } }),
    async *results({ job }) {
      await Promise.resolve();
      for (const [id, text] of Object.entries(job['texts'] as Record<string, string>)) {
        yield { id, type: 'answered', body: `answer to ${text}` };
      }
    },
    read: (body) => whole(body),
    cancel: () => Promise.resolve({ ok: true, value: undefined }),
    remove: () => Promise.resolve({ ok: true, value: 'deleted' }),
  },
};

const { leaseMs } = setup;
const pump = { leaseMs, pollMs: POLL_MS, concurrency: 12 };
const router = createRouter({
  providers: [upstream, nativeUpstream],
  on: {
    warning: ({ message }) => say('heard', /batch_\w+/.exec(message)?.[0] ?? '*', message),
    batch(update) {
      if (update.type === 'status') say('heard', update.batch.id, `is ${update.batch.status}`);
    },
  },
  batches: {
    storage: watched(openStore()),
    queue: setup.queue === 'local' ? localQueue(pump) : pgBossQueue({ ...pump, connectionString: setup.where }),
    limits: { leaseMs, perBatch: 4 },
  },
});
withConstants(router, {
  batches: { sliceMs: 3_000, helpMs: 100 },
  failPoint: reach,
  webhooks: {
    createTransport: () =>
      Promise.resolve({
        async send({ url, headers, body }) {
          const at = `${setup.upstream}${url.pathname}`;
          const id = headers[headers.indexOf('webhook-id') + 1] ?? '';
          const { status } = await fetch(at, { method: 'POST', headers: { 'webhook-id': id }, body: body ?? '' });
          return { status, header: () => undefined, read: () => Promise.resolve(undefined), cancel: () => {} };
        },
        close: () => Promise.resolve(),
      }),
  },
});

async function create(key: string, story: Story): Promise<void> {
  const batch = await router.batches.create(
    {
      endpoint: '/v1/chat/completions',
      model: `acme/${story}`,
      callback_url: `https://hooks.example.com/webhook/${story}`,
      requests: Array.from({ length: SIZES[story] }, (_, index) => ({
        custom_id: textOf(key, index),
        body: { messages: [{ role: 'user', content: textOf(key, index) }] },
      })),
    },
    { idempotencyKey: key },
  );
  say('made', key, batch.id);
}

process.on('message', (order: Order) => {
  if (order.type === 'aim') aim = order;
  // What fails because the database is away is ordered again.
  if (order.type === 'create') void create(order.key, order.story).catch(() => say('failed', order.key));
  if (order.type === 'cancel') {
    void router.batches.cancel(order.id).then(
      () => say('cancelled', order.id),
      (error: unknown) => {
        if (error instanceof Error && 'status' in error && error.status === 409) say('cancelled', order.id);
      },
    );
  }
});
process.on('disconnect', () => process.exit());

// A machine that is busy with other things may give a process no time for longer than a lease lasts.
let lookedAt = performance.now();
setInterval(() => {
  const gapMs = performance.now() - lookedAt;
  lookedAt += gapMs;
  if (gapMs > leaseMs / 3) say('stalled', '*', Math.ceil(gapMs));
}, LOOK_MS).unref();

for (;;) {
  try {
    await router.batches.start();
    break;
  } catch {
    // The database may be away at this very moment.
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
say('ready');
