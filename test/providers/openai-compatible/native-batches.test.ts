import { type Batch, groq, memoryStorage, openai } from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { all, batchScene, pausableStore, requests } from '../../support/batches.ts';
import {
  type BatchServer,
  type BatchServerAnswer,
  endedAtServer,
  nativeCall,
  startBatchServer,
} from '../../support/batch-server.ts';
import type { FailPoint } from '../../../src/runtime/batches/ports.ts';

const MODELS = {
  'acme/one': { upstreamModel: 'one-up', price: { prompt: 1, completion: 2, serviceTiers: { batch: 0.5 } } },
} as const;

/** The parts of the batch API of files, played by answers that a test may replace by their line. */
function api(answers: Readonly<Record<string, BatchServerAnswer>> = {}): Promise<BatchServer> {
  return startBatchServer(({ line }) => ({ ...USUAL, ...answers })[line] ?? [404, { error: { message: 'no such' } }]);
}

const BATCH = {
  id: 'batch_1',
  object: 'batch',
  status: 'validating',
  input_file_id: 'file-in',
  expires_at: 1_800_000_000,
};
const ENDED = { ...BATCH, status: 'completed', output_file_id: 'file-out', error_file_id: 'file-err' };
const USUAL: Readonly<Record<string, BatchServerAnswer>> = {
  'GET /v1/batches?limit=100': [200, { object: 'list', data: [] }],
  'POST /v1/files': [200, { id: 'file-in', object: 'file', purpose: 'batch' }],
  'POST /v1/batches': [200, BATCH],
  'GET /v1/batches/batch_1': [200, ENDED],
  'POST /v1/batches/batch_1/cancel': [200, { ...BATCH, status: 'cancelling' }],
  'DELETE /v1/files/file-in': [200, { id: 'file-in', deleted: true }],
  'DELETE /v1/files/file-out': [200, { id: 'file-out', deleted: true }],
  'DELETE /v1/files/file-err': [200, { id: 'file-err', deleted: true }],
};

function chatAnswer(text: string) {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'one-up',
    service_tier: 'default',
    choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  };
}

const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  created_at: 1_700_000_000,
  status: 'completed',
  model: 'one-up',
  output: [
    {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'Yes', annotations: [] }],
    },
  ],
  usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
};
const EMBEDDED = {
  object: 'list',
  model: 'one-up',
  data: [{ object: 'embedding', index: 0, embedding: [0.5] }],
  usage: { prompt_tokens: 1, total_tokens: 1 },
};
const MODALITIES = {
  '/v1/responses': ['text'],
  '/v1/messages': ['text'],
  '/v1/embeddings': ['embeddings'],
} as const;

function requestsOf(count: number) {
  return Array.from({ length: count }, (_, index) => {
    return { custom_id: `r${index}`, body: { messages: [{ role: 'user', content: 'Hi' }] } };
  });
}

function outcome(id: string, status: number, body: unknown) {
  return JSON.stringify({
    id: `x-${id}`,
    custom_id: id,
    response: { status_code: status, request_id: 'q', body },
    error: null,
  });
}

function provider({ origin }: BatchServer) {
  return openai({ apiKey: 'sk-secret-of-the-house', baseURL: `${origin}/v1`, models: MODELS, nativeBatches: true });
}

function native(server: BatchServer) {
  const { batches } = provider(server);
  if (batches === undefined) throw new Error('a batch API');
  return batches;
}

async function run(server: BatchServer, count: number): Promise<{ batch: Batch; results: unknown[]; scene: Scene }> {
  const scene = batchScene({ providers: [provider(server)] });
  const { id } = await scene.router.batches.create({
    endpoint: '/v1/chat/completions',
    model: 'acme/one',
    requests: requests(count),
  });
  await scene.router.batches.start();
  const batch = await endedAtServer(scene, id);
  const results = await all(scene.router.batches.results(id));
  return { batch, results, scene };
}

type Scene = ReturnType<typeof batchScene>;

