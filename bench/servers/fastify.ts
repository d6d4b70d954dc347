import fastify from 'fastify';
import { fastifyRouter } from 'signalbox/fastify';
import { benchRouter } from './bench-router.ts';
import { report } from './harness.ts';

const app = fastify();
await app.register(fastifyRouter, { router: benchRouter(), prefix: '/v1' });
await app.ready();
report(app.server);
