import { cpuOf, load, type Running, start, startUpstream } from './load.ts';
import { WORKLOADS } from './workloads.ts';

/**
 * CPU time of the server process per request, beside two reference proxies, interleaved in one run.
 * Usage: npm run bench [-- --rounds 5 --servers pipe,parse,node --workload stream]
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
const servers = options.get('servers')?.split(',') ?? SERVERS;
const workloads = WORKLOADS.filter((workload) => workload.name.includes(options.get('workload') ?? ''));

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

const upstream = await startUpstream();
const running: Running[] = [];
for (const name of servers) running.push(await start(name, upstream.port));

console.log(`CPU of the server process in µs per request: median of ${rounds} rounds, and the ratio to "parse".`);
for (const workload of workloads) {
  const measured = new Map<string, number[]>(running.map(({ name }) => [name, []]));
  // Code that is not compiled yet would be measured instead of code that runs all day.
  for (const server of running) {
    const until = performance.now() + WARM_MS;
    for (let round = 0; round < WARM_ROUNDS || performance.now() < until; round += 1) {
      await load(server, workload, workload.requests);
    }
  }
  for (let round = 0; round < rounds; round += 1) {
    for (const server of running) {
      const before = await cpuOf(server);
      await load(server, workload, workload.requests);
      measured.get(server.name)?.push((await cpuOf(server)) - before);
    }
  }
  const base = median(measured.get('parse') ?? []) / workload.requests;
  console.log(`\n${workload.name}`);
  for (const [name, values] of measured) {
    const perRequest = median(values) / workload.requests;
    const ratios = values.map((value, round) => value / (measured.get('parse')?.[round] ?? Number.NaN));
    console.log(`  ${name.padEnd(8)} ${perRequest.toFixed(0).padStart(6)} µs   ${median(ratios).toFixed(2)} × parse`);
  }
  if (Number.isNaN(base)) console.log('  (no "parse" in this run: ratios are missing)');
}
for (const { child } of running) child.kill();
upstream.child.kill();
