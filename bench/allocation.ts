import { load, message, type Running, start, startUpstream } from './load.ts';
import { WORKLOADS } from './workloads.ts';

/**
 * What a request leaves to the collector, what of that outlives the young generation and so is copied, and how many
 * promises and timers it makes, and how many calls of how many functions, beside two reference proxies. None of it
 * depends on a clock or on what else the machine does. A function that is called once per request is seldom in the
 * caches of the processor, so the number of different functions is what time follows most.
 * Promises are counted as Node's hooks see them: an `await` of something that is not there yet counts as one.
 * Usage: npm run bench:allocation [-- --servers parse,node --workload stream]
 */
const options = new Map<string, string>();
for (let index = 2; index < process.argv.length; index += 2) {
  options.set((process.argv[index] ?? '').replace(/^--/, ''), process.argv[index + 1] ?? '');
}
const servers = options.get('servers')?.split(',') ?? ['pipe', 'parse', 'node', 'fetch'];
const workloads = WORKLOADS.filter((workload) => workload.name.includes(options.get('workload') ?? ''));

async function ask<Answer>({ child }: Running, question: string): Promise<Answer> {
  child.send(question);
  return message<Answer>(child);
}

/** A script, and how often each of its functions was called. */
interface Called {
  readonly url: string;
  readonly counts: readonly number[];
}

const OWNERS = ['this package', 'undici', 'Node'] as const;

function ownerOf(url: string): (typeof OWNERS)[number] | undefined {
  if (url.includes('/node_modules/undici/')) return 'undici';
  if (url.startsWith('node:')) return 'Node';
  return url.includes('/dist/') ? 'this package' : undefined;
}

/** Calls per request, and the functions that at least half of the requests called. */
function calledOf(scripts: readonly Called[], owner: (typeof OWNERS)[number], requests: number): string {
  const counts = scripts.flatMap((script) => (ownerOf(script.url) === owner ? script.counts : []));
  const regular = counts.filter((count) => count >= requests / 2);
  const calls = regular.reduce((sum, count) => sum + count, 0) / requests;
  return `${owner}: ${calls.toFixed(0)} calls of ${regular.length} functions`;
}

const upstream = await startUpstream();
console.log('Per request: kB allocated, kB that outlive the young generation, promises, timers, calls of functions.');
for (const workload of workloads) {
  console.log(`\n${workload.name}`);
  const requests = Math.ceil(workload.requests / 2);
  for (const name of servers) {
    const server = await start(name, upstream.port, ['./count.ts']);
    // Until the compiler has seen the code, it allocates more than it needs.
    await load(server, workload, workload.requests * 2);
    await ask(server, 'count bytes');
    await load(server, workload, requests);
    const { bytes } = await ask<{ bytes: number }>(server, 'bytes');
    await ask(server, 'count survivors');
    await load(server, workload, workload.requests * 4);
    const survivors = (await ask<{ bytes: number }>(server, 'bytes')).bytes / workload.requests / 4;
    await ask(server, 'count things');
    await load(server, workload, requests);
    const { promises, timers } = await ask<{ promises: number; timers: number }>(server, 'things');
    await ask(server, 'count calls');
    await load(server, workload, requests);
    const scripts = await ask<Called[]>(server, 'calls');
    const per = (count: number): string => (count / requests).toFixed(1).padStart(8);
    console.log(
      `  ${name.padEnd(8)} ${per(bytes / 1_000)} kB ${(survivors / 1_000).toFixed(1).padStart(6)} kB ${per(promises)} promises ${per(timers)} timers`,
    );
    console.log(`           ${OWNERS.map((owner) => calledOf(scripts, owner, requests)).join(', ')}`);
    server.child.kill();
  }
}
upstream.child.kill();
