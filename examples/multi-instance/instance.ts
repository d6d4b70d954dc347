import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRouter, providersFromEnvironment, simulated } from 'signalbox';
import { nodeRouter } from 'signalbox/node';
import { pgBossQueue } from 'signalbox/pg-boss';
import { postgresStorage } from 'signalbox/postgres';
import { redisStore } from 'signalbox/redis';

const connectionString = process.env['DATABASE_URL'];
const url = process.env['REDIS_URL'];
if (connectionString === undefined || url === undefined) throw new Error('Set DATABASE_URL and REDIS_URL');

let answered = 0;
const router = createRouter({
  providers: [...providersFromEnvironment(), simulated({ tokensPerSecond: 500 })],
  state: redisStore({ url }),
  // Each starts its migrations; whoever comes first makes them.
  batches: { storage: postgresStorage({ connectionString }), queue: pgBossQueue({ connectionString }) },
  on: { result: () => (answered += 1) },
});
await router.batches.start();

const server = createServer(nodeRouter(router, { basePath: '/v1' }));
server.listen(0, '127.0.0.1', () => {
  process.send?.({ baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` });
});

// An instance whose parent died has nobody left to work for.
process.once('disconnect', () => process.exit(1));
process.once('SIGTERM', async () => {
  server.close();
  // What is under way ends; what has not begun is left for the other instance.
  await router.close();
  process.send?.({ answered }, () => process.exit(0));
});
