import { mistral } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { all, batchScene } from '../../support/batches.ts';
import {
  type BatchServer,
  type BatchServerAnswer,
  endedAtServer,
  nativeCall,
  startBatchServer,
} from '../../support/batch-server.ts';

const CREATED = 1_800_000_000;
const WINDOW = 86_400;
const JOB = {
  id: 'job-1',
  object: 'batch',
  input_files: ['file-in'],
  metadata: {},
  endpoint: '/v1/chat/completions',
  model: 'one-up',
  output_file: null,
  error_file: null,
  errors: [],
  status: 'QUEUED',
  created_at: CREATED,
  total_requests: 3,
  completed_requests: 0,
  succeeded_requests: 0,
  failed_requests: 0,
};
const ENDED = { ...JOB, status: 'SUCCESS', output_file: 'file-out', error_file: 'file-err' };
const USUAL: Readonly<Record<string, BatchServerAnswer>> = {
  'POST /v1/files': [200, { id: 'file-in', object: 'file', purpose: 'batch' }],
  'POST /v1/batch/jobs': [200, JOB],
  'GET /v1/batch/jobs/job-1': [200, ENDED],
  'POST /v1/batch/jobs/job-1/cancel': [200, { ...JOB, status: 'CANCELLATION_REQUESTED' }],
  'DELETE /v1/files/file-in': [200, { id: 'file-in', deleted: true }],
  'DELETE /v1/files/file-out': [200, { id: 'file-out', deleted: true }],
  'DELETE /v1/files/file-err': [404, { detail: 'Not found' }],
};

function api(answers: Readonly<Record<string, BatchServerAnswer>> = {}): Promise<BatchServer> {
  return startBatchServer(({ line }) => ({ ...USUAL, ...answers })[line] ?? [404, { detail: 'Not found' }]);
}

function provider({ origin }: BatchServer) {
  return mistral({
    apiKey: 'key-of-the-house',
    baseURL: `${origin}/v1`,
    models: {
      'acme/one': { upstreamModel: 'one-up', price: { prompt: 1, completion: 2 } },
      'acme/vectors': {
        upstreamModel: 'vectors-up',
        price: { prompt: 1, completion: 0 },
        outputModalities: ['embeddings'],
      },
    },
    nativeBatches: true,
  });
}

function native(server: BatchServer) {
  const { batches } = provider(server);
  if (batches === undefined) throw new Error('a batch API');
  return batches;
}

function outcome(id: string, status: number, body: unknown): string {
  return JSON.stringify({ id: `x-${id}`, custom_id: id, response: { status_code: status, body }, error: null });
}

async function linesOf({ requests }: BatchServer): Promise<object[]> {
  const upload = requests.find(({ line }) => line === 'POST /v1/files');
  const headers = { 'content-type': String(upload?.headers['content-type']) };
  const form = await new Response(new Uint8Array(upload?.body ?? []), { headers }).formData();
  expect(form.get('purpose')).toBe('batch');
  const file = form.get('file');
  const text = file instanceof File ? await file.text() : '';
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as object);
}

