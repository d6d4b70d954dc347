import { createServer } from 'node:http';
import { nodeRouter } from 'signalbox/node';
import { benchRouter } from './bench-router.ts';
import { report } from './harness.ts';

report(createServer(nodeRouter(benchRouter(), { basePath: '/v1' })));
