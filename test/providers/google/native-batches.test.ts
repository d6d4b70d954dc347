import { google } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { all, batchScene } from '../../support/batches.ts';
import {
  type BatchServer,
  type BatchServerAnswer,
  endedAtServer,
  nativeCall,
  startBatchServer,
} from '../../support/batch-server.ts';

const CREATED = '2027-01-15T08:00:00.123456Z';
const EXPIRES = Date.parse(CREATED) + 172_800_000;
const METADATA = {
  '@type': 'type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch',
  model: 'models/gemini-up',
  displayName: 'key-1',
  inputConfig: { fileName: 'files/in' },
  createTime: CREATED,
  batchStats: { requestCount: '3', pendingRequestCount: '3' },
  state: 'BATCH_STATE_PENDING',
  name: 'batches/b1',
};
const PENDING = { name: 'batches/b1', metadata: METADATA };
const ENDED = {
  ...PENDING,
  metadata: { ...METADATA, state: 'BATCH_STATE_SUCCEEDED', output: { responsesFile: 'files/batch-b1' } },
  done: true,
  response: { responsesFile: 'files/batch-b1' },
};
const CREATE = 'POST /v1beta/models/gemini-up:batchGenerateContent';
const SESSION = '?upload_id=abc&upload_protocol=resumable';
const USUAL: Readonly<Record<string, BatchServerAnswer>> = {
  'POST /upload/v1beta/files': [200, '', { 'x-goog-upload-url': `https://elsewhere.example/upload${SESSION}` }],
  [`POST /upload/v1beta/files${SESSION}`]: [200, { file: { name: 'files/in', mimeType: 'application/jsonl' } }],
  [CREATE]: [200, PENDING],
  'GET /v1beta/batches/b1': [200, ENDED],
  'POST /v1beta/batches/b1:cancel': [200, {}],
  'DELETE /v1beta/batches/b1': [200, {}],
  'DELETE /v1beta/files/in': [403, { error: { code: 403, status: 'PERMISSION_DENIED', message: 'or not there' } }],
  'DELETE /v1beta/files/batch-b1': [200, {}],
};

function api(answers: Readonly<Record<string, BatchServerAnswer>> = {}): Promise<BatchServer> {
  const missing: BatchServerAnswer = [404, { error: { code: 404, status: 'NOT_FOUND', message: 'no such' } }];
  return startBatchServer(({ line }) => ({ ...USUAL, ...answers })[line] ?? missing);
}

function provider({ origin }: BatchServer) {
  return google({
    apiKey: 'key-of-the-house',
    baseURL: `${origin}/v1beta`,
    models: { 'acme/one': { upstreamModel: 'gemini-up', price: { prompt: 1, completion: 2 } } },
    nativeBatches: true,
  });
}

function native(server: BatchServer) {
  const { batches } = provider(server);
  if (batches === undefined) throw new Error('a batch API');
  return batches;
}

/** A prompt that was blocked is an answer, as it is to a single request. */
const BLOCKED = {
  '/v1/chat/completions': { choices: [{ finish_reason: 'content_filter' }] },
  '/v1/messages': { stop_reason: 'refusal' },
};

