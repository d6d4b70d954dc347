import { cpuOf, load, type Running, start, startUpstream } from './load.ts';
import { WORKLOADS, type Workload } from './workloads.ts';

/**
 * CPU time of the server process per request, beside two reference proxies, interleaved in one run.
 * Usage: npm run bench [-- --rounds 5 --processes 2 --servers pipe,parse,node --workload stream]
 */
/** Rounds that are not counted, and for how long there are more of them: in its first seconds V8 compiles. */
const WARM_ROUNDS = 6;
const WARM_MS = 9_000;
const SERVERS = ['pipe', 'parse', 'node', 'express', 'fastify', 'fetch', 'production'];

const options = new Map<string, string>();
for (let index = 2; index < process.argv.length; index += 2) {
  options.set((process.argv[index] ?? '').replace(/^--/, ''), process.argv[index + 1] ?? '');
}
const rounds = Number(options.get('rounds') ?? 5);
/** Two processes of the same server differ by up to a quarter: where V8 puts code and data is chance. */
const processes = Number(options.get('processes') ?? 2);
const servers = options.get('servers')?.split(',') ?? SERVERS;
const workloads = WORKLOADS.filter((workload) => workload.name.includes(options.get('workload') ?? ''));

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** What one process of a server took: microseconds per request, and how many times as much as the proxy that parses. */
interface Measured {
  readonly perRequest: number;
  readonly ratio: number;
}

/** Measures one process of each server, by turns. */
async function measure(workload: Workload, upstream: number): Promise<Map<string, Measured>> {
  const running: Running[] = [];
  for (const name of servers) running.push(await start(name, upstream));
  // Code that is not compiled yet would be measured instead of code that runs all day.
  for (const server of running) {
    const until = performance.now() + WARM_MS;
    for (let round = 0; round < WARM_ROUNDS || performance.now() < until; round += 1) {
      await load(server, workload, workload.requests);
    }
  }
  const used = new Map<string, number[]>(running.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const server of running) {
      const before = await cpuOf(server);
      await load(server, workload, workload.requests);
      used.get(server.name)?.push((await cpuOf(server)) - before);
    }
  }
  for (const { child } of running) child.kill();
  const measured = [...used].map(([name, values]): [string, Measured] => {
    const ratios = values.map((value, round) => value / (used.get('parse')?.[round] ?? Number.NaN));
    return [name, { perRequest: median(values) / workload.requests, ratio: median(ratios) }];
  });
  return new Map(measured);
}

const upstream = await startUpstream();
console.log(
  `CPU of the server process in µs per request: median of ${rounds} rounds, mean of ${processes} processes of each ` +
    'server; and the ratio to "parse", with that of each process.',
);
if (!servers.includes('parse')) console.log('(no "parse" in this run: ratios are missing)');
for (const workload of workloads) {
  const runs: Map<string, Measured>[] = [];
  for (let run = 0; run < processes; run += 1) runs.push(await measure(workload, upstream.port));
  console.log(`\n${workload.name}`);
  for (const name of servers) {
    const found = runs.map((run) => run.get(name) ?? { perRequest: Number.NaN, ratio: Number.NaN });
    const mean = (of: (one: Measured) => number): number => found.reduce((sum, one) => sum + of(one), 0) / found.length;
    const each = found.map(({ ratio }) => ratio.toFixed(2)).join(', ');
    const time = mean(({ perRequest }) => perRequest).toFixed(0);
    console.log(
      `  ${name.padEnd(10)} ${time.padStart(6)} µs   ${mean(({ ratio }) => ratio).toFixed(2)} × parse  (${each})`,
    );
  }
}
upstream.child.kill();
