import OpenAI from 'openai';
import { type IncomingMessage, createServer } from 'node:http';
import { type Batch, type Router, createRouter, openaiCompatible } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { type Mounted, MOUNTS, listen } from '../support/mounts.ts';
import { scriptedProvider } from '../support/scripted-upstream.ts';
import { startUpstream } from '../support/upstream.ts';
import { SECRET } from '../support/webhook-receiver.ts';
import { until } from '../support/until.ts';

interface Received {
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** A receiver of webhooks on loopback. */
async function startReceiver() {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      received.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
      response.writeHead(204).end();
    });
  });
  const mounted = await listen(server);
  const { host } = new URL(mounted.baseURL);
  return { received, host, url: `http://${host}/hook`, [Symbol.asyncDispose]: () => mounted[Symbol.asyncDispose]() };
}

async function open(mount: (router: Router) => Promise<Mounted>, hookHost: string) {
  const upstream = await startUpstream(scriptedProvider);
  const models = { 'acme/one': { price: { prompt: 1, completion: 2 } } };
  const router: Router = createRouter({
    providers: [openaiCompatible({ slug: 'up', name: 'Up', baseURL: upstream.baseURL, models })],
    allowAnonymous: true,
    webhooks: { secrets: [SECRET], allowedHosts: [hookHost] },
    on: { warning: () => {} },
  });
  await router.batches.start();
  const mounted = await mount(router);
  const client = new OpenAI({ baseURL: mounted.baseURL, apiKey: 'any', maxRetries: 0, webhookSecret: SECRET });
  return {
    client,
    upstream,
    async [Symbol.asyncDispose]() {
      await mounted[Symbol.asyncDispose]();
      await router.close();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

describe.each(Object.entries(MOUNTS))('the openai package on %s', (_name, mount) => {
  it('creates a batch, polls it, reads its results, checks its webhook and deletes it', async () => {
    await using receiver = await startReceiver();
    await using scene = await open(mount, receiver.host);
    const { client } = scene;
    const created = await client.post<Batch>('/batches', {
      body: {
        endpoint: '/v1/chat/completions',
        model: 'acme/one',
        callback_url: receiver.url,
        requests: Array.from({ length: 25 }, (_, index) => ({
          custom_id: `n${index}`,
          body: { messages: [{ role: 'user', content: `Tell me story ${index}` }] },
        })),
      },
    });
    expect(created).toMatchObject({ object: 'batch', status: 'validating', request_counts: { total: 25 } });
    const batch = await until(async () => {
      const one = await client.get<Batch>(`/batches/${created.id}`);
      return one.status === 'completed' ? one : undefined;
    });
    expect(batch.results).toHaveLength(25);
    expect(batch).toMatchObject({
      request_counts: { total: 25, completed: 25, failed: 0 },
      usage: { prompt_tokens: 525, completion_tokens: 325 },
    });
    const { headers, body } = await until(() => receiver.received[0]);
    const event = await client.webhooks.unwrap(body, headers);
    expect(event).toMatchObject({ type: 'batch.completed', data: { id: created.id } });
    expect((await client.get<{ data: unknown[] }>('/batches', { query: { status: 'completed' } })).data).toHaveLength(
      1,
    );
    expect(await client.delete(`/batches/${created.id}`)).toMatchObject({ deletion: { router: 'deleted' } });
    await expect(client.get(`/batches/${created.id}`)).rejects.toMatchObject({ status: 404 });
    expect(receiver.received).toHaveLength(1);
  });

  it('is told about what is wrong, and cancels', async () => {
    await using receiver = await startReceiver();
    await using scene = await open(mount, receiver.host);
    const { client } = scene;
    const item = { custom_id: 'a', body: { messages: [{ role: 'user', content: 'slow' }] } };
    const fields = { endpoint: '/v1/chat/completions', model: 'acme/one' };
    await expect(client.post('/batches', { body: { ...fields, requests: [item, item] } })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('requests[1].custom_id') as string,
    });
    const { id } = await client.post<Batch>('/batches', { body: { ...fields, requests: [item] } });
    await until(() => scene.upstream.requests[0]);
    expect(await client.post<Batch>(`/batches/${id}/cancel`)).toMatchObject({ status: 'cancelling' });
    const ended = await until(async () => {
      const one = await client.get<Batch>(`/batches/${id}`);
      return one.status === 'cancelled' ? one : undefined;
    });
    expect(ended).toMatchObject({ results: null, request_counts: { total: 1, completed: 0, failed: 1 } });
    await until(() => (scene.upstream.connections === 0 ? true : undefined));
  });
});
