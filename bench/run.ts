import { type ChildProcess, fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Agent } from 'undici';
import { WORKLOADS, type Workload } from './workloads.ts';

/**
 * CPU time of the server process per request, beside two reference proxies, interleaved in one run.
 * Usage: npm run bench [-- --rounds 5 --servers pipe,parse,node --workload stream]
 */
/** Rounds that are not counted. */
const WARM_ROUNDS = 6;
const SERVERS = ['pipe', 'parse', 'node', 'express', 'fastify', 'fetch'];

const options = new Map<string, string>();
for (let index = 2; index < process.argv.length; index += 2) {
  options.set((process.argv[index] ?? '').replace(/^--/, ''), process.argv[index + 1] ?? '');
}
const rounds = Number(options.get('rounds') ?? 5);
const servers = options.get('servers')?.split(',') ?? SERVERS;
const workloads = WORKLOADS.filter((workload) => workload.name.includes(options.get('workload') ?? ''));

interface Running {
  readonly name: string;
  readonly child: ChildProcess;
  readonly port: number;
  readonly agent: Agent;
}

function script(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}

async function message<Value>(child: ChildProcess): Promise<Value> {
  const [value] = (await once(child, 'message')) as [Value];
  return value;
}

/** Servers get a core of their own where there is more than one; upstream and load share the other. */
function pin(child: ChildProcess, core: number): void {
  if (availableParallelism() < 2 || process.platform !== 'linux') return;
  fork(script('./pin.ts'), [String(child.pid), String(core)]);
}

async function start(name: string, upstream: number): Promise<Running> {
  const child = fork(script(`./servers/${name}.ts`), [String(upstream)]);
  const { port } = await message<{ port: number }>(child);
  pin(child, 1);
  return { name, child, port, agent: new Agent({ connections: 16 }) };
}

async function cpuOf({ child }: Running): Promise<number> {
  child.send('cpu');
  return (await message<{ cpu: number }>(child)).cpu;
}

function request({ agent, port }: Running, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    let bytes = 0;
    let status = 0;
    agent.dispatch(
      {
        origin: `http://127.0.0.1:${port}`,
        path: '/v1/chat/completions',
        method: 'POST',
        headers: ['content-type', 'application/json', 'authorization', 'Bearer bench'],
        body,
      },
      {
        onRequestStart() {},
        onResponseStart(_controller, code) {
          status = code;
        },
        onResponseData(_controller, chunk) {
          bytes += chunk.length;
        },
        onResponseEnd() {
          if (status === 200) resolve(bytes);
          else reject(new Error(`${port} answered ${status}`));
        },
        onResponseError(_controller, error) {
          reject(error);
        },
      },
    );
  });
}

async function load(server: Running, { body, concurrency }: Workload, requests: number): Promise<void> {
  let left = requests;
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await request(server, body);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

const upstream = fork(script('./upstream.ts'));
const { port: upstreamPort } = await message<{ port: number }>(upstream);
pin(upstream, 0);
const running: Running[] = [];
for (const name of servers) running.push(await start(name, upstreamPort));

console.log(`CPU of the server process in µs per request: median of ${rounds} rounds, and the ratio to "parse".`);
for (const workload of workloads) {
  const measured = new Map<string, number[]>(running.map(({ name }) => [name, []]));
  // Code that is not compiled yet would be measured instead of code that runs all day.
  for (const server of running) await load(server, workload, workload.requests * WARM_ROUNDS);
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
upstream.kill();
