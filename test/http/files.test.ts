import { apiKeys, type RouterConfig } from 'signalbox';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readForm } from '../../src/http/file-operations.ts';
import { batchProvider, batchScene, failing } from '../support/batches.ts';
import { type Answered, type CallInit, send } from '../support/http-call.ts';
import type { Constants } from '../support/constants.ts';

const CHAT = '/v1/chat/completions';
const BOUNDARY = 'xXxBoundary';
const line = (
  name: string,
  body: object = { messages: [{ role: 'user', content: name }] },
  more: object = {},
): string =>
  JSON.stringify({ custom_id: name, method: 'POST', url: CHAT, body: { model: 'acme/one', ...body }, ...more });

function form(parts: Readonly<Record<string, string>>, content: string | Buffer | undefined): Buffer {
  const pieces: (string | Buffer)[] = [];
  const file = (): void => {
    if (content === undefined) return;
    const header = 'content-disposition: form-data; name="file"; filename="a.jsonl"\r\ncontent-type: text/plain';
    pieces.push(`--${BOUNDARY}\r\n${header}\r\n\r\n`, content, '\r\n');
  };
  file();
  for (const [name, value] of Object.entries(parts)) {
    pieces.push(`--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`);
  }
  pieces.push(`--${BOUNDARY}--\r\n`);
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece)));
}

