import express from 'express';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRouter, providersFromEnvironment, simulated } from 'signalbox';
import { expressRouter } from 'signalbox/express';
import { sqliteStorage } from 'signalbox/sqlite';
import { startReceiver } from './receiver.ts';

const folder = mkdtempSync(join(tmpdir(), 'batches-'));
const secret = `whsec_${randomBytes(32).toString('base64')}`;
const receiver = await startReceiver(secret);

const router = createRouter({
  providers: [...providersFromEnvironment(), simulated()],
  batches: { storage: sqliteStorage({ file: join(folder, 'batches.db') }) },
  // The receiver is on this machine, which is no place for webhooks unless it is named here.
  webhooks: { secrets: [secret], allowedHosts: [receiver.host] },
});
const server = express().use('/v1', expressRouter(router)).listen(0, '127.0.0.1');
await once(server, 'listening');
const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;

const response = await fetch(`${baseURL}/batches`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({
    endpoint: '/v1/chat/completions',
    model: 'simulated/small',
    callback_url: receiver.url,
    requests: ['red', 'yellow', 'green'].map((colour) => ({
      custom_id: colour,
      body: { messages: [{ role: 'user', content: `What does a ${colour} signal mean?` }], max_tokens: 10 },
    })),
  }),
});
const batch = (await response.json()) as { readonly id: string; readonly status: string };
console.log(`${response.status}: ${batch.id} is ${batch.status}`);

const { type, data } = await receiver.event;
console.log(`The webhook says ${type} of ${data.id}`);
for await (const { custom_id: colour, response: answer } of router.batches.results(batch.id)) {
  console.log(`${colour}: ${answer?.status_code}`);
}

server.close();
receiver.close();
await router.close();
rmSync(folder, { recursive: true, force: true });
