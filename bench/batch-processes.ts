import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism, cpus } from 'node:os';
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
 * How much faster one batch is run by more processes on one PostgreSQL, and what bounds it: the places that they have
 * at a provider of this latency, or the machine's cores, which they share with PostgreSQL and everything else. Then how
 * long an account with few requests waits beside one with many.
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
    await runBatch(router, ITEMS / 4, 'warm');
    const [before, machineBefore] = [await usedBy(workers), machineTimes()];
    const { seconds, endedAt } = await runBatch(router, ITEMS, 'speed');
    const startedAt = endedAt - seconds * 1_000;
    const [after, machineAfter] = [await usedBy(workers), machineTimes()];
    first ||= seconds;
    const rate = ITEMS / seconds;
    const most = (count * PER_BATCH * 1_000) / LATENCY_MS;
    const busy = (machineAfter.busy - machineBefore.busy) / (machineAfter.all - machineBefore.all);
    const cpuSeconds = sum(after.map(({ cpu }) => cpu)) - sum(before.map(({ cpu }) => cpu));
    const own = cpuSeconds / 1e6 / (seconds * availableParallelism());
    const idleBefore = sum(after.map(({ from = endedAt }) => from - startedAt)) / count;
    const idleBehind = sum(after.map(({ to = startedAt }) => endedAt - to)) / count;
    // What a process does between its first request and its last, beside what its places allow.
    const inside = rate / (1 - (idleBefore + idleBehind) / (seconds * 1_000)) / most;
    console.log(
      `  ${count} processes: ${seconds.toFixed(2)} s, ${rate.toFixed(0)} a second, ${(first / seconds).toFixed(2)} x; ` +
        `${percent(rate / most)} of what their places allow; cores busy ${percent(busy)}, ${percent(own)} with these processes`,
    );
    console.log(
      `    a process has nothing to run for ${idleBefore.toFixed(0)} ms at the beginning and ${idleBehind.toFixed(0)} ms ` +
        `at the end; between them it runs ${percent(inside)} of what its places allow`,
    );
    await stopWorkers(workers);
  }
  const alone = await startWorkers(2, connectionString);
  const { seconds: few } = await runBatch(router, FEW, 'few');
  await create(router, MANY, 'many');
  await new Promise((resolve) => {
    setTimeout(resolve, 2_000);
  });
  const { seconds: beside } = await runBatch(router, FEW, 'few');
  console.log(
    `${FEW} requests of one account: ${few.toFixed(2)} s alone, ${beside.toFixed(2)} s beside ${MANY} of another`,
  );
  await stopWorkers(alone);
  await router.close();
}

/** What a process has used so far: microseconds of CPU, and when it ran requests since it was asked before. */
interface Used {
  readonly cpu: number;
  readonly from?: number;
  readonly to?: number;
}

function usedBy(workers: readonly ChildProcess[]): Promise<readonly Used[]> {
  return Promise.all(
    workers.map(async (worker) => {
      const told = once(worker, 'message');
      worker.send('used');
      const [used] = (await told) as [Used];
      return used;
    }),
  );
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

/** Milliseconds of all cores since the machine was started, and those of them in which they were not idle. */
function machineTimes(): { readonly busy: number; readonly all: number } {
  const times = cpus().map((core) => core.times);
  const all = times.flatMap((one) => Object.values(one)).reduce((total, ms) => total + ms, 0);
  return { all, busy: all - times.reduce((total, { idle }) => total + idle, 0) };
}

function percent(share: number): string {
  return `${(100 * share).toFixed(0)} %`;
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

/** Runs a batch. Gives the seconds from its creation to its end, and when that was, in epoch milliseconds. */
async function runBatch(
  router: Router,
  items: number,
  account: string,
): Promise<{ readonly seconds: number; readonly endedAt: number }> {
  const id = await create(router, items, account);
  const startedAt = performance.now();
  for (;;) {
    const { status } = await router.batches.retrieve(id, { account: { id: account } });
    if (status === 'completed') return { seconds: (performance.now() - startedAt) / 1_000, endedAt: Date.now() };
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
