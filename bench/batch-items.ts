import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
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
  const ways = new Map<string, () => Promise<void>>([['bare loop', () => bareLoop(baseURL)]]);
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
  const seconds = new Map<string, number[]>();
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, run] of ways) {
      const startedAt = performance.now();
      await run();
      if (round > 0) seconds.set(name, [...(seconds.get(name) ?? []), (performance.now() - startedAt) / 1_000]);
    }
  }
  console.log(
    `\n${ITEMS} requests, ${AT_A_TIME} at a time, from the creation to the last result; median of ${ROUNDS - 1}:`,
  );
  const bare = median(seconds.get('bare loop') ?? []);
  for (const [name, values] of seconds) {
    const each = median(values);
    const cost = (((each - bare) * 1_000) / ITEMS).toFixed(2);
    console.log(`  ${name.padEnd(12)}${(ITEMS / each).toFixed(0).padStart(6)} per second, ${cost} ms more per request`);
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

async function batch(router: ReturnType<typeof createRouter>): Promise<void> {
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
  await router.batches.delete(id);
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
