import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createRouter, memoryStore, simulated } from '../src/index.ts';
import { startRedis } from '../test/support/redis.ts';
import { findRedis } from '../test/support/servers.ts';
import { cpuOf, load, type Running, start, startUpstream } from './load.ts';
import { WORKLOADS } from './workloads.ts';

/**
 * What it costs to keep streams: CPU of the server for a stream, off, in memory, in Redis, and there with `continue`, in
 * turns; and memory of one
 * more kept stream beside its bytes. Needs a build. Usage: npm run bench:resumed-streams [-- --rounds 7 --streams 96]
 */
const option = (name: string, usual: number): number => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? usual : Number(process.argv[at + 1]);
};
const ROUNDS = option('rounds', 7);
const STREAMS = option('streams', 96);

const median = (values: readonly number[]): number =>
  values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;

/** CPU of a stream with and without being kept, as ratios of neighbouring rounds. */
async function cpu(): Promise<void> {
  await using redis = findRedis() === undefined ? undefined : await startRedis();
  if (redis !== undefined) process.env['REDIS_URL'] = redis.url;
  const upstream = await startUpstream();
  const names = ['node', 'kept', ...(redis === undefined ? [] : ['kept-redis', 'kept-continued'])];
  const servers: Running[] = [];
  for (const name of names) servers.push(await start(name, upstream.port));
  for (const workload of WORKLOADS.filter(({ name }) => name.includes('stream'))) {
    const requests = workload.name.startsWith('paced') ? STREAMS : 4 * STREAMS;
    const costs = new Map<string, number[]>(names.map((name) => [name, []]));
    for (let round = -2; round < ROUNDS; round += 1) {
      for (const server of round % 2 === 0 ? servers : servers.toReversed()) {
        const before = await cpuOf(server);
        await load(server, workload, requests);
        const used = ((await cpuOf(server)) - before) / requests;
        // The first rounds are those of the compiler.
        if (round >= 0) costs.get(server.name)?.push(used);
      }
    }
    const off = costs.get('node') ?? [];
    console.log(`${workload.name}, µs of the server's CPU for a stream, median of ${ROUNDS} rounds:`);
    for (const [name, all] of costs) {
      const ratios = all.map((value, index) => value / (off[index] ?? value));
      const more = `${(100 * (median(ratios) - 1)).toFixed(1)} % more`;
      console.log(`  ${name.padEnd(12)} ${median(all).toFixed(0).padStart(6)} ${name === 'node' ? '' : more}`);
    }
  }
  for (const { child } of servers) child.kill('SIGKILL');
  upstream.child.kill('SIGKILL');
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

async function heap(): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, 50));
  for (let time = 0; time < 3; time += 1) collect();
  const { heapUsed, external, arrayBuffers } = process.memoryUsage();
  return heapUsed + external - arrayBuffers;
}

/** Bytes of memory that one more kept stream takes beside its own. */
async function memory(): Promise<void> {
  const events: readonly (readonly [what: string, text: string, times: number])[] = [
    ['ASCII, 5 kB', `data: {"choices":[{"delta":{"content":"word"}}]}\n\n`, 100],
    ['ASCII, 25 kB', `data: {"choices":[{"delta":{"content":"word"}}]}\n\n`, 500],
    ['ASCII, 100 kB', `data: {"choices":[{"delta":{"content":"word"}}]}\n\n`, 2_000],
    ['Chinese, 30 kB', `data: {"choices":[{"delta":{"content":"你好世界"}}]}\n\n`, 500],
  ];
  for (const [what, text, times] of events) {
    const store = memoryStore({ maxEntries: 100_000 });
    const router = createRouter({ providers: [simulated()], catalog: [], streams: { store, maxTotalBytes: 1e9 } });
    const keep = async (from: number, to: number): Promise<void> => {
      for (let index = from; index < to; index += 1) {
        let left = times;
        const stream = new ReadableStream<string>({
          pull(controller) {
            // Not the same text again and again, which would be kept once.
            controller.enqueue(text.replace('choices', `choice-${index}-${left}`));
            left -= 1;
            if (left === 0) controller.close();
          },
        });
        await router.keep(`stream-${index}`, stream);
      }
    };
    await keep(0, 50);
    const before = await heap();
    await keep(50, 250);
    const after = await heap();
    const body = await new Response(await router.resume('stream-99')).arrayBuffer();
    const each = (after - before) / 200;
    console.log(
      `  ${what.padEnd(16)} ${body.byteLength} bytes: ${each.toFixed(0)}, ${(each - body.byteLength).toFixed(0)} more`,
    );
    await router.close();
  }
}

console.log('Heap of one more kept stream in memory, beside its bytes:');
await memory();
if (!process.argv.includes('--memory')) await cpu();
