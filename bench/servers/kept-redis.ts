import { createServer } from 'node:http';
import { nodeRouter } from 'signalbox/node';
import { redisStore } from 'signalbox/redis';
import { benchRouter } from './bench-router.ts';
import { report } from './harness.ts';

/** The same as `node.ts`, with streams that are kept in the Redis of `REDIS_URL`. */
const store = redisStore({ url: process.env['REDIS_URL'] ?? '', timeoutMs: 10_000 });
report(createServer(nodeRouter(benchRouter({ streams: { store, keepMs: 5_000 } }), { basePath: '/v1' })));
