import { Agent } from 'undici';
import { load, message, type Running, start, startUpstream } from './load.ts';
import { WORKLOADS } from './workloads.ts';

/**
 * What an open stream takes of memory, and how much later its first byte comes than over a direct connection.
 * Usage: npm run bench:streams [-- --servers parse,node --streams 500]
 */
const FIRST_BYTES = 300;
/** Time that streams are held before the memory is looked at. */
const HOLD_MS = 3_000;

const options = new Map<string, string>();
for (let index = 2; index < process.argv.length; index += 2) {
  options.set((process.argv[index] ?? '').replace(/^--/, ''), process.argv[index + 1] ?? '');
}
const servers = options.get('servers')?.split(',') ?? ['pipe', 'parse', 'node', 'fetch'];
const count = Number(options.get('streams') ?? 500);
const burst = WORKLOADS.find(({ name }) => name.startsWith('stream'));
if (burst === undefined) throw new Error('there is a workload of streams');
const slowBody = burst.body.replace('Tell me a story', 'Tell me a story, slowly');
const headers = ['content-type', 'application/json', 'authorization', 'Bearer bench-key-0123456789'];

interface Opened {
  readonly status: number;
  readonly ms: number;
  close(): void;
}

/** Asks for a stream; resolves with its status and the milliseconds until its first byte. */
function firstByte(agent: Agent, port: number, body: string): Promise<Opened> {
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    let status = 0;
    agent.dispatch(
      { origin: `http://127.0.0.1:${port}`, path: '/v1/chat/completions', method: 'POST', headers, body },
      {
        onRequestStart() {},
        onResponseStart(_controller, code) {
          status = code;
        },
        onResponseData(controller) {
          resolve({
            status,
            ms: performance.now() - startedAt,
            close: () => controller.abort(new Error('the bench has seen enough')),
          });
        },
        onResponseEnd() {},
        onResponseError(_controller, error) {
          reject(error);
        },
      },
    );
  });
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function memoryOf({ child }: Running): Promise<number> {
  child.send('memory');
  return (await message<{ rss: number }>(child)).rss;
}

/**
 * The memory of one more stream: what it takes to go from some streams to four times as many. So what a process takes
 * once for all of them is not counted.
 */
async function heldStreams(server: Running): Promise<string> {
  const agent = new Agent({ connections: null });
  const hold = async (more: number): Promise<readonly Opened[]> => {
    const opened = await Promise.all(Array.from({ length: more }, () => firstByte(agent, server.port, slowBody)));
    await wait(HOLD_MS);
    return opened;
  };
  const some = await hold(count);
  const before = await memoryOf(server);
  const more = await hold(count * 3);
  const after = await memoryOf(server);
  const answered = [...some, ...more].filter(({ status }) => status === 200).length;
  for (const stream of [...some, ...more]) stream.close();
  await agent.destroy();
  return `${((after - before) / more.length / 1_000).toFixed(0)} kB of RSS for each of ${count * 4} slow streams at once (${answered} answered)`;
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

const upstream = await startUpstream();
const running: Running[] = [];
for (const name of servers) running.push(await start(name, upstream.port, ['./memory.ts']));
for (const server of running) await load(server, { ...burst, concurrency: 64 }, burst.requests * 4);

const agent = new Agent({ connections: 1 });
const places = [{ name: 'direct', port: upstream.port }, ...running];
const times = new Map<string, number[]>(places.map(({ name }) => [name, []]));
for (let round = 0; round < FIRST_BYTES; round += 1) {
  for (const { name, port } of places) times.get(name)?.push((await firstByte(agent, port, burst.body)).ms);
}
const direct = median(times.get('direct') ?? []);
console.log(`First byte over a direct connection: ${direct.toFixed(2)} ms`);
for (const server of running) {
  const later = median(times.get(server.name) ?? []) - direct;
  const held = await heldStreams(server);
  console.log(`${server.name.padEnd(10)} first byte ${later.toFixed(2)} ms later, ${held}`);
}
await agent.destroy();
for (const { child } of running) child.kill();
upstream.child.kill();
