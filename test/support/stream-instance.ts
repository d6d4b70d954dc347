import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRouter, openaiCompatible } from 'signalbox';
import { nodeRouter } from 'signalbox/node';
import { redisStore } from 'signalbox/redis';

/**
 * One of several instances that keep streams in one Redis: `node stream-instance.ts <Redis> <upstream> <keepMs>
 * <afterFirstToken>`. Tells its
 * address, then the id of each request that it has metered.
 */
const [url = '', baseURL = '', keepMs = '', afterFirstToken = ''] = process.argv.slice(2);
const router = createRouter({
  providers: [
    openaiCompatible({
      slug: 'up',
      baseURL,
      apiKey: 'k',
      models: { 'acme/story': {}, 'acme/tale': { prefill: true } },
    }),
  ],
  fallback: { afterFirstToken: afterFirstToken === 'continue' ? 'continue' : 'error' },
  catalog: [],
  // A busy machine is no outage.
  streams: { store: redisStore({ url, timeoutMs: 10_000 }), keepMs: Number(keepMs), leaveAfterMs: 15_000 },
  on: {
    result: ({ request: { id } }) => process.send?.({ metered: id }),
    error: ({ request: { id } }) => process.send?.({ metered: id }),
  },
});
const server = createServer(nodeRouter(router, { basePath: '/v1' })).listen(0, '127.0.0.1');
await once(server, 'listening');
process.send?.({ address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` });
// An instance whose parent died has nobody left to work for.
process.once('disconnect', () => process.exit(1));
