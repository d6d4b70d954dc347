import { cpuOf, load, type Running, start, startUpstream } from './load.ts';
import { WORKLOADS, type Workload } from './workloads.ts';

/**
 * CPU time of the server process per request, beside two reference proxies, interleaved in one run.
 * Usage: npm run bench [-- --rounds 5 --processes 5 --servers pipe,parse,node --workload stream]
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
/** Two processes of the same server differ by up to a third, so several are measured: the median and the worst count. */
const processes = Number(options.get('processes') ?? 5);
const servers = options.get('servers')?.split(',') ?? SERVERS;
const workloads = WORKLOADS.filter((workload) => workload.name.includes(options.get('workload') ?? ''));

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** What one process of a server took. */
interface Measured {
  /** Microseconds of CPU per request. */
  readonly perRequest: number;
  /** How many times as much as the proxy that parses took. */
  readonly ratio: number;
  /** Share of the time in which the process was running: 1 when its core was full. */
  readonly busy: number;
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
  const took = new Map<string, number>();
  for (let round = 0; round < rounds; round += 1) {
    for (const server of running) {
      const before = await cpuOf(server);
      const startedAt = performance.now();
      await load(server, workload, workload.requests);
      took.set(server.name, (took.get(server.name) ?? 0) + performance.now() - startedAt);
      used.get(server.name)?.push((await cpuOf(server)) - before);
    }
  }
  for (const { child } of running) child.kill();
  const measured = [...used].map(([name, values]): [string, Measured] => {
    const ratios = values.map((value, round) => value / (used.get('parse')?.[round] ?? Number.NaN));
    const busy = values.reduce((sum, value) => sum + value, 0) / 1_000 / (took.get(name) ?? Number.NaN);
    return [name, { perRequest: median(values) / workload.requests, ratio: median(ratios), busy }];
  });
  return new Map(measured);
}

const upstream = await startUpstream();
console.log(
  `CPU of the server process in µs per request: median of ${rounds} rounds in each of ${processes} processes of each ` +
    'server; of the processes the median and the worst; how full the core was; and the ratio to "parse" of each.',
);
if (!servers.includes('parse')) console.log('(no "parse" in this run: ratios are missing)');
for (const workload of workloads) {
  const runs: Map<string, Measured>[] = [];
  for (let run = 0; run < processes; run += 1) runs.push(await measure(workload, upstream.port));
  console.log(`\n${workload.name}`);
  for (const name of servers) {
    const found = runs.flatMap((run) => run.get(name) ?? []);
    const ratios = found.map(({ ratio }) => ratio);
    const time = median(found.map(({ perRequest }) => perRequest)).toFixed(0);
    const busy = (100 * median(found.map((one) => one.busy))).toFixed(0);
    console.log(
      `  ${name.padEnd(10)} ${time.padStart(6)} µs   ${median(ratios).toFixed(2)} × parse, worst ${Math.max(...ratios).toFixed(2)}` +
        `   core ${busy.padStart(3)} %   (${ratios.map((ratio) => ratio.toFixed(2)).join(', ')})`,
    );
  }
}
upstream.child.kill();
