import { gzipSync } from 'node:zlib';
import { type HttpCall, type RouterConfig, apiKeys, handle } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { answer, batchProvider, batchScene, changedStore, failing } from '../support/batches.ts';
import { type CallInit, httpCall, read, send } from '../support/http-call.ts';
import { memoryStorage } from '../../src/storage/memory-storage.ts';
import { StorageError } from '../../src/contracts/storage-error.ts';

const FIELDS = { endpoint: '/v1/chat/completions', model: 'acme/one' };
const item = (name: string) => ({ custom_id: name, body: { messages: [{ role: 'user', content: name }] } });
const post = (body: unknown, more: CallInit = {}): CallInit => ({ path: '/batches', body, ...more });
const get = (path: string, more: CallInit = {}): CallInit => ({ method: 'GET', path, ...more });

describe('POST /batches', () => {
  it.each(['/batches', '/batches/'])('answers %s with 202 and the batch', async (path) => {
    const { router } = batchScene();
    const reply = await send(router, post({ ...FIELDS, requests: [item('a'), item('b')] }, { path }));
    expect(reply.status).toBe(202);
    expect(reply.headers['content-type']).toBe('application/json');
    expect(reply.json).toMatchObject({
      object: 'batch',
      status: 'validating',
      request_counts: { total: 2, completed: 0, failed: 0 },
      results: null,
    });
  });

  it.each([
    [{ requests: [item('a')], ...FIELDS }, 'endpoint must come before "requests"'],
    [{ endpoint: FIELDS.endpoint, requests: [item('a')], model: 'acme/one' }, 'model must come before "requests"'],
    [
      { endpoint: FIELDS.endpoint, requests: [{ ...item('a'), body: { model: 'acme/one' } }], model: 'x' },
      'model must come before "requests"',
    ],
    [
      { ...FIELDS, requests: [item('a')], callback_url: 'https://example.com' },
      'callback_url must come before "requests"',
    ],
    [{ ...FIELDS, requests: [item('a')], provider: { only: ['up'] } }, 'provider must come before "requests"'],
    [{ ...FIELDS, callback_ulr: 'x', requests: [] }, 'did you mean "callback_url"?'],
    [{ ...FIELDS, input_file_id: 'file-1' }, 'input_file_id names no file of this account'],
    [{ ...FIELDS, input_file_id: 'file-1', requests: [item('a')] }, 'cannot be used together with "requests"'],
    [{ ...FIELDS, metadata: { a: 1 } }, 'metadata.a must be a string'],
    [{ ...FIELDS, requests: [] }, 'requests must have at least 1 item'],
    [FIELDS, 'requests is required and must be an array'],
    [{ ...FIELDS, requests: [item('a'), { body: {} }] }, 'requests[1].custom_id is required'],
    [
      { ...FIELDS, requests: [item('a'), item('b'), item('a')] },
      'requests[2].custom_id is the same as that of requests[0]',
    ],
    ['{"endpoint":', 'The request body is not valid JSON'],
    ['[]', 'The request body must be a JSON object'],
  ])('refuses %j', async (body, message) => {
    const { router, store, environment } = batchScene();
    const reply = await send(router, post(body));
    expect(reply.status).toBe(400);
    expect(reply.error).toMatchObject({ code: 400, message: expect.stringContaining(message) as string });
    await environment.advance(1);
    expect(await store.sweep({ draftMs: 0, limit: 10 })).toBe(0);
  });

  it('refuses more requests and more bytes than its limits, and one byte less is taken', async () => {
    const { router } = batchScene({ batches: { limits: { requests: 3, bytes: 1_000 } } });
    const list = ['a', 'b', 'c', 'd'].map(item);
    expect((await send(router, post({ ...FIELDS, requests: list }))).error.message).toBe(
      'requests must have at most 3 items.',
    );
    expect((await send(router, post({ ...FIELDS, requests: list.slice(1) }))).status).toBe(202);
    const text = JSON.stringify({ ...FIELDS, requests: [item('a')] });
    expect((await send(router, post(text.padEnd(1_000)))).status).toBe(202);
    const over = await send(router, post(text.padEnd(1_001)));
    expect(over.error).toMatchObject({ code: 413, message: expect.stringContaining('1,000 bytes') as string });
    const declared = await send(router, post('', { headers: { 'content-length': '1001' } }));
    expect(declared.status).toBe(413);
  });

  it('takes packed bodies, and measures what is inside', async () => {
    const { router } = batchScene({ batches: { limits: { bytes: 50_000 } } });
    const headers = { 'content-encoding': 'gzip' };
    const small = gzipSync(JSON.stringify({ ...FIELDS, requests: [item('a')] }));
    expect((await send(router, post(small, { headers }))).status).toBe(202);
    const bomb = gzipSync(JSON.stringify({ ...FIELDS, requests: [item('a'.repeat(400)), item('x'.repeat(60_000))] }));
    expect((await send(router, post(bomb, { headers }))).status).toBe(413);
    expect((await send(router, post('no gzip', { headers }))).error.message).toContain('is not valid gzip');
    expect((await send(router, post(small, { headers: { 'content-encoding': 'br' } }))).status).toBe(415);
    expect((await send(router, post(small, { headers: { 'content-type': 'text/plain' } }))).status).toBe(415);
  });

  it('takes a body that the host has parsed, in any order', async () => {
    const { router } = batchScene({ batches: { limits: { requests: 2 } } });
    const parsed = (value: unknown): HttpCall => ({ ...httpCall(post('')), body: { type: 'parsed', value } });
    const statusOf = async (value: unknown) => (await handle(router, parsed(value)))?.status;
    expect(await statusOf({ requests: [item('a')], ...FIELDS })).toBe(202);
    expect(await statusOf({ requests: [item('a'), item('b'), item('c')], ...FIELDS })).toBe(400);
    for (const wrong of [
      undefined,
      'text',
      { ...FIELDS },
      { ...FIELDS, requests: {} },
      { ...FIELDS, more: 1, requests: [item('a')] },
    ]) {
      expect(await statusOf(wrong)).toBe(400);
    }
  });

  it('measures a body that the host has parsed', async () => {
    const { router } = batchScene({ batches: { limits: { bytes: 1_000 } } });
    const statusOf = async (text: string) => {
      const value: unknown = { ...FIELDS, requests: [item('a'), item(text)] };
      return (await handle(router, { ...httpCall(post('')), body: { type: 'parsed', value } }))?.status;
    };
    expect(await statusOf('b')).toBe(202);
    expect(await statusOf('b'.repeat(1_000))).toBe(413);
  });

  it('reads piece by piece, and asks for no more while it is busy', async () => {
    const { router } = batchScene();
    const text = JSON.stringify({ ...FIELDS, requests: [item('a'), item('b')] });
    let closed = false;
    async function* chunks() {
      try {
        for (const character of text) yield Buffer.from(await Promise.resolve(character));
      } finally {
        closed = true;
      }
    }
    const call: HttpCall = {
      ...httpCall(post('')),
      body: { type: 'unread', collect: () => Promise.reject(new Error('not whole')), chunks },
    };
    expect((await handle(router, call))?.status).toBe(202);
    expect(closed).toBe(true);
  });

  it('lets go of a body that it refuses', async () => {
    const { router } = batchScene();
    let closed = 0;
    async function* endless() {
      try {
        yield Buffer.from(
          '{"endpoint":"/v1/chat/completions","model":"acme/one","callback_url":"https://10.0.0.1/","requests":[',
        );
        for (;;) yield await Promise.resolve(Buffer.from(' '));
      } finally {
        closed += 1;
      }
    }
    const call: HttpCall = {
      ...httpCall(post('')),
      body: { type: 'unread', collect: () => Promise.reject(new Error('not whole')), chunks: endless },
    };
    expect((await handle(router, call))?.status).toBe(400);
    expect(closed).toBe(1);
  });

  it('takes two bodies at a time, and tells others to come back', async () => {
    const { router } = batchScene();
    const never: HttpCall['body'] = { type: 'unread', collect: () => new Promise(() => {}) };
    for (const _ of [1, 2]) void handle(router, { ...httpCall(post('')), body: never });
    const third = await send(router, post({ ...FIELDS, requests: [item('a')] }));
    expect(third).toMatchObject({ status: 429, headers: { 'retry-after': '1' } });
  });

  it('asks who calls before it reads', async () => {
    const { router } = batchScene({ authenticate: apiKeys([{ id: 'acme', key: 'sk-1234567890123456' }]) });
    let reads = 0;
    const reply = await send(
      router,
      post({}, { onRead: () => (reads += 1), headers: { 'content-length': '999999999' } }),
    );
    expect([reply.status, reads]).toEqual([401, 0]);
  });

  it('gives the same batch for the same Idempotency-Key', async () => {
    const { router } = batchScene();
    const call = post({ ...FIELDS, requests: [item('a')] }, { headers: { 'idempotency-key': 'once' } });
    const [first, again] = [await send(router, call), await send(router, call)];
    expect([again.status, again.json['id']]).toEqual([202, first.json['id']]);
    const other = await send(
      router,
      post({ ...FIELDS, requests: [item('b')] }, { headers: { 'idempotency-key': 'once' } }),
    );
    expect(other.status).toBe(422);
  });

  it('says once that batches in memory do not last', async () => {
    const warnings: string[] = [];
    const { router } = batchScene({ on: { warning: ({ code }) => warnings.push(code) } });
    for (const name of ['a', 'b']) await send(router, post({ ...FIELDS, requests: [item(name)] }));
    expect(warnings).toEqual(['batches_not_durable']);
  });

  it('is a 503 while the storage is full', async () => {
    const warnings: string[] = [];
    const store = changedStore(memoryStorage(), {
      addItems: () => Promise.reject(new StorageError('full', 'The disk is full')),
    });
    const { router } = batchScene({ on: { warning: ({ code }) => warnings.push(code) } }, { store });
    const reply = await send(router, post({ ...FIELDS, requests: [item('a')] }));
    expect(reply).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
    expect(reply.text).not.toContain('disk');
    expect(warnings).toContain('batch_storage');
  });
});

