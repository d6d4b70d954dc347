import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { type Router, createRouter } from 'signalbox';
import { postgresStorage } from 'signalbox/postgres';
import { startPostgres } from '../test/support/postgres.ts';

const WORKER = new URL('servers/batch-worker.ts', import.meta.url);
/** Milliseconds that the provider takes for an answer. */
const LATENCY_MS = 50;
const PER_BATCH = 16;
const ITEMS = 4_000;
const MANY = 100_000;
const FEW = 100;

const BODY = { messages: [{ role: 'user' as const, content: 'Hello' }] };

/**
 * How much faster one batch is run by more processes on one PostgreSQL, and how long an account with few requests waits
 * beside one with many.
 */
export async function printProcesses(): Promise<void> {
  await using postgres = await startPostgres();
  const { connectionString } = postgres;
  const router = createRouter({
    providers: [{ slug: 'slow', name: 'Slow', models: { 'bench/model': {} }, chat: () => Promise.reject(new Error()) }],
    batches: { storage: postgresStorage({ connectionString }) },
    on: { warning: () => {} },
  });
  console.log(
    `\n${ITEMS} requests, one batch, a provider of ${LATENCY_MS} ms, ${PER_BATCH} at a time in each process:`,
  );
  let first = 0;
  for (const count of [1, 2, 4]) {
    const workers = await startWorkers(count, connectionString);
    // The first batch warms up.
    await secondsFor(router, ITEMS / 4, 'warm');
    const seconds = await secondsFor(router, ITEMS, 'speed');
    first ||= seconds;
    const rate = (ITEMS / seconds).toFixed(0);
    console.log(`  ${count} processes: ${seconds.toFixed(2)} s, ${rate} a second, ${(first / seconds).toFixed(2)} x`);
    await stopWorkers(workers);
  }
  const alone = await startWorkers(2, connectionString);
  const few = await secondsFor(router, FEW, 'few');
  await create(router, MANY, 'many');
  await new Promise((resolve) => {
    setTimeout(resolve, 2_000);
  });
  const beside = await secondsFor(router, FEW, 'few');
  console.log(
    `${FEW} requests of one account: ${few.toFixed(2)} s alone, ${beside.toFixed(2)} s beside ${MANY} of another`,
  );
  await stopWorkers(alone);
  await router.close();
}

async function create(router: Router, items: number, account: string): Promise<string> {
  const requests = (function* () {
    for (let index = 0; index < items; index += 1) yield { custom_id: `${index}`, body: BODY };
  })();
  const { id } = await router.batches.create(
    { endpoint: '/v1/chat/completions', model: 'bench/model', requests },
    { account: { id: account } },
  );
  return id;
}

async function secondsFor(router: Router, items: number, account: string): Promise<number> {
  const id = await create(router, items, account);
  const startedAt = performance.now();
  for (;;) {
    const { status } = await router.batches.retrieve(id, { account: { id: account } });
    if (status === 'completed') return (performance.now() - startedAt) / 1_000;
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
  }
}

async function startWorkers(count: number, connectionString: string): Promise<readonly ChildProcess[]> {
  const workers = Array.from({ length: count }, () =>
    fork(WORKER, [connectionString, `${LATENCY_MS}`, `${PER_BATCH}`]),
  );
  await Promise.all(workers.map((worker) => once(worker, 'message')));
  return workers;
}

async function stopWorkers(workers: readonly ChildProcess[]): Promise<void> {
  for (const worker of workers) {
    const over = once(worker, 'exit');
    worker.kill();
    await over;
  }
}