describe('the batch API of files', () => {
  it('runs a batch from the upload to both files of results', async () => {
    const out = [
      outcome('r2', 200, chatAnswer('two\u2028lines')),
      '',
      'no JSON',
      outcome('r0', 200, chatAnswer('zero')),
    ];
    const failed = [
      outcome('r1', 400, { error: { message: 'too long', code: 'context_length_exceeded' } }),
      JSON.stringify({ custom_id: 'r3', response: null, error: { code: 'batch_expired', message: 'late' } }),
      outcome('r4', 0, ''),
      outcome('r0', 500, { error: { message: 'said twice' } }),
    ];
    await using server = await api({
      'GET /v1/files/file-out/content': [200, out.join('\n')],
      'GET /v1/files/file-err/content': [200, `${failed.join('\n')}\n`],
    });
    const { batch, results, scene } = await run(server, 6);
    expect(batch).toMatchObject({
      status: 'completed',
      provider: 'OpenAI',
      expires_at: 1_800_000_000,
      request_counts: { total: 6, completed: 2, failed: 4 },
      // At half the price, although the answers name another tier.
      usage: { prompt_tokens: 20, completion_tokens: 10, cost: 0.00002 },
    });
    expect(results).toMatchObject([
      { custom_id: 'r0', response: { body: { choices: [{ message: { content: 'zero' } }] } } },
      { custom_id: 'r1', error: { error_type: 'context_length_exceeded', message: 'too long' } },
      { custom_id: 'r2', response: { body: { choices: [{ message: { content: 'two\u2028lines' } }] } } },
      { custom_id: 'r3', error: { error_type: 'batch_expired' } },
      { custom_id: 'r4', error: { error_type: 'provider_unavailable' } },
      { custom_id: 'r5', response: null, error: expect.any(Object) as object },
    ]);
    const upload = server.requests.find(({ line }) => line === 'POST /v1/files');
    expect(upload?.headers['authorization']).toBe('Bearer sk-secret-of-the-house');
    const headers = { 'content-type': String(upload?.headers['content-type']) };
    const form = await new Response(new Uint8Array(upload?.body ?? []), { headers }).formData();
    expect(form.get('purpose')).toBe('batch');
    const file = form.get('file');
    const lines = (file instanceof File ? await file.text() : '').trimEnd().split('\n');
    expect(lines).toHaveLength(6);
    const line = JSON.parse(lines[3] ?? '') as Readonly<Record<string, object>>;
    expect(line).toMatchObject({
      custom_id: 'r3',
      method: 'POST',
      url: '/v1/chat/completions',
      body: { model: 'one-up', messages: [{ role: 'user', content: 'r3' }] },
    });
    expect(line['body']).not.toHaveProperty('stream');
    const created = server.requests.find(({ line: one }) => one === 'POST /v1/batches');
    expect(JSON.parse(String(created?.body))).toEqual({
      input_file_id: 'file-in',
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
      metadata: { router_batch: batch.id },
    });
    await scene.router.batches.stop({ graceMs: 0 });
  });

  it('gets a batch that is more than it takes in parts, each over a file of its own', async () => {
    // 26 requests of 2,000 inputs are more than the 50,000 that one batch may have.
    const [count, inputs] = [26, 2_000];
    const files: string[][] = [];
    const keys: string[] = [];
    await using server = await startBatchServer(({ line, body }) => {
      const [, number = '', content] = /^GET \/v1\/(?:batches\/batch|files\/out)_(\d)(\/content)?$/.exec(line) ?? [];
      if (line === 'POST /v1/files') {
        files.push([...body.toString().matchAll(/"custom_id":"(r\d+)"/g)].map(([, name = '']) => name));
        return [200, { id: `in_${files.length}` }];
      }
      if (line === 'POST /v1/batches') {
        const { metadata } = JSON.parse(body.toString()) as { metadata: Record<string, string> };
        keys.push(...Object.values(metadata));
        return [200, { ...BATCH, id: `batch_${keys.length}`, input_file_id: `in_${files.length}` }];
      }
      const lines = files[Number(number) - 1]?.map((name) => outcome(name, 200, EMBEDDED));
      if (content !== undefined) return [200, lines?.join('\n') ?? ''];
      if (number !== '') return [200, { ...BATCH, status: 'completed', output_file_id: `out_${number}` }];
      return [404, { error: { message: 'no such' } }];
    });
    const models = { 'acme/one': { ...MODELS['acme/one'], outputModalities: ['embeddings'] } } as const;
    const up = openai({ apiKey: 'sk-key', baseURL: `${server.origin}/v1`, models, nativeBatches: true });
    const scene = batchScene({ providers: [up] });
    const input = Array.from({ length: inputs }, () => 'a');
    const { id } = await scene.router.batches.create({
      endpoint: '/v1/embeddings',
      model: 'acme/one',
      requests: Array.from({ length: count }, (_, index) => ({ custom_id: `n${index}`, body: { input } })),
    });
    await scene.router.batches.start();
    expect(await endedAtServer(scene, id)).toMatchObject({ status: 'completed', request_counts: { completed: count } });
    expect(files.map(({ length }) => length)).toEqual([13, 13]);
    expect(new Set(files.flat()).size).toBe(count);
    expect(new Set(keys).size).toBe(2);
    await scene.router.batches.stop({ graceMs: 0 });
  });

  it('finds the batch again that it made when the answer was lost, and makes no other', async () => {
    const given = { ...BATCH, status: 'in_progress', metadata: { router_batch: 'key-1' } };
    await using server = await api({ 'GET /v1/batches?limit=100': [200, { data: [{ ...BATCH, id: 'else' }, given] }] });
    const items = async function* () {};
    const lookup = { ...nativeCall({}), key: 'key-1', createdAt: 1_700_000_000_000, total: 1, items };
    expect(await native(server).find?.(lookup)).toEqual({
      ok: true,
      value: { job: { id: 'batch_1', file: 'file-in' }, expiresAt: 1_800_000_000_000 },
    });
    expect(server.lines).toEqual(['GET /v1/batches?limit=100']);
  });

  it('looks through the list for it, page after page, as far back as it can be', async () => {
    const createdAt = 1_700_000_000_000;
    const others = (id: string, created: number, more = true) => ({
      data: [{ ...BATCH, id, created_at: created, metadata: { router_batch: 'other' } }],
      has_more: more,
    });
    const given = { ...BATCH, status: 'completed', metadata: { router_batch: 'key-1' } };
    const lookup = { ...nativeCall({}), key: 'key-1', createdAt, total: 1 };
    const first = { 'GET /v1/batches?limit=100': [200, others('b9', 1_700_000_900)] } as const;
    await using hit = await api({ ...first, 'GET /v1/batches?limit=100&after=b9': [200, { data: [given] }] });
    expect(await native(hit).find?.(lookup)).toMatchObject({ value: { job: { id: 'batch_1' } } });
    await using miss = await api({
      ...first,
      'GET /v1/batches?limit=100&after=b9': [200, others('b8', 1_699_990_000)],
    });
    expect(await native(miss).find?.(lookup)).toEqual({ ok: true, value: undefined });
    expect(miss.lines).toHaveLength(2);
    await using busy = await api({ 'GET /v1/batches?limit=100': [503, {}] });
    expect(await native(busy).find?.(lookup)).toMatchObject({ ok: false, failure: { status: 503 } });
  });

  it('is not asked to run a batch twice when a process dies before it wrote down which it is', async () => {
    const made: unknown[] = [];
    const text = requestsOf(3).map(({ custom_id: name }) => outcome(name, 200, chatAnswer(name)));
    await using server = await startBatchServer(({ line, body }) => {
      if (line === 'POST /v1/batches') {
        const { metadata } = JSON.parse(String(body)) as { metadata: object };
        made.push({ ...ENDED, error_file_id: null, metadata });
        return [200, made.at(-1)];
      }
      if (line === 'GET /v1/batches?limit=100') return [200, { object: 'list', data: made, has_more: false }];
      if (line === 'GET /v1/batches/batch_1') return [200, made[0]];
      if (line === 'GET /v1/files/file-out/content') return [200, text.join('\n')];
      return USUAL[line] ?? [404, {}];
    });
    const environment = fakeEnvironment();
    const store = memoryStorage({ now: environment.wallClock });
    const mortal = pausableStore(store);
    let died: () => void = () => {};
    const death = new Promise<void>((resolve) => (died = resolve));
    const failPoint = (name: FailPoint): Promise<void> | undefined => {
      if (name !== 'run.submitted') return undefined;
      mortal.pause();
      died();
      return new Promise(() => {});
    };
    const config = { providers: [provider(server)] };
    const one = batchScene(config, { environment, store: mortal.store }, { failPoint });
    const { id } = await one.router.batches.create({
      endpoint: '/v1/chat/completions',
      model: 'acme/one',
      requests: requestsOf(3),
    });
    await one.router.batches.start();
    await death;
    const two = batchScene({ providers: [provider(server)] }, { environment, store });
    await two.router.batches.start();
    const batch = await endedAtServer(two, id);
    expect(batch).toMatchObject({ status: 'completed', request_counts: { total: 3, completed: 3 } });
    expect(server.lines.filter((line) => line.startsWith('POST'))).toEqual(['POST /v1/files', 'POST /v1/batches']);
    await two.router.batches.stop({ graceMs: 0 });
  });

  it.each([
    ['/v1/responses', { input: 'Hi' }, '/v1/responses', RESPONSE, { object: 'response', status: 'completed' }],
    [
      '/v1/messages',
      { max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] },
      '/v1/chat/completions',
      chatAnswer('Yes'),
      { type: 'message', content: [{ type: 'text', text: 'Yes' }] },
    ],
    [
      '/v1/embeddings',
      { input: ['a', 'b'] },
      '/v1/embeddings',
      {
        object: 'list',
        data: [
          { object: 'embedding', index: 1, embedding: [2] },
          { object: 'embedding', index: 0, embedding: [1] },
        ],
        usage: { prompt_tokens: 10, total_tokens: 10 },
      },
      { data: [{ embedding: [1] }, { embedding: [2] }] },
    ],
  ] as const)('takes batches of %s', async (endpoint, body, url, answered, shown) => {
    await using server = await api({
      'GET /v1/batches/batch_1': [200, { ...ENDED, error_file_id: null }],
      'GET /v1/files/file-out/content': [200, outcome('r0', 200, answered)],
    });
    const models = { 'acme/one': { ...MODELS['acme/one'], outputModalities: MODALITIES[endpoint] } };
    const up = openai({
      apiKey: 'sk-x',
      baseURL: `${server.origin}/v1`,
      models,
      nativeBatches: true,
      nativeApiFormats: ['responses'],
    });
    const scene = batchScene({ providers: [up] });
    const { id } = await scene.router.batches.create({
      endpoint,
      model: 'acme/one',
      requests: [{ custom_id: 'a', body }],
    });
    await scene.router.batches.start();
    const batch = await endedAtServer(scene, id);
    expect(batch).toMatchObject({ status: 'completed', request_counts: { completed: 1 } });
    expect(batch.usage?.cost).toBe(endpoint === '/v1/embeddings' ? 0.000_005 : 0.000_01);
    const [result] = await all(scene.router.batches.results(id));
    expect(result?.response?.body).toMatchObject(shown);
    const upload = server.requests.find(({ line }) => line === 'POST /v1/files');
    expect(String(upload?.body)).toContain(`"url":"${url}"`);
    const created = server.requests.find(({ line }) => line === 'POST /v1/batches');
    expect(JSON.parse(String(created?.body))).toMatchObject({ endpoint: url });
    await scene.router.batches.stop({ graceMs: 0 });
  });

  it('counts a response that says itself that it failed as a failed request', async () => {
    const body = { ...RESPONSE, status: 'failed', error: { code: 'server_error', message: 'it broke' }, output: [] };
    await using server = await api();
    const up = openai({ apiKey: 'k', baseURL: server.origin, nativeBatches: true, nativeApiFormats: ['responses'] });
    const request = { operation: 'chat', cache: {}, native: { apiFormat: 'responses', body: {} } } as never;
    // What is read is what a batch gave that was asked for before.
    await up.batches?.poll({ job: { id: 'batch_1' }, signal: AbortSignal.timeout(10_000) } as never);
    expect(up.batches?.read(JSON.stringify(body), request, {} as never)).toMatchObject({
      type: 'failed',
      failure: { message: 'it broke' },
    });
  });

  it.each([
    [{ output_file_id: null, error_file_id: 'file-err' }, ['GET /v1/files/file-err/content']],
    [{ output_file_id: 'file-out', error_file_id: '' }, ['GET /v1/files/file-out/content']],
    [{ output_file_id: '', error_file_id: null }, []],
  ])('reads the files that are there of %j', async (files, lines) => {
    const text = outcome('r0', 200, chatAnswer('x'));
    await using server = await api({
      'GET /v1/batches/batch_1': [200, { ...ENDED, ...files }],
      'GET /v1/files/file-out/content': [200, text],
      'GET /v1/files/file-err/content': [200, text],
    });
    expect(await all(native(server).results(nativeCall({ id: 'batch_1' })))).toHaveLength(lines.length);
    expect(server.lines.slice(1)).toEqual(lines);
  });

  it('rejects when a file cannot be read, so that nothing counts as missing', async () => {
    await using server = await api({ 'GET /v1/files/file-out/content': [503, { error: { message: 'busy' } }] });
    await expect(all(native(server).results(nativeCall({ id: 'batch_1' })))).rejects.toThrow('cannot be read: busy');
  });

  it.each([
    ['validating', { status: 'running', expiresAt: 1_800_000_000_000 }],
    ['finalizing', { status: 'running', expiresAt: 1_800_000_000_000 }],
    ['pondering', { status: 'running', expiresAt: 1_800_000_000_000 }],
    ['completed', { status: 'ended', outcome: 'completed' }],
    ['expired', { status: 'ended', outcome: 'expired' }],
    ['cancelled', { status: 'ended', outcome: 'cancelled' }],
    [
      'failed',
      { status: 'ended', outcome: 'failed', message: expect.stringMatching(/^bad line .*\(request 3\)$/) as string },
    ],
  ])('reads the state %s', async (status, state) => {
    const errors = { data: [{ code: 'x', message: 'bad line of sk-secret-of-the-house', line: 3 }] };
    await using server = await api({ 'GET /v1/batches/batch_1': [200, { ...BATCH, status, errors }] });
    const reply = await native(server).poll(nativeCall({ id: 'batch_1' }));
    expect(reply).toMatchObject({ ok: true, value: state });
    expect(JSON.stringify(reply)).not.toContain('secret');
  });

  it('cancels, and deletes all files around a batch; those that are gone are no failure', async () => {
    await using server = await api({ 'DELETE /v1/files/file-out': [404, {}] });
    const call = nativeCall({ id: 'batch_1', file: 'file-in' });
    expect(await native(server).cancel(call)).toEqual({ ok: true, value: undefined });
    expect(await native(server).remove(call)).toEqual({ ok: true, value: 'unsupported' });
    expect(server.lines).toEqual([
      'POST /v1/batches/batch_1/cancel',
      'GET /v1/batches/batch_1',
      'DELETE /v1/files/file-in',
      'DELETE /v1/files/file-out',
      'DELETE /v1/files/file-err',
    ]);
  });

  it('is used by default at the own address of a vendor that has one, for what it takes', () => {
    const operations = ['/v1/chat/completions', '/v1/responses', '/v1/messages', '/v1/embeddings'] as const;
    const taken = ({ batches }: ReturnType<typeof openai>) =>
      operations.filter((operation) => batches?.accepts(operation, {} as never));
    expect(taken(openai({ apiKey: 'k', baseURL: 'https://api.openai.com/v1' }))).toEqual(operations);
    expect(taken(groq({ apiKey: 'k' }))).toEqual(operations.slice(0, 3));
    expect(openai({ apiKey: 'k', baseURL: 'http://127.0.0.1:1/v1' }).batches).toBeUndefined();
    expect(groq({ apiKey: 'k', nativeBatches: false }).batches).toBeUndefined();
  });
});
