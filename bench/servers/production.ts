import { createServer } from 'node:http';
import { apiKeys } from 'signalbox';
import { nodeRouter } from 'signalbox/node';
import { prometheus } from 'signalbox/prometheus';
import { benchRouter } from './bench-router.ts';
import { report } from './harness.ts';

/** Plain Node with what a deployment usually adds: an API key, a rate limit, a listener and Prometheus. */
const router = benchRouter({
  authenticate: apiKeys([{ id: 'bench', key: 'bench-key-0123456789' }]),
  rateLimits: { default: { requestsPerMinute: 1e9, tokensPerMinute: 1e12 } },
});
let tokens = 0;
router.on('result', ({ usage }) => {
  tokens += usage.total_tokens;
});
await prometheus(router);
process.on('exit', () => {
  if (tokens === 0) console.error('the listener heard of nothing');
});
report(createServer(nodeRouter(router, { basePath: '/v1' })));