const upload = (
  content: string | Buffer | undefined,
  parts: Readonly<Record<string, string>> = { purpose: 'batch' },
  headers: Readonly<Record<string, string>> = {},
): CallInit => ({
  path: '/files',
  body: form(parts, content),
  headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}`, ...headers },
});
const headersOf = (id: string) => ({ authorization: `Bearer key-of-${id}-0123456789` });
const get = (path: string, more: CallInit = {}): CallInit => ({ method: 'GET', path, ...more });
const batchOf = (id: unknown, more: object = {}): CallInit => ({
  path: '/batches',
  body: { endpoint: CHAT, input_file_id: id, ...more },
});

function scene(config: RouterConfig = {}, batches: Constants['batches'] = {}) {
  return batchScene(config, {}, { batches });
}

describe('POST /files', () => {
  it('reads on while a piece is written, and keeps what it writes as it was', async () => {
    const { router, store } = scene();
    const add = store.files.add.bind(store.files);
    let comes = (): void => {};
    const next = new Promise<void>((resolve) => (comes = resolve));
    store.files.add = async (...piece) => {
      await next;
      await add(...piece);
    };
    const pieces = ['a', 'b', 'c'].map((name) => Buffer.alloc(256 * 1024, name));
    function* content(): Generator<Uint8Array> {
      for (const [index, piece] of pieces.entries()) {
        if (index === 1) comes();
        yield piece;
      }
    }
    const { id } = await router.batches.files.create({ content: content(), filename: 'a.jsonl' });
    const read: Uint8Array[] = [];
    for await (const piece of router.batches.files.content(id)) read.push(piece);
    expect(Buffer.concat(read).equals(Buffer.concat(pieces))).toBe(true);
  });

  it('leaves nothing of a file when the storage fails while the next piece is read', async () => {
    const { router, store, environment } = scene();
    store.files.add = () => Promise.reject(new Error('the disk is full'));
    function* content(): Generator<Uint8Array> {
      for (let piece = 0; piece < 3; piece += 1) yield Buffer.alloc(256 * 1024, 'a');
    }
    const created = router.batches.files.create({ content: content(), filename: 'a.jsonl' });
    await expect(created).rejects.toThrow('the disk is full');
    await environment.advance(1);
    expect(await store.sweep({ draftMs: 0, limit: 10 })).toBe(0);
  });

  it.each<[string, CallInit, number, string]>([
    ['another purpose', upload(line('a'), { purpose: 'assistants' }), 400, 'purpose must be "batch"'],
    ['no purpose', upload(line('a'), {}), 400, 'purpose must be "batch"'],
    ['no file', upload(undefined), 400, 'must have a part named "file"'],
    ['an empty file', upload(''), 400, 'file must not be empty'],
    ['what is not UTF-8', upload(Buffer.from([0x61, 0xff, 0x0a])), 400, 'file must be text in UTF-8'],
    ['half a character at the end', upload(Buffer.from('ä').subarray(0, 1)), 400, 'file must be text in UTF-8'],
    ['too many lines', upload(`${line('a')}\n${line('b')}\n${line('c')}`), 400, 'file must have at most 2 lines'],
    ['too many bytes', upload('x'.repeat(1_001)), 413, 'file must not be larger than 1,000 bytes'],
    ['a field that is not known', upload(line('a'), { purpose: 'batch', more: '1' }), 400, 'not known here'],
    ['a bad expiry', upload('a', { purpose: 'batch', 'expires_after[seconds]': '5' }), 400, 'expires_after.anchor'],
    ['JSON', { path: '/files', body: { purpose: 'batch' } }, 415, 'must be multipart/form-data'],
    ['a form that is cut', { ...upload(line('a')), body: form({}, 'x').subarray(0, 90) }, 400, 'ended before'],
    [
      'a form from a page of another site',
      upload(line('a'), { purpose: 'batch' }, { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }),
      403,
      'Authorization',
    ],
  ])('refuses %s, and leaves nothing', async (_what, call, status, message) => {
    const { router, store, environment } = scene({ allowAnonymous: true }, { bytes: 1_000, fileRequests: 2 });
    const reply = await send(router, call);
    expect([reply.status, reply.error.message]).toEqual([status, expect.stringContaining(message)]);
    await environment.advance(1);
    expect(await store.sweep({ draftMs: 0, limit: 10 })).toBe(0);
    expect(router.internals.bytesInHand.held).toBe(0);
  });

  it('takes exactly as many lines and bytes as its limits say, with and without an end of the last line', async () => {
    const { router } = scene({}, { bytes: 20, fileRequests: 2 });
    for (const content of ['a\nb', 'a\nb\n', 'x'.repeat(20)]) {
      expect((await send(router, upload(content))).status).toBe(200);
    }
  });

  it('keeps a file as long as its sender wants, and no longer than the limit', async () => {
    const { router, advance } = scene();
    const fields = { purpose: 'batch', 'expires_after[anchor]': 'created_at', 'expires_after[seconds]': '3600' };
    const { json } = await send(router, upload(line('a'), fields));
    expect(Number(json['expires_at']) - Number(json['created_at'])).toBe(3_600);
    await advance(3_600_000);
    await router.batches.tick();
    expect((await send(router, get(`/files/${String(json['id'])}`))).status).toBe(404);
  });

  it('shows files to their account only', async () => {
    const keys = ['ada', 'bob'].map((id) => ({ id, key: `key-of-${id}-0123456789` }));
    const { router } = scene({ authenticate: apiKeys(keys) });
    const [ada, bob] = [headersOf('ada'), headersOf('bob')];
    const { json } = await send(router, upload(line('a'), { purpose: 'batch' }, ada));
    const id = String(json['id']);
    expect((await send(router, get(`/files/${id}`, { headers: ada }))).status).toBe(200);
    for (const path of [`/files/${id}`, `/files/${id}/content`]) {
      expect((await send(router, get(path, { headers: bob }))).status).toBe(404);
    }
    expect((await send(router, { ...get(`/files/${id}`, { headers: bob }), method: 'DELETE' })).status).toBe(404);
    expect((await send(router, { ...batchOf(id), headers: bob })).status).toBe(400);
    expect((await send(router, get('/files', { headers: bob }))).json['data']).toEqual([]);
    expect((await send(router, get('/files'))).status).toBe(401);
  });
});

describe('a batch of a file', () => {
  async function failedWith(content: string): Promise<Answered['json']> {
    const { router, ended } = scene();
    const { json: file } = await send(router, upload(content));
    const { status, json } = await send(router, batchOf(file['id']));
    expect(status).toBe(202);
    await router.batches.start();
    await ended(String(json['id']));
    return (await send(router, get(`/batches/${String(json['id'])}`))).json;
  }

  it.each<[string, string, number | null, string]>([
    ['no JSON', `${line('a')}\n{"custom_id": \n`, 2, 'Line 2 is not valid JSON.'],
    ['no object', `[1]\n`, 1, 'Line 1 must be an object with'],
    ['an empty line', `${line('a')}\n\r\n${line('b')}`, 2, 'Line 2 is empty.'],
    ['another method', line('a', {}, { method: 'GET' }), 1, 'Line 1: method must be "POST"'],
    ['no custom_id', `${line('a')}\n${line('b', {}, { custom_id: undefined })}`, 2, 'Line 2: custom_id is required'],
    ['the same custom_id', `${line('a')}\n${line('b')}\n${line('a')}`, 3, 'the same as that of line 1'],
    ['another model', `${line('a')}\n${line('b', { model: 'acme/two' })}`, 2, 'Line 2: body.model must be "acme/one"'],
    ['a bad body', `${line('a')}\n${line('b', { messages: 5 })}`, 2, 'Line 2: body.messages'],
    ['a stream', `${line('a')}\n${line('b', { messages: [], stream: true })}`, 2, 'Line 2: body.stream'],
    ['nothing but white space', ' \n\n', null, 'at least 1 item'],
  ])('fails with the line of %s', async (_what, content, number, message) => {
    const batch = await failedWith(content);
    expect(batch).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining(message) as string },
      errors: { data: [{ line: number, message: expect.stringContaining(message) as string }] },
    });
  });

  it('that failed of its file is the same one for the same Idempotency-Key, and no other', async () => {
    const { router, store, environment } = scene();
    const [bad, other] = await Promise.all([`${line('a')}\n{`, '['].map((content) => send(router, upload(content))));
    const create = (file: Answered | undefined): Promise<Answered> =>
      send(router, { ...batchOf(file?.json['id']), headers: { 'idempotency-key': 'once' } });
    const [first, second] = [await create(bad), await create(bad)];
    expect(first.status).toBe(202);
    expect(second.json['id']).toBe(first.json['id']);
    expect((await create(other)).status).toBe(422);
    expect((await send(router, get('/batches'))).json['data']).toHaveLength(1);
    await environment.advance(1);
    expect(await store.sweep({ draftMs: 0, limit: 10 })).toBe(0);
  });

  it('is the same as one whose requests came in the body', async () => {
    const provider = batchProvider('up', ({ text }) =>
      text === 'n1' ? failing('context_length', 400) : { ...answerOf(text) },
    );
    const { router, ended } = scene({ providers: [provider] });
    const names = ['n0', 'n1', 'n2'];
    const { json: file } = await send(router, upload(`\uFEFF${names.map((name) => line(name)).join('\r\n')}`));
    const requests = names.map((name) => ({
      custom_id: name,
      body: { model: 'acme/one', messages: [{ role: 'user', content: name }] },
    }));
    const inline = await send(router, { path: '/batches', body: { endpoint: CHAT, metadata: { a: 'b' }, requests } });
    const filed = await send(router, batchOf(file['id'], { metadata: { a: 'b' } }));
    await router.batches.start();
    const both = [];
    for (const { json } of [inline, filed]) {
      const id = String(json['id']);
      await ended(id);
      const { json: batch } = await send(router, get(`/batches/${id}`));
      const files = await Promise.all(
        ['output_file_id', 'error_file_id'].map(async (kind) => {
          const fileId = String(batch[kind]);
          const { text } = await send(router, get(`/files/${fileId}/content`));
          const { json: known } = await send(router, get(`/files/${fileId}`));
          expect(known['bytes']).toBe(Buffer.byteLength(text));
          return text
            .trimEnd()
            .split('\n')
            .map((one) => (JSON.parse(one) as { custom_id: string }).custom_id);
        }),
      );
      const { results } = batch as unknown as { results: { custom_id: string }[] };
      both.push({ members: Object.keys(batch), counts: batch['request_counts'], files, results: results.length });
    }
    expect(both[0]).toEqual(both[1]);
    expect(both[0]).toMatchObject({
      counts: { total: 3, completed: 2, failed: 1 },
      files: [['n0', 'n2'], ['n1']],
      results: 3,
    });
  });

  it('keeps what was answered before it was cancelled, and says what was not', async () => {
    const { router, ended } = scene({
      providers: [batchProvider('up', ({ text }) => (text === 'a' ? answerOf(text) : new Promise(() => {})))],
    });
    const { json: file } = await send(router, upload(`${line('a')}\n${line('b')}`));
    const { json } = await send(router, batchOf(file['id']));
    const id = String(json['id']);
    await router.batches.start();
    await expect.poll(async () => (await router.batches.retrieve(id)).request_counts.completed).toBe(1);
    await router.batches.cancel(id);
    const batch = await ended(id);
    expect(batch).toMatchObject({ status: 'cancelled', results: null, request_counts: { completed: 1, failed: 1 } });
    const { text: errors } = await send(router, get(`/files/${batch.error_file_id ?? ''}/content`));
    expect(JSON.parse(errors)).toMatchObject({ custom_id: 'b', response: null, error: { code: 'batch_cancelled' } });
    const { text: output } = await send(router, get(`/files/${batch.output_file_id ?? ''}/content`));
    expect(JSON.parse(output)).toMatchObject({ custom_id: 'a', error: null });
    const { json: known } = await send(router, get(`/files/${batch.output_file_id ?? ''}`));
    expect(known['bytes']).toBe(Buffer.byteLength(output));
  });

  it('is kept as long as its owner wants from its end on, however long it ran', async () => {
    const { router, advance, ended } = scene();
    const { json: file } = await send(router, upload(line('a')));
    const expiry = { anchor: 'created_at', seconds: 3_600 };
    const { json } = await send(router, batchOf(file['id'], { output_expires_after: expiry }));
    await advance(7_200_000);
    await router.batches.start();
    const { output_file_id: outputId } = await ended(String(json['id']));
    await advance(3_500_000);
    await router.batches.tick();
    const { json: output } = await send(router, get(`/files/${outputId}`));
    expect(Number(output['expires_at']) - Number(output['created_at'])).toBe(3_600);
    await advance(100_000);
    await router.batches.tick();
    for (const path of [`/files/${outputId}`, `/batches/${String(json['id'])}`]) {
      expect((await send(router, get(path))).status).toBe(404);
    }
  });

  it('lives on when its file is deleted', async () => {
    const { router, ended } = scene();
    const { json: file } = await send(router, upload(line('a')));
    const { json } = await send(router, batchOf(file['id']));
    await send(router, { method: 'DELETE', path: `/files/${String(file['id'])}` });
    await router.batches.start();
    expect((await ended(String(json['id']))).status).toBe('completed');
  });
});

function answerOf(text: string) {
  const message = { role: 'assistant', content: text, refusal: null, reasoning: null } as const;
  const choice = { index: 0, finish_reason: 'stop', native_finish_reason: 'stop', logprobs: null, message } as const;
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  return { type: 'whole' as const, result: { choices: [choice], usage } };
}

describe('a form', () => {
  it('gives its file byte by byte, however it is cut', async () => {
    const bytes = fc.uint8Array({ maxLength: 200 });
    const pieces = fc.array(fc.constantFrom(`\r\n--${BOUNDARY.slice(0, 4)}`, '\r', '\r\n', '\r\n--', '-'));
    await fc.assert(
      fc.asyncProperty(bytes, pieces, fc.integer({ min: 1, max: 50 }), async (noise, near, size) => {
        const content = Buffer.concat([
          Buffer.from(noise),
          ...near.map((text) => Buffer.from(text)),
          Buffer.from(noise),
        ]);
        const whole = form({ purpose: 'batch' }, content);
        async function* cut(): AsyncGenerator<Uint8Array> {
          for (let at = 0; at < whole.byteLength; at += size) yield whole.subarray(at, at + size);
        }
        const read = await readForm(cut(), BOUNDARY, { fields: 4, fieldBytes: 100 });
        const chunks: Uint8Array[] = [];
        for await (const chunk of read.file) chunks.push(chunk.slice());
        expect(Buffer.concat(chunks).equals(content)).toBe(true);
        expect([read.filename, Object.fromEntries(read.fields)]).toEqual(['a.jsonl', { purpose: 'batch' }]);
      }),
    );
  });
});

describe('a list that is read while its entries are deleted', () => {
  it('shows every file once, and refuses to go on behind what never was there', async () => {
    const { router } = scene();
    for (let index = 0; index < 25; index += 1) {
      expect((await send(router, upload(line(`r${index}`)))).status).toBe(200);
    }
    const seen: string[] = [];
    for (let more = true; more;) {
      const after = seen.length === 0 ? '' : `&after=${seen.at(-1)}`;
      const page = (await send(router, get('/files', { query: `limit=10${after}` }))).json as {
        data: { id: string }[];
        has_more: boolean;
      };
      for (const { id } of page.data) await send(router, { method: 'DELETE', path: `/files/${id}` });
      seen.push(...page.data.map(({ id }) => id));
      more = page.has_more;
    }
    expect(new Set(seen).size).toBe(25);
    for (const path of ['/files', '/batches']) {
      const unknown = await send(router, get(path, { query: 'after=nothing' }));
      expect([unknown.status, unknown.error.message]).toEqual([
        400,
        `after must be the id of a ${path === '/files' ? 'file' : 'batch'} in this list, and "nothing" names none`,
      ]);
    }
  });
});
