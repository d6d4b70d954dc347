import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';
import { type BatchRequest, createRouter, localQueue, openaiCompatible } from 'signalbox';
import { nodeRouter } from 'signalbox/node';
import { postgresStorage } from 'signalbox/postgres';
import { sqliteStorage } from 'signalbox/sqlite';

/**
 * A server that runs one large batch of small requests, in a process of its own so that its memory can be measured.
 * Prints a line of JSON for each stage, and its port when the batch has ended.
 */
const [, , kind = 'sqlite', where = '', upstream = '', items = '20000', seconds = '120'] = process.argv;
const total = Number(items);
const AT_A_TIME = 16;
const MARKS = [0.1, 0.5, 1].map((part) => Math.floor(part * total));

const models = { 'bench/model': { upstreamModel: 'upstream-model', price: { prompt: 1, completion: 2 } } } as const;
const router = createRouter({
  providers: [openaiCompatible({ slug: 'up', baseURL: upstream, apiKey: 'key', models })],
  allowAnonymous: true,
  batches: {
    storage: kind === 'sqlite' ? sqliteStorage({ file: where }) : postgresStorage({ connectionString: where }),
    queue: localQueue({ pollMs: 1_000 }),
    limits: { perBatch: AT_A_TIME, perProvider: AT_A_TIME },
  },
  on: { warning: () => {} },
});

const startedAt = performance.now();
let highest = 0;
const look = (): number => (highest = Math.max(highest, process.memoryUsage.rss()));
setInterval(look, 5).unref();

function tell(stage: string, done: number, more: object = {}): void {
  const { heapUsed, external } = process.memoryUsage();
  const [rss, at] = [look(), (performance.now() - startedAt) / 1_000];
  console.log(JSON.stringify({ stage, done, rss, heapUsed, external, seconds: at, ...more }));
  highest = 0;
}

function* requests(): Generator<BatchRequest, void> {
  for (let index = 0; index < total; index += 1) {
    const body = { messages: [{ role: 'user', content: `Say ${index}` }], max_tokens: 200 };
    yield { custom_id: `request-${index}`, body };
  }
}

const ended = new Promise<string>((resolve) => {
  const late = setTimeout(() => resolve('out of time'), Number(seconds) * 1_000);
  let next = 0;
  router.on('batch', ({ batch: { request_counts: counts, status } }) => {
    const done = counts.completed + counts.failed;
    for (; next < MARKS.length && done >= (MARKS[next] ?? Infinity); next += 1) tell('running', done);
    if (status !== 'completed') return;
    clearTimeout(late);
    resolve(status);
  });
});
const { id } = await router.batches.create({
  endpoint: '/v1/chat/completions',
  model: 'bench/model',
  requests: requests(),
});
tell('created', 0);
await router.batches.start();
const status = await ended;
const counts = (await router.batches.retrieve(id)).request_counts;
await router.batches.stop({ graceMs: 1_000 });
tell('ended', counts.completed, { id, status });
const server = createServer(nodeRouter(router, { basePath: '/v1' }));
server.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ port: (server.address() as AddressInfo).port }));
});
process.stdin.on('data', () => tell('read', counts.completed));
process.stdin.on('end', () => process.exit(0));
