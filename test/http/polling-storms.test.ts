import { createServer } from 'node:http';
import { createRouter, type Router } from 'signalbox';
import { fetchRouter } from 'signalbox/fetch';
import { nodeRouter } from 'signalbox/node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answer, batchProvider, chatBatch } from '../support/batches.ts';
import { listen } from '../support/mounts.ts';
import { until } from '../support/until.ts';

const REQUESTS = 1_000;
const READERS = 40;

let router: Router;
let id: string;
let read: (path: string, headers?: Readonly<Record<string, string>>) => Promise<Response>;

beforeAll(async () => {
  const provider = batchProvider('up', () => answer('A light that is green means go. '.repeat(10)));
  router = createRouter({ providers: [provider], allowAnonymous: true, on: { warning: () => {} } });
  const handler = fetchRouter(router, { basePath: '/v1' });
  read = (path, headers = {}) => handler(new Request(`http://localhost/v1${path}`, { headers }));
  ({ id } = await router.batches.create(chatBatch(REQUESTS)));
  await until(async () => (await router.batches.retrieve(id)).status === 'completed');
});

afterAll(() => router.close());

describe('a completed batch that many clients poll', () => {
  it('lets others have their turn after each piece of what is read', async () => {
    const readers = Array.from({ length: READERS }, async () => (await read(`/batches/${id}`)).text());
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    count();
    const texts = await Promise.all(readers);
    isOver = true;
    const [text = ''] = texts;
    expect(JSON.parse(text)).toMatchObject({ status: 'completed', results: { length: REQUESTS } });
    expect(new Set(texts).size).toBe(1);
    // One piece of 64 kB in each turn, whoever reads it.
    expect(turns).toBeGreaterThan((READERS * text.length) / 65_536 / 2);
  });

  it('is not sent again to who has it, and neither are the files that it ended in', async () => {
    const { output_file_id: file } = await router.batches.retrieve(id);
    await using server = await listen(createServer(nodeRouter(router, { basePath: '/v1' })));
    for (const path of [`/batches/${id}`, `/files/${file}/content`]) {
      const first = await fetch(server.baseURL + path);
      const etag = first.headers.get('etag') ?? '';
      expect([first.status, etag]).toEqual([200, expect.stringMatching(/^"[^"]+"$/)]);
      const body = await first.text();
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
        const again = await fetch(server.baseURL + path, { headers: { 'if-none-match': known } });
        expect([again.status, again.headers.get('etag'), await again.text()]).toEqual([304, etag, '']);
        expect((await read(path, { 'if-none-match': known })).status).toBe(304);
      }
      expect(await (await read(path, { 'if-none-match': '"other"' })).text()).toBe(body);
    }
    expect((await read('/files/file-none/content', { 'if-none-match': '"file-none"' })).status).toBe(404);
  });
});