describe('the other operations on batches', () => {
  async function completed(count = 2, text = 'Hello', config: RouterConfig = {}) {
    const provider = batchProvider('up', (call) =>
      call.text === 'n1' ? failing('context_length', 400) : answer(text),
    );
    const scene = batchScene({ providers: [provider], ...config });
    const requests = Array.from({ length: count }, (_, index) => item(`n${index}`));
    const { id } = (await send(scene.router, post({ ...FIELDS, requests }))).json as { id: string };
    await scene.router.batches.tick();
    return { ...scene, id };
  }

  it('give a completed batch with its results', async () => {
    const { router, id } = await completed();
    const reply = await send(router, get(`/batches/${id}`));
    expect(reply.json).toMatchObject({
      id,
      status: 'completed',
      request_counts: { total: 2, completed: 1, failed: 1 },
      results: [
        { custom_id: 'n0', response: { status_code: 200, body: { object: 'chat.completion' } }, error: null },
        {
          custom_id: 'n1',
          response: null,
          error: { type: 'invalid_request_error', error_type: 'context_length_exceeded' },
        },
      ],
    });
  });

  it('stream results that are many, and break off rather than leave some out', async () => {
    const { router, id, store } = await completed(60, 'x'.repeat(10_000));
    const reply = await handle(router, httpCall(get(`/batches/${id}`)));
    expect(reply?.type).toBe('stream');
    if (reply === undefined) return;
    const { json } = await read(reply);
    expect(json['results']).toHaveLength(60);
    const second = await handle(router, httpCall(get(`/batches/${id}`)));
    await store.remove('anonymous', id);
    await expect(second && read(second)).rejects.toThrow('results are missing');
  });

  it('read long results a few at a time, as results and as a file', async () => {
    const { router, id, store } = await completed(60, 'x'.repeat(100_000));
    const { output_file_id: file } = await router.batches.retrieve(id);
    const outcomes = store.outcomes.bind(store);
    const came: number[] = [];
    store.outcomes = async (...page) => {
      const found = await outcomes(...page);
      came.push(found.length);
      return found;
    };
    for await (const _ of router.batches.results(id));
    expect(came.reduce((all, one) => all + one, 0)).toBe(60);
    expect(Math.max(...came.slice(1))).toBeLessThanOrEqual(3);
    came.length = 0;
    for await (const _ of router.batches.files.content(file ?? ''));
    expect(came.reduce((all, one) => all + one, 0)).toBe(60);
    expect(Math.max(...came.slice(1))).toBeLessThanOrEqual(3);
  });

  it('list, cancel and delete', async () => {
    const { router, id } = await completed();
    const other = (await send(router, post({ ...FIELDS, requests: [item('x')] }))).json['id'] as string;
    const page = await send(router, get('/batches', { query: 'limit=1' }));
    expect(page.json).toMatchObject({ object: 'list', has_more: true, data: [{ results: null }] });
    const filtered = await send(router, get('/batches', { query: 'status=completed&status=failed' }));
    expect((filtered.json['data'] as { id: string }[]).map((one) => one.id)).toEqual([id]);
    expect((await send(router, { method: 'DELETE', path: `/batches/${other}` })).error.code).toBe(409);
    expect((await send(router, { path: `/batches/${other}/cancel` })).json).toMatchObject({
      id: other,
      status: 'cancelling',
    });
    await router.batches.tick();
    expect((await send(router, { path: `/batches/${other}/cancel` })).error.code).toBe(409);
    expect((await send(router, get(`/batches/${other}`))).json).toMatchObject({ status: 'cancelled', results: null });
    expect((await send(router, { method: 'DELETE', path: `/batches/${id}` })).json).toEqual({
      id,
      object: 'batch',
      deletion: { router: 'deleted', upstream: { provider: expect.any(String) as string, status: 'not_applicable' } },
    });
    expect((await send(router, get(`/batches/${id}`))).error.code).toBe(404);
  });

  it('name the member of a deletion after the brand', async () => {
    const { router, id } = await completed(1, 'Hello', { brand: 'openrouter' });
    const { json } = await send(router, { method: 'DELETE', path: `/batches/${id}` });
    expect(json['deletion']).toMatchObject({ openrouter: 'deleted', upstream: {} });
    expect(json['deletion']).not.toHaveProperty('router');
  });

  it.each(['limit=0', 'limit=101', 'limit=x', 'status=done', 'created_after=yesterday'])(
    'refuse the query %s',
    async (query) => {
      const { router } = batchScene();
      expect((await send(router, get('/batches', { query }))).status).toBe(400);
    },
  );

  it('answer about batches of others exactly as about none', async () => {
    const keys = [
      { id: 'a', key: 'sk-aaaaaaaaaaaaaaaa' },
      { id: 'b', key: 'sk-bbbbbbbbbbbbbbbb' },
    ];
    const { router } = batchScene({ authenticate: apiKeys(keys) });
    const as = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
    const [a, b] = [as('sk-aaaaaaaaaaaaaaaa'), as('sk-bbbbbbbbbbbbbbbb')];
    const { id } = (await send(router, post({ ...FIELDS, requests: [item('x')] }, a))).json as { id: string };
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/cancel'],
    ] as const) {
      const theirs = await send(router, { method, path: `/batches/${id}${path}`, ...b });
      const none = await send(router, { method, path: `/batches/batch_none${path}`, ...b });
      expect([theirs.status, theirs.text]).toEqual([404, none.text]);
    }
    expect((await send(router, get(`/batches/${id}`, a))).status).toBe(200);
  });

  it('name the methods that a path takes', async () => {
    const { router } = batchScene();
    const reply = await send(router, { method: 'PUT', path: '/batches/batch_1' });
    expect(reply).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD, DELETE' } });
  });
});
