import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { Agent, request } from 'undici';
import { type BatchStore, createRouter, localQueue, memoryStorage, openaiCompatible } from 'signalbox';
import { postgresStorage } from 'signalbox/postgres';
import { sqliteStorage } from 'signalbox/sqlite';
import { startPostgres } from '../test/support/postgres.ts';
import { findPostgres } from '../test/support/servers.ts';
import { temporaryFolder } from '../test/support/temporary-folder.ts';

/** Requests of one batch, and how many of them run at the same time. */
const ITEMS = 2_000;
const AT_A_TIME = 16;
/** The first one is not counted. */
const ROUNDS = 4;

const bodyOf = (index: number) => ({ messages: [{ role: 'user' as const, content: `Say ${index}` }], max_tokens: 200 });

/**
 * Requests per second from the creation of a batch to the last of its results, for each store, beside a bare loop that
 * makes the same calls to the same upstream. The upstream answers at once, so what is left is what batches cost.
 */
export async function printItemsPerSecond(): Promise<void> {
  const upstream = fork(new URL('upstream.ts', import.meta.url));
  const [{ port }] = (await once(upstream, 'message')) as [{ port: number }];
  const baseURL = `http://127.0.0.1:${port}/v1`;
  using folder = temporaryFolder();
  const postgres = findPostgres() === undefined ? undefined : await startPostgres();
  const ways = new Map<string, () => Promise<Measured>>([['bare loop', () => measured(() => bareLoop(baseURL))]]);
  const stores: readonly (readonly [string, BatchStore | undefined])[] = [
    ['memory', memoryStorage()],
    ['SQLite', sqliteStorage({ file: folder.file('batches.db') })],
    ['PostgreSQL', postgres && postgresStorage({ connectionString: postgres.connectionString })],
  ];
  const routers = stores.flatMap(([name, storage]) => {
    if (storage === undefined) return [];
    const router = routerOver(storage, baseURL);
    ways.set(name, () => batch(router));
    return [router];
  });
  const rounds = new Map<string, Measured[]>();
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, run] of ways) {
      const one = await run();
      if (round > 0) rounds.set(name, [...(rounds.get(name) ?? []), one]);
    }
  }
  console.log(
    `\n${ITEMS} requests, ${AT_A_TIME} at a time, from the creation to the last result; median of ${ROUNDS - 1}:`,
  );
  const bare = median((rounds.get('bare loop') ?? []).map(({ seconds }) => seconds));
  for (const [name, all] of rounds) {
    const each = median(all.map(({ seconds }) => seconds));
    const cost = (((each - bare) * 1_000) / ITEMS).toFixed(2);
    const cpu = ((median(all.map(({ cpuSeconds }) => cpuSeconds)) * 1e6) / ITEMS).toFixed(0);
    const rate = (ITEMS / each).toFixed(0).padStart(6);
    console.log(
      `  ${name.padEnd(12)}${rate} per second, ${cost} ms more per request; ${cpu} µs of CPU of this process`,
    );
  }
  for (const router of routers) await router.close();
  await postgres?.[Symbol.asyncDispose]();
  await ended(upstream);
}

function routerOver(storage: BatchStore, baseURL: string) {
  const models = { 'bench/model': { upstreamModel: 'upstream-model', price: { prompt: 1, completion: 2 } } } as const;
  return createRouter({
    providers: [openaiCompatible({ slug: 'up', baseURL, apiKey: 'key', models })],
    batches: {
      storage,
      queue: localQueue({ pollMs: 1_000 }),
      limits: { perBatch: AT_A_TIME, perProvider: AT_A_TIME },
    },
  });
}

/** What one round took. */
interface Measured {
  readonly seconds: number;
  readonly cpuSeconds: number;
}

async function measured(run: () => Promise<void>): Promise<Measured> {
  const [startedAt, cpuAt] = [performance.now(), process.cpuUsage()];
  await run();
  const { user, system } = process.cpuUsage(cpuAt);
  return { seconds: (performance.now() - startedAt) / 1_000, cpuSeconds: (user + system) / 1e6 };
}

async function batch(router: ReturnType<typeof createRouter>): Promise<Measured> {
  let id = '';
  const one = await measured(async () => {
    id = await answered(router);
  });
  await router.batches.delete(id);
  return one;
}

/** Runs a batch and reads its results. */
async function answered(router: ReturnType<typeof createRouter>): Promise<string> {
  const completed = new Promise<void>((resolve) => {
    const off = router.on('batch', ({ batch: { status } }) => {
      if (status !== 'completed') return;
      off();
      resolve();
    });
  });
  await router.batches.start();
  const { id } = await router.batches.create({
    endpoint: '/v1/chat/completions',
    model: 'bench/model',
    requests: Array.from({ length: ITEMS }, (_, index) => ({ custom_id: `${index}`, body: bodyOf(index) })),
  });
  await completed;
  let answers = 0;
  for await (const { response } of router.batches.results(id)) if (response?.status_code === 200) answers += 1;
  if (answers !== ITEMS) throw new Error(`${answers} of ${ITEMS} requests were answered`);
  return id;
}

async function bareLoop(baseURL: string): Promise<void> {
  const dispatcher = new Agent({ connections: AT_A_TIME });
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < ITEMS) {
      const { body } = await request(`${baseURL}/chat/completions`, {
        method: 'POST',
        dispatcher,
        headers: { 'content-type': 'application/json', authorization: 'Bearer key' },
        body: JSON.stringify({ model: 'upstream-model', ...bodyOf(next++) }),
      });
      await body.json();
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
  await dispatcher.close();
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN;
}

async function ended(child: ChildProcess): Promise<void> {
  const over = once(child, 'exit');
  child.kill();
  await over;
}
