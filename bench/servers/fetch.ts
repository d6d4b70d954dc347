import { createAdaptorServer } from '@hono/node-server';
import type { Server } from 'node:http';
import { fetchRouter } from 'signalbox/fetch';
import { benchRouter } from './bench-router.ts';
import { report } from './harness.ts';

const fetch = fetchRouter(benchRouter(), { basePath: '/v1', remoteAddress: () => '127.0.0.1' });
report(createAdaptorServer({ fetch }) as Server);
