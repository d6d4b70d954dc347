import OpenAI, { APIConnectionError } from 'openai';
import { createServer } from 'node:http';
import { type Batch, type BatchList, type BatchStore, type Provider, createRouter } from 'signalbox';
import { nodeRouter } from 'signalbox/node';
import { sqliteStorage } from 'signalbox/sqlite';
import { describe, expect, it } from 'vitest';
import { memoryStorage } from '../../src/storage/memory-storage.ts';
import { answer, batchProvider, chatBatch } from '../support/batches.ts';
import { listen } from '../support/mounts.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import type { FailPoint, ReachFailPoint } from '../../src/runtime/batches/ports.ts';
import { withConstants } from '../support/constants.ts';

/** Epoch milliseconds of the first batch. */
const BEGINNING = 1_700_000_000_000;
const BATCHES = 5;

interface ServerOptions {
  readonly storage: BatchStore;
  readonly provider?: Provider;
  readonly failPoint?: ReachFailPoint;
}

/** A router on loopback, and the openai package that calls it. */
async function serve({ storage, provider = batchProvider('up'), failPoint }: ServerOptions) {
  const router = createRouter({
    providers: [provider],
    allowAnonymous: true,
    on: { warning: () => {} },
    batches: { storage, worker: false },
  });
  withConstants(router, { failPoint });
  const mounted = await listen(createServer(nodeRouter(router)));
  return {
    router,
    client: new OpenAI({ baseURL: mounted.baseURL, apiKey: 'any', maxRetries: 0 }),
    async [Symbol.asyncDispose]() {
      await mounted[Symbol.asyncDispose]();
      await router.close();
    },
  };
}

/** Five batches, a second apart, the first of which is completed and the second cancelled. */
async function fiveBatches() {
  let now = BEGINNING;
  const scene = await serve({ storage: memoryStorage({ now: () => now }) });
  const { router } = scene;
  const ids: string[] = [];
  for (let number = 0; number < BATCHES; number += 1) {
    ids.push((await router.batches.create(chatBatch(1))).id);
    if (number === 1) await router.batches.cancel(ids[1] ?? '');
    if (number < 2) await router.batches.tick();
    now += 1_000;
  }
  return { ...scene, ids, newest: ids.toReversed() };
}

const idsOf = ({ data }: BatchList): readonly string[] => data.map(({ id }) => id);

describe('the list of batches through the openai package', () => {
  it('is read page by page with client.get, newest first, until nothing is left', async () => {
    await using scene = await fiveBatches();
    const { client, newest } = scene;
    const pages: BatchList[] = [];
    for (let after: string | undefined; ;) {
      const page = await client.get<BatchList>('/batches', { query: { limit: 2, ...(after && { after }) } });
      pages.push(page);
      if (!page.has_more) break;
      after = page.last_id ?? undefined;
    }
    expect(pages.map(idsOf)).toEqual([newest.slice(0, 2), newest.slice(2, 4), newest.slice(4)]);
    expect(pages.map(({ object, first_id: first, last_id: last }) => [object, first, last])).toEqual([
      ['list', newest[0], newest[1]],
      ['list', newest[2], newest[3]],
      ['list', newest[4], newest[4]],
    ]);
    expect(pages.flatMap(({ data }) => data.map(({ results }) => results))).toEqual([null, null, null, null, null]);
    const beyond = await client.get<BatchList>('/batches', { query: { after: newest.at(-1) } });
    await expect(client.get('/batches', { query: { after: 'batch_none' } })).rejects.toMatchObject({ status: 400 });
    expect(beyond).toEqual({ object: 'list', data: [], first_id: null, last_id: null, has_more: false });
  });

  it("is walked through by the package's own pages", async () => {
    await using scene = await fiveBatches();
    const found: string[] = [];
    for await (const { id } of scene.client.batches.list({ limit: 2 })) found.push(id);
    expect(found).toEqual(scene.newest);
  });

  it.each([
    ['one status', { status: 'completed' }, [0]],
    ['several, as the package writes lists', { status: ['completed', 'cancelled'] }, [1, 0]],
    ['none that has it', { status: 'expired' }, []],
    ['created after a second, which is not meant itself', { created_after: BEGINNING / 1_000 + 2 }, [4, 3]],
    ['created before a second, which is not meant itself', { created_before: BEGINNING / 1_000 + 2 }, [1, 0]],
    ['between two', { created_after: BEGINNING / 1_000, created_before: BEGINNING / 1_000 + 3 }, [2, 1]],
    ['a status on a page', { status: 'validating', limit: 1 }, [4]],
  ])('takes a filter: %s', async (_, query, expected) => {
    await using scene = await fiveBatches();
    const page = await scene.client.get<BatchList>('/batches', { query });
    expect(idsOf(page)).toEqual(expected.map((number) => scene.ids[number]));
    expect(page.has_more).toBe('limit' in query);
  });

  it.each([
    { limit: 0 },
    { limit: 101 },
    { status: 'done' },
    { status: ['completed', 'done'] },
    { created_after: 'now' },
  ])('refuses the query %o', async (query) => {
    await using scene = await fiveBatches();
    await expect(scene.client.get('/batches', { query })).rejects.toMatchObject({ status: 400 });
  });
});

