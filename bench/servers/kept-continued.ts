import { createServer } from 'node:http';
import { nodeRouter } from 'signalbox/node';
import { redisStore } from 'signalbox/redis';
import { benchRouter } from './bench-router.ts';
import { report } from './harness.ts';

/** The same as `kept-redis.ts`, with streams that another instance may go on with: stored before they are sent. */
const store = redisStore({ url: process.env['REDIS_URL'] ?? '', timeoutMs: 10_000 });
const router = benchRouter({ streams: { store, keepMs: 5_000 }, fallback: { afterFirstToken: 'continue' } });
report(createServer(nodeRouter(router, { basePath: '/v1' })));
