import * as fc from 'fast-check';
import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import { type Router, createRouter } from 'signalbox';
import { nodeRouter } from 'signalbox/node';
import { answer, batchProvider, batchScene, changedStore, chatBatch } from '../../support/batches.ts';
import { memoryStorage } from '../../../src/storage/memory-storage.ts';
import { listen } from '../../support/mounts.ts';
import { runs } from '../../support/properties.ts';

const CHAT = '/v1/chat/completions';

/** A JSONL file with white space around and in its lines, as editors and programs leave it. */
function fileOf(lines: readonly { before: string; after: string; indent: boolean }[]): string {
  const texts = lines.map(({ before, after, indent }, index) => {
    const body = { model: 'acme/one', messages: [{ role: 'user', content: `r${index}` }] };
    const request = { custom_id: `r${index}`, method: 'POST', url: CHAT, body };
    const text = indent ? JSON.stringify(request, undefined, ' ').replaceAll('\n', ' ') : JSON.stringify(request);
    return `${before}${text}${after}`;
  });
  return `${texts.join('\n')}\n`;
}

async function json(response: Response): Promise<Record<string, unknown>> {
  return (await response.json()) as Record<string, unknown>;
}

/** Uploads a file, creates a batch of it, and gives what became of that. */
async function batchOf(router: Router, origin: string, content: string) {
  const form = new FormData();
  form.set('purpose', 'batch');
  form.set('file', new Blob([content]), 'requests.jsonl');
  const file = await json(await fetch(`${origin}/files`, { method: 'POST', body: form }));
  const created = await fetch(`${origin}/batches`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ endpoint: CHAT, input_file_id: file['id'], completion_window: '24h' }),
  });
  const { id } = await json(created);
  for (let turn = 0; turn < 200; turn += 1) {
    const batch = await router.batches.retrieve(String(id));
    if (batch.finalized_at !== null) return batch;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error('the batch never ends');
}

describe('a file of requests', () => {
  it('may have white space before and behind its lines', { timeout: 60_000 }, async () => {
    const seen: string[] = [];
    const provider = batchProvider('up', (call) => {
      seen.push(call.text);
      return answer('Hello');
    });
    const router = createRouter({ providers: [provider], on: { warning: () => {} }, fallback: { maxAttempts: 1 } });
    await router.batches.start();
    await using mount = await listen(createServer(nodeRouter(router)));
    const space = fc.string({ unit: fc.constantFrom(' ', '\t', '\r'), maxLength: 3 });
    const lines = fc.array(fc.record({ before: space, after: space, indent: fc.boolean() }), {
      minLength: 1,
      maxLength: 5,
    });
    await fc.assert(
      fc.asyncProperty(lines, async (some) => {
        seen.length = 0;
        const { error, request_counts: counts } = await batchOf(router, mount.baseURL, fileOf(some));
        expect(error).toBeNull();
        expect(counts.total).toBe(some.length);
        expect(new Set(seen)).toEqual(new Set(some.map((_, index) => `r${index}`)));
      }),
      { ...runs(12), examples: [[[{ before: ' ', after: '', indent: false }]]] },
    );
    await router.close();
  });
});

describe('a batch that cannot be validated', () => {
  it('fails at once for a request that is stored as something else', async () => {
    const warnings: string[] = [];
    const inner = memoryStorage();
    const store = changedStore(inner, {
      items: async (account, id, after, limit) =>
        (await inner.items(account, id, after, limit)).map((item) => ({ ...item, body: item.body.slice(1) })),
    });
    const scene = batchScene({ on: { warning: ({ message }) => warnings.push(message) } }, { store });
    await scene.router.batches.start();
    const { id } = await scene.router.batches.create(chatBatch(2));
    const batch = await scene.ended(id);
    expect([batch.status, batch.error?.message]).toEqual([
      'failed',
      'requests[0].body: could not be checked (custom_id "r0")',
    ]);
    expect(warnings).toEqual([
      `requests[0].body of batch ${id} could not be checked (SyntaxError), so the batch has failed`,
    ]);
    await scene.router.close();
  });

  it('fails with the reason when what it needs is not there for an hour, and not before', async () => {
    let isThere = false;
    const accountOf = (id: string) => {
      if (!isThere) throw new Error('no accounts');
      return { id };
    };
    const scene = batchScene({ batches: { accountOf } });
    await scene.router.batches.start();
    const { id } = await scene.router.batches.create(chatBatch(1));
    await scene.advance(3_000_000);
    expect((await scene.router.batches.retrieve(id)).status).toBe('validating');
    const { id: later } = await scene.router.batches.create(chatBatch(1));
    for (let turn = 0; turn < 20; turn += 1) await scene.advance(60_000 + turn * 5_000);
    const batch = await scene.router.batches.retrieve(id);
    expect(batch.status).toBe('failed');
    expect(batch.error?.message).toMatch(/^The batch could not be validated/);
    isThere = true;
    expect((await scene.ended(later)).status).toBe('completed');
    await scene.router.close();
  });
});