describe('a batch through the openai package', () => {
  it('cannot be deleted while it runs, nor cancelled when it has ended', async () => {
    let finish: () => void = () => {};
    const hanging = new Promise<void>((resolve) => (finish = resolve));
    const provider = batchProvider('up', async () => {
      await hanging;
      return answer('ok');
    });
    await using scene = await serve({ storage: memoryStorage(), provider });
    const { client, router } = scene;
    const { id } = await client.post<Batch>('/batches', { body: chatBatch(1) });
    const conflict = { status: 409, error: { code: 409 } };
    await expect(client.delete(`/batches/${id}`)).rejects.toMatchObject(conflict);
    await router.batches.start();
    await expect.poll(() => provider.open).toBe(1);
    await expect(client.delete(`/batches/${id}`)).rejects.toMatchObject({
      ...conflict,
      message: expect.stringContaining('The batch is in_progress; cancel it') as string,
    });
    finish();
    await expect.poll(async () => (await client.batches.retrieve(id)).status).toBe('completed');
    await expect(client.batches.cancel(id)).rejects.toMatchObject({
      ...conflict,
      message: expect.stringContaining('completed and cannot be cancelled') as string,
    });
    expect(await client.delete(`/batches/${id}`)).toMatchObject({ id, deletion: { router: 'deleted' } });
  });

  it.each(['create.written', 'create.published'] as const)(
    'is one for its Idempotency-Key, though the first process died at %s',
    async (place) => {
      using folder = temporaryFolder();
      const file = folder.file('batches.db');
      const options = { body: chatBatch(30), headers: { 'idempotency-key': 'once' } };
      let died: () => void = () => {};
      const death = new Promise<void>((resolve) => (died = resolve));
      // It comes to the place and no further: what follows in a real process never happens.
      const failPoint = (point: FailPoint): Promise<void> | undefined => {
        if (point !== place) return undefined;
        died();
        return new Promise(() => {});
      };
      const first = await serve({ storage: sqliteStorage({ file }), failPoint });
      const request = first.client.post<Batch>('/batches', options);
      const broken = expect(request).rejects.toThrow(APIConnectionError);
      await death;
      await first[Symbol.asyncDispose]();
      await broken;
      await using second = await serve({ storage: sqliteStorage({ file }) });
      const { id } = await second.client.post<Batch>('/batches', options);
      expect((await second.client.post<Batch>('/batches', options)).id).toBe(id);
      expect(idsOf(await second.client.get<BatchList>('/batches'))).toEqual([id]);
      await expect(second.client.post('/batches', { ...options, body: chatBatch(31) })).rejects.toMatchObject({
        status: 422,
      });
      await second.router.batches.tick();
      expect(await second.client.get(`/batches/${id}`)).toMatchObject({
        status: 'completed',
        request_counts: { total: 30, completed: 30 },
      });
    },
  );
});
