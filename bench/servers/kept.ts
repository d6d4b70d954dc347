import { createServer } from 'node:http';
import { memoryStore } from 'signalbox';
import { nodeRouter } from 'signalbox/node';
import { benchRouter } from './bench-router.ts';
import { report } from './harness.ts';

/** The same as `node.ts`, with streams that are kept in memory. */
const store = memoryStore({ maxEntries: 1_000 });
report(createServer(nodeRouter(benchRouter({ streams: { store, keepMs: 5_000 } }), { basePath: '/v1' })));