function generated(text: string) {
  return {
    candidates: [{ content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
    modelVersion: 'gemini-up',
  };
}

describe('the batch mode of Gemini', () => {
  it.each(['/v1/chat/completions', '/v1/messages'] as const)('runs a batch of %s', async (endpoint) => {
    const lines = [
      { key: 'r2', response: generated('two\u2028lines') },
      { key: 'r1', error: { code: 3, message: 'bad temperature' } },
      { key: 'r3', response: { promptFeedback: { blockReason: 'SAFETY' } } },
      { key: 'r4', error: { code: 1, message: 'cancelled' } },
      { key: 'r5', error: { code: 14, message: 'overloaded' } },
      { key: 'r0', response: generated('zero') },
    ];
    await using server = await api({
      'GET /download/v1beta/files/batch-b1:download?alt=media': [
        200,
        lines.map((line) => JSON.stringify(line)).join('\n'),
      ],
    });
    const scene = batchScene({ providers: [provider(server)] });
    const { id } = await scene.router.batches.create({
      endpoint,
      model: 'acme/one',
      requests: Array.from({ length: 7 }, (_, index) => ({
        custom_id: `my ${index}`,
        body: { messages: [{ role: 'user', content: `é ${index}` }], max_tokens: 50 },
      })),
    });
    await scene.router.batches.start();
    expect(await endedAtServer(scene, id)).toMatchObject({
      status: 'completed',
      provider: 'Google',
      expires_at: Math.floor(EXPIRES / 1_000),
      request_counts: { total: 7, completed: 3, failed: 4 },
      // At half the price, which the model's own price does not tell.
      // One of the answers says nothing of usage: its prompt is estimated at one token.
      usage: { prompt_tokens: 27, completion_tokens: 10, cost: 0.0000235 },
    });
    const said = (text: string): object =>
      endpoint === '/v1/messages' ? { content: [{ text }] } : { choices: [{ message: { content: text } }] };
    const results = await all(scene.router.batches.results(id));
    expect(results).toMatchObject([
      { custom_id: 'my 0', response: { body: said('zero') } },
      { custom_id: 'my 1', error: { error_type: 'invalid_request', message: 'bad temperature' } },
      { custom_id: 'my 2', response: { body: said('two\u2028lines') } },
      { custom_id: 'my 3', response: { body: BLOCKED[endpoint] } },
      { custom_id: 'my 4', error: { error_type: 'batch_cancelled' } },
      { custom_id: 'my 5', error: { error_type: 'provider_overloaded' } },
      { custom_id: 'my 6', response: null, error: { error_type: 'provider_unavailable' } },
    ]);
    const [start, upload, created] = server.requests;
    expect(start?.headers).toMatchObject({
      'x-goog-api-key': 'key-of-the-house',
      'x-goog-upload-protocol': 'resumable',
      'x-goog-upload-command': 'start',
      'x-goog-upload-header-content-length': String(upload?.body.byteLength),
      'x-goog-upload-header-content-type': 'application/jsonl',
    });
    expect(upload?.headers).toMatchObject({
      'content-type': 'application/jsonl',
      'x-goog-upload-offset': '0',
      'x-goog-upload-command': 'upload, finalize',
    });
    const rows = String(upload?.body).trimEnd().split('\n');
    expect(rows).toHaveLength(7);
    expect(JSON.parse(rows[3] ?? '')).toMatchObject({
      key: 'r3',
      request: { contents: [{ role: 'user', parts: [{ text: 'é 3' }] }], generationConfig: { maxOutputTokens: 50 } },
    });
    expect(created?.line).toBe(CREATE);
    expect(JSON.parse(String(created?.body))).toEqual({
      batch: { displayName: id, inputConfig: { fileName: 'files/in' } },
    });
    await scene.router.batches.stop({ graceMs: 0 });
  });

  it.each([
    ['BATCH_STATE_RUNNING', { status: 'running', expiresAt: EXPIRES }],
    ['JOB_STATE_PAUSED', { status: 'running', expiresAt: EXPIRES }],
    ['BATCH_STATE_SUCCEEDED', { status: 'ended', outcome: 'completed' }],
    ['JOB_STATE_PARTIALLY_SUCCEEDED', { status: 'ended', outcome: 'completed' }],
    ['BATCH_STATE_EXPIRED', { status: 'ended', outcome: 'expired' }],
    ['BATCH_STATE_CANCELLED', { status: 'ended', outcome: 'cancelled' }],
    ['BATCH_STATE_FAILED', { status: 'ended', outcome: 'failed', message: 'bad line' }],
  ])('reads the state %s', async (state, expected) => {
    const operation = { ...PENDING, metadata: { ...METADATA, state }, error: { code: 3, message: 'bad line' } };
    await using server = await api({ 'GET /v1beta/batches/b1': [200, operation] });
    expect(await native(server).poll(nativeCall({ name: 'batches/b1' }))).toEqual({ ok: true, value: expected });
  });

  it('finds a batch again whose answer was lost', async () => {
    const other = { name: 'batches/b0', metadata: { ...METADATA, displayName: 'other' } };
    await using server = await api({
      'GET /v1beta/batches?pageSize=20': [200, { operations: [other], nextPageToken: 'n/1' }],
      'GET /v1beta/batches?pageSize=20&pageToken=n%2F1': [200, { operations: [PENDING] }],
    });
    const lookup = { ...nativeCall({}), key: 'key-1', createdAt: 0, total: 1 };
    const value = { job: { name: 'batches/b1', file: 'files/in' }, expiresAt: EXPIRES };
    expect(await native(server).find?.(lookup)).toEqual({ ok: true, value });
    expect(await native(server).find?.({ ...lookup, key: 'key-2' })).toEqual({ ok: true, value: undefined });
  });

  it('cancels, and deletes the batch and the files around it', async () => {
    await using server = await api();
    const call = nativeCall({ name: 'batches/b1', file: 'files/in' });
    expect(await native(server).cancel(call)).toEqual({ ok: true, value: undefined });
    expect(await native(server).remove(call)).toEqual({ ok: true, value: 'deleted' });
    expect(server.lines).toEqual([
      'POST /v1beta/batches/b1:cancel',
      'GET /v1beta/batches/b1',
      'DELETE /v1beta/files/in',
      'DELETE /v1beta/files/batch-b1',
      'DELETE /v1beta/batches/b1',
    ]);
  });

  it('is used by default at the own address only, takes no embeddings, and is not that of Vertex AI', () => {
    const own = google({ apiKey: 'k' });
    expect(own.batches?.accepts('/v1/responses', {} as never)).toBe(true);
    expect(own.batches?.accepts('/v1/embeddings', {} as never)).toBe(false);
    expect(google({ apiKey: 'k', baseURL: 'http://127.0.0.1:1/v1beta' }).batches).toBeUndefined();
    const baseURL = 'https://aiplatform.googleapis.com/v1/publishers/google';
    expect(google({ apiKey: 'k', baseURL }).batches).toBeUndefined();
    expect(() => google({ apiKey: 'k', baseURL, nativeBatches: true })).toThrow('storage buckets');
  });
});
