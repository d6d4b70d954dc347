import { load, message, type Running, start, startUpstream } from './load.ts';
import { WORKLOADS } from './workloads.ts';

/**
 * Where the time of a request goes, by kind of code, from a sampling profile of the server's process, beside a proxy
 * that parses and forwards. Parts can be compared, tenths cannot.
 * Usage: npm run bench:profile [-- --servers parse,node --workload stream]
 */
const options = new Map<string, string>();
for (let index = 2; index < process.argv.length; index += 2) {
  options.set((process.argv[index] ?? '').replace(/^--/, ''), process.argv[index + 1] ?? '');
}
const servers = options.get('servers')?.split(',') ?? ['parse', 'node'];
const workloads = WORKLOADS.filter((workload) => workload.name.includes(options.get('workload') ?? '1 kB'));

/** The frame in which a sample was taken. */
interface Frame {
  readonly functionName: string;
  readonly url: string;
}

/** A profile as the inspector protocol gives it. */
interface Profile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: Frame }[];
  readonly samples: readonly number[];
  /** Microseconds since the sample before. */
  readonly timeDeltas: readonly number[];
}

function kindOf({ functionName, url }: Frame): string {
  if (functionName === '(idle)') return 'idle';
  if (functionName === '(garbage collector)') return 'garbage collection';
  if (functionName.startsWith('write')) return 'writing to sockets';
  if (url.startsWith('node:')) return 'JavaScript of Node';
  if (url.includes('/node_modules/undici/') || url.startsWith('wasm:')) return 'undici, with its parser';
  if (url.startsWith('file:')) return 'functions of this package, or of the proxy';
  return 'native code';
}

function add({ nodes, samples, timeDeltas }: Profile, sums: Map<string, number>): void {
  const kinds = new Map(nodes.map(({ id, callFrame }) => [id, kindOf(callFrame)]));
  for (const [index, sample] of samples.entries()) {
    const kind = kinds.get(sample) ?? 'native code';
    if (kind !== 'idle') sums.set(kind, (sums.get(kind) ?? 0) + (timeDeltas[index] ?? 0));
  }
}

async function ask<Answer>({ child }: Running, question: string): Promise<Answer> {
  child.send(question);
  return message<Answer>(child);
}

/** By turns, so that what the machine does besides falls on all alike. */
const ROUNDS = 5;

const upstream = await startUpstream();
for (const workload of workloads) {
  console.log(`\n${workload.name}, µs per request`);
  const running = new Map<Running, Map<string, number>>();
  for (const name of servers) running.set(await start(name, upstream.port, ['./count.ts']), new Map());
  for (const server of running.keys()) await load(server, workload, workload.requests * 6);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [server, sums] of running) {
      await ask(server, 'profile');
      await load(server, workload, workload.requests);
      add(await ask<Profile>(server, 'profiled'), sums);
    }
  }
  for (const [{ name, child }, sums] of running) {
    console.log(`  ${name}`);
    for (const [kind, sum] of [...sums].sort(([, one], [, other]) => other - one)) {
      console.log(`  ${(sum / workload.requests / ROUNDS).toFixed(0).padStart(8)}  ${kind}`);
    }
    child.kill();
  }
}
upstream.child.kill();
