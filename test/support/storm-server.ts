import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRouter, simulated } from 'signalbox';
import { inspector } from 'signalbox/inspector';
import { nodeRouter } from 'signalbox/node';

/**
 * A router with an inspector in a process of its own, so that whoever presses keys in its page does not wait for it. Tells
 * its address, then sends itself requests: `node storm-server.ts <requests a second> <requests>` as soon as it is told to
 * begin, and tells how many milliseconds they took.
 */
const [perSecond = 0, requests = 0] = process.argv.slice(2).map(Number);
const models = { 'acme/one': { price: { prompt: 1, completion: 2 } } };
const router = createRouter({
  providers: [simulated({ slug: 'acme', models, answer: () => 'Yes.' })],
  catalog: [],
  inspector: inspector(),
});
const server = createServer(nodeRouter(router, { basePath: '/v1' })).listen(0, '127.0.0.1');
await once(server, 'listening');
process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
await once(process, 'message');

const began = performance.now();
const under: Promise<unknown>[] = [];
const storm = setInterval(() => {
  const due = Math.min(requests, ((performance.now() - began) / 1_000) * perSecond);
  while (under.length < due) {
    under.push(router.chat({ model: 'acme/one', messages: [{ role: 'user', content: 'Question' }] }));
  }
  if (under.length === requests) clearInterval(storm);
}, 20);
while (under.length < requests) await new Promise((resolve) => setTimeout(resolve, 20));
await Promise.all(under);
process.send?.(performance.now() - began);
