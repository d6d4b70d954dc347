import OpenAI, { toFile } from 'openai';
import { createRouter, memoryStorage, openaiCompatible, type Router } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { type Mounted, MOUNTS } from '../support/mounts.ts';
import { scriptedProvider } from '../support/scripted-upstream.ts';
import { startUpstream } from '../support/upstream.ts';

const CHAT = '/v1/chat/completions';
const line = (name: string, more: object = {}): string =>
  JSON.stringify({
    custom_id: name,
    method: 'POST',
    url: CHAT,
    body: { model: 'acme/one', messages: [{ role: 'user', content: `Tell me ${name}` }] },
    ...more,
  });
const file = (lines: readonly string[]): Promise<File> =>
  toFile(Buffer.from(lines.join('\n')), 'Anfragen für «A».jsonl');

async function open(mount: (router: Router) => Promise<Mounted>) {
  const upstream = await startUpstream(scriptedProvider);
  const models = { 'acme/one': { price: { prompt: 1, completion: 2 } } };
  const router: Router = createRouter({
    providers: [openaiCompatible({ slug: 'up', name: 'Up', baseURL: upstream.baseURL, models })],
    allowAnonymous: true,
    batches: { storage: memoryStorage() },
    on: { warning: () => {} },
  });
  await router.batches.start();
  const mounted = await mount(router);
  const client = new OpenAI({ baseURL: mounted.baseURL, apiKey: 'any', maxRetries: 0 });
  return {
    client,
    async [Symbol.asyncDispose]() {
      await mounted[Symbol.asyncDispose]();
      await router.close();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

async function ended(client: OpenAI, id: string): Promise<OpenAI.Batch> {
  for (let turn = 0; turn < 1_000; turn += 1) {
    const batch = await client.batches.retrieve(id);
    if (['completed', 'failed', 'cancelled', 'expired'].includes(batch.status)) return batch;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('The batch does not end');
}

describe.each(Object.entries(MOUNTS))('files through the openai package on %s', (_name, mount) => {
  it('makes a batch of a file, and gives its results as a file', async () => {
    await using scene = await open(mount);
    const { client } = scene;
    const lines = Array.from({ length: 30 }, (_, index) => line(`story-${index}`));
    const uploaded = await client.files.create({ file: await file([...lines, '']), purpose: 'batch' });
    expect(uploaded).toMatchObject({
      object: 'file',
      bytes: Buffer.byteLength(lines.join('\n')) + 1,
      filename: 'Anfragen für «A».jsonl',
      purpose: 'batch',
      status: 'processed',
    });
    const created = await client.batches.create({
      input_file_id: uploaded.id,
      endpoint: CHAT,
      completion_window: '24h',
      metadata: { job: 'nightly' },
    });
    expect(created).toMatchObject({
      object: 'batch',
      status: 'validating',
      input_file_id: uploaded.id,
      output_file_id: null,
      error_file_id: null,
      request_counts: { total: 30, completed: 0, failed: 0 },
    });
    const batch = await ended(client, created.id);
    expect(batch).toMatchObject({
      status: 'completed',
      metadata: { job: 'nightly' },
      request_counts: { total: 30, completed: 30, failed: 0 },
      error_file_id: null,
      errors: null,
    });
    expect(batch.completed_at).toEqual(expect.any(Number));
    const text = await (await client.files.content(batch.output_file_id ?? '')).text();
    const results = text
      .trimEnd()
      .split('\n')
      .map((one) => JSON.parse(one) as { custom_id: string; error: null; response: { status_code: number } });
    expect(results.map(({ custom_id: id }) => id).sort()).toEqual(lines.map((_, index) => `story-${index}`).sort());
    expect(results.every(({ error, response }) => error === null && response.status_code === 200)).toBe(true);
    const output = await client.files.retrieve(batch.output_file_id ?? '');
    expect(output).toMatchObject({ purpose: 'batch_output', bytes: Buffer.byteLength(text) });
    expect(await (await client.files.content(uploaded.id)).text()).toBe([...lines, ''].join('\n'));
    const listed = [];
    for await (const one of client.files.list({ limit: 1 })) listed.push(one.id);
    expect(listed).toEqual([uploaded.id]);
    expect(await client.files.delete(uploaded.id)).toMatchObject({ deleted: true });
    await expect(client.files.retrieve(uploaded.id)).rejects.toMatchObject({ status: 404 });
    await expect(client.files.delete(output.id)).rejects.toMatchObject({ status: 409 });
    await client.delete(`/batches/${batch.id}`);
    await expect(client.files.content(output.id)).rejects.toMatchObject({ status: 404 });
  });

  it('fails the validation of a batch with the line that is wrong', async () => {
    await using scene = await open(mount);
    const { client } = scene;
    const lines = [line('a'), line('b', { url: '/v1/embeddings' }), line('c')];
    const { id } = await client.files.create({ purpose: 'batch', file: await file(lines) });
    const { id: batchId } = await client.batches.create({
      input_file_id: id,
      endpoint: CHAT,
      completion_window: '24h',
    });
    const message = `Line 2: url must be "${CHAT}", the endpoint of the batch.`;
    expect(await ended(client, batchId)).toMatchObject({
      status: 'failed',
      errors: { object: 'list', data: [{ code: 'invalid_request', message, param: 'url', line: 2 }] },
      request_counts: { total: 0, completed: 0, failed: 0 },
      output_file_id: null,
      error_file_id: null,
    });
  });
});