describe('the batch API of jobs', () => {
  it('runs a batch, whose model is that of the job and of no request', async () => {
    const answered = {
      id: 'x',
      object: 'chat.completion',
      created: CREATED,
      model: 'one-up',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Yes' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    };
    const message = 'Input should be a valid string';
    await using server = await api({
      'GET /v1/files/file-out/content': [200, `${outcome('r2', 200, answered)}\n${outcome('r0', 200, answered)}\n`],
      'GET /v1/files/file-err/content': [200, outcome('r1', 422, { object: 'error', message, type: 'invalid' })],
    });
    const scene = batchScene({ providers: [provider(server)] });
    const { id } = await scene.router.batches.create({
      endpoint: '/v1/chat/completions',
      model: 'acme/one',
      requests: Array.from({ length: 3 }, (_, index) => ({
        custom_id: `my ${index}`,
        body: { messages: [{ role: 'user', content: 'Hi' }], seed: 7 },
      })),
    });
    await scene.router.batches.start();
    expect(await endedAtServer(scene, id)).toMatchObject({
      status: 'completed',
      provider: 'Mistral',
      expires_at: CREATED + WINDOW,
      request_counts: { total: 3, completed: 2, failed: 1 },
      // At half the price, which the model's own price does not tell.
      usage: { prompt_tokens: 20, completion_tokens: 10, cost: 0.00002 },
    });
    expect(await all(scene.router.batches.results(id))).toMatchObject([
      { custom_id: 'my 0', response: { body: { choices: [{ message: { content: 'Yes' } }] } } },
      { custom_id: 'my 1', error: { message, error_type: 'unprocessable' } },
      { custom_id: 'my 2', response: { body: { choices: [{ message: { content: 'Yes' } }] } } },
    ]);
    const lines = await linesOf(server);
    expect(lines[0]).toEqual({
      custom_id: 'r0',
      body: { messages: [{ role: 'user', content: 'Hi' }], random_seed: 7 },
    });
    const created = server.requests.find(({ line }) => line === 'POST /v1/batch/jobs');
    expect(JSON.parse(String(created?.body))).toEqual({
      input_files: ['file-in'],
      endpoint: '/v1/chat/completions',
      model: 'one-up',
      metadata: { router_batch: id },
      timeout_hours: 24,
    });
    expect(created?.headers['authorization']).toBe('Bearer key-of-the-house');
    await scene.router.batches.stop({ graceMs: 0 });
  });

  it('runs a batch of embeddings', async () => {
    const answered = {
      object: 'list',
      data: [{ object: 'embedding', index: 0, embedding: [1, 2] }],
      usage: { prompt_tokens: 10, total_tokens: 10 },
    };
    await using server = await api({
      'GET /v1/batch/jobs/job-1': [200, { ...ENDED, error_file: null }],
      'GET /v1/files/file-out/content': [200, outcome('r0', 200, answered)],
    });
    const scene = batchScene({ providers: [provider(server)] });
    const { id } = await scene.router.batches.create({
      endpoint: '/v1/embeddings',
      model: 'acme/vectors',
      requests: [{ custom_id: 'a', body: { input: 'Hi', dimensions: 2 } }],
    });
    await scene.router.batches.start();
    const batch = await endedAtServer(scene, id);
    expect(batch).toMatchObject({ status: 'completed', request_counts: { completed: 1 } });
    expect(batch.usage?.cost).toBe(0.000_005);
    const [result] = await all(scene.router.batches.results(id));
    expect(result?.response?.body).toMatchObject({ data: [{ embedding: [1, 2] }] });
    expect((await linesOf(server))[0]).toMatchObject({ custom_id: 'r0', body: { output_dimension: 2 } });
    await scene.router.batches.stop({ graceMs: 0 });
  });

  it.each([
    ['QUEUED', { status: 'running', expiresAt: (CREATED + WINDOW) * 1_000 }],
    ['CANCELLATION_REQUESTED', { status: 'running', expiresAt: (CREATED + WINDOW) * 1_000 }],
    ['PONDERING', { status: 'running', expiresAt: (CREATED + WINDOW) * 1_000 }],
    ['SUCCESS', { status: 'ended', outcome: 'completed' }],
    ['TIMEOUT_EXCEEDED', { status: 'ended', outcome: 'expired' }],
    ['CANCELLED', { status: 'ended', outcome: 'cancelled' }],
    ['FAILED', { status: 'ended', outcome: 'failed', message: 'bad file' }],
  ])('reads the state %s', async (status, state) => {
    const errors = [{ message: 'bad file', count: 1 }];
    await using server = await api({ 'GET /v1/batch/jobs/job-1': [200, { ...JOB, status, errors }] });
    expect(await native(server).poll(nativeCall({ id: 'job-1' }))).toEqual({ ok: true, value: state });
  });

  it('finds a job again whose answer was lost, the one that still runs before others', async () => {
    const others = Array.from({ length: 100 }, (_, index) => ({ ...JOB, id: `other-${index}` }));
    const ours = { router_batch: 'key-1' };
    const dead = { ...JOB, id: 'dead', status: 'CANCELLED', metadata: ours };
    await using server = await api({
      'GET /v1/batch/jobs?page=0&page_size=100': [200, { object: 'list', data: others, total: 102 }],
      'GET /v1/batch/jobs?page=1&page_size=100': [200, { data: [dead, { ...JOB, metadata: ours }], total: 102 }],
    });
    const lookup = { ...nativeCall({}), key: 'key-1', createdAt: CREATED * 1_000, total: 1 };
    const value = { job: { id: 'job-1', file: 'file-in' }, expiresAt: (CREATED + WINDOW) * 1_000 };
    expect(await native(server).find?.(lookup)).toEqual({ ok: true, value });
    expect(await native(server).find?.({ ...lookup, key: 'key-2' })).toEqual({ ok: true, value: undefined });
    // Older ones cannot be it.
    const later = { ...lookup, key: 'key-2', createdAt: (CREATED + 7_200) * 1_000 };
    expect(await native(server).find?.(later)).toEqual({ ok: true, value: undefined });
    expect(server.lines.map((line) => /page=(\d)/.exec(line)?.[1])).toEqual(['0', '1', '0', '1', '0']);
  });

  it('cancels, deletes the files, and takes back the file of a job that was refused', async () => {
    await using server = await api({ 'POST /v1/batch/jobs': [422, { detail: 'no such model' }] });
    const call = nativeCall({ id: 'job-1', file: 'file-in' });
    expect(await native(server).cancel(call)).toEqual({ ok: true, value: undefined });
    expect(await native(server).remove(call)).toEqual({ ok: true, value: 'unsupported' });
    const scene = batchScene({ providers: [provider(server)] });
    const { id } = await scene.router.batches.create({
      endpoint: '/v1/chat/completions',
      model: 'acme/one',
      provider: { allow_fallbacks: false },
      requests: [{ custom_id: 'a', body: { messages: [{ role: 'user', content: 'Hi' }] } }],
    });
    await scene.router.batches.start();
    expect(await endedAtServer(scene, id)).toMatchObject({
      status: 'failed',
      error: { message: 'The provider refused the batch: no such model' },
    });
    expect(server.lines.slice(1)).toEqual([
      'GET /v1/batch/jobs/job-1',
      'DELETE /v1/files/file-in',
      'DELETE /v1/files/file-out',
      'DELETE /v1/files/file-err',
      'POST /v1/files',
      'POST /v1/batch/jobs',
      'DELETE /v1/files/file-in',
    ]);
    await scene.router.batches.stop({ graceMs: 0 });
  });

  it('is used by default at the own address only, and not for what it does not take', () => {
    const own = mistral({ apiKey: 'k' });
    expect(own.batches?.accepts('/v1/messages', {} as never)).toBe(true);
    expect(own.batches?.accepts('/v1/embeddings', {} as never)).toBe(true);
    expect(mistral({ apiKey: 'k', baseURL: 'http://127.0.0.1:1/v1' }).batches).toBeUndefined();
  });
});
