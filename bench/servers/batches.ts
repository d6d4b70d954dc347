import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type BatchStore, type Provider, createRouter, memoryStorage } from 'signalbox';
import { nodeRouter } from 'signalbox/node';
import { postgresStorage } from 'signalbox/postgres';
import { sqliteStorage } from 'signalbox/sqlite';

/**
 * A server that takes batches, in a process of its own so that its memory can be measured. Prints its address, then
 * answers every line on its input with what it has used since the last one.
 */
const [, , kind = 'none', where = ''] = process.argv;

/** Takes everything and keeps nothing: what is left is the cost of reading. */
function forgetful(): BatchStore {
  const store = memoryStorage();
  let added = 0;
  return new Proxy(store, {
    get(target, name) {
      if (name === 'addItems') {
        return (_account: string, _id: string, items: readonly unknown[]) =>
          Promise.resolve(void (added += items.length));
      }
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

function storage(): BatchStore {
  if (kind === 'sqlite') return sqliteStorage({ file: where });
  return kind === 'postgres' ? postgresStorage({ connectionString: where }) : forgetful();
}

const stub: Provider = {
  slug: 'stub',
  name: 'Stub',
  models: { 'acme/one': {} },
  chat: () => Promise.reject(new Error('nobody asks')),
};
const router = createRouter({
  providers: [stub],
  allowAnonymous: true,
  batches: { storage: storage(), worker: false },
  on: { warning: () => {} },
});
const delays = monitorEventLoopDelay({ resolution: 5 });
let highest = 0;
let cpu = process.cpuUsage();
const look = (): number => (highest = Math.max(highest, process.memoryUsage().rss));
const busyMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};
let busy = busyMs();
/** Most milliseconds of processor between two turns of a timer: a pause that other programs have no part in. */
let longest = 0;
setInterval(() => {
  look();
  const now = busyMs();
  longest = Math.max(longest, now - busy);
  busy = now;
}, 5).unref();

const server = createServer(nodeRouter(router, { basePath: '/v1' }));
server.requestTimeout = 0;
server.listen(0, '127.0.0.1', () => {
  console.log(String((server.address() as AddressInfo).port));
});
process.stdin.on('data', () => {
  const { user, system } = process.cpuUsage(cpu);
  const used = { rss: look(), blockedMs: delays.max / 1e6, workMs: longest, cpuSeconds: (user + system) / 1e6 };
  console.log(JSON.stringify(used));
  highest = 0;
  longest = 0;
  cpu = process.cpuUsage();
  delays.reset();
  delays.enable();
});
process.stdin.on('end', () => process.exit(0));
