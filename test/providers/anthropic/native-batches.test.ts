import { anthropic } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { all, batchScene } from '../../support/batches.ts';
import {
  type BatchServer,
  type BatchServerAnswer,
  endedAtServer,
  nativeCall,
  startBatchServer,
} from '../../support/batch-server.ts';

const MODELS = {
  'acme/one': { upstreamModel: 'claude-up', price: { prompt: 1, completion: 2, serviceTiers: { batch: 0.5 } } },
} as const;
const PATH = '/v1/messages/batches';
const BATCH = {
  id: 'msgbatch_1',
  type: 'message_batch',
  processing_status: 'in_progress',
  request_counts: { processing: 5, succeeded: 0, errored: 0, canceled: 0, expired: 0 },
  expires_at: '2027-01-15T08:00:00Z',
  cancel_initiated_at: null,
  results_url: null,
};
const ENDED = {
  ...BATCH,
  processing_status: 'ended',
  request_counts: { processing: 0, succeeded: 2, errored: 1, canceled: 0, expired: 1 },
  results_url: 'https://elsewhere.example/results',
};

function api(answers: Readonly<Record<string, BatchServerAnswer>> = {}): Promise<BatchServer> {
  const usual: Readonly<Record<string, BatchServerAnswer>> = {
    [`POST ${PATH}`]: [200, BATCH],
    [`GET ${PATH}/msgbatch_1`]: [200, ENDED],
    [`POST ${PATH}/msgbatch_1/cancel`]: [200, { ...BATCH, processing_status: 'canceling' }],
    [`DELETE ${PATH}/msgbatch_1`]: [200, { id: 'msgbatch_1', type: 'message_batch_deleted' }],
  };
  return startBatchServer(({ line }) => ({ ...usual, ...answers })[line] ?? [404, { error: { message: 'no such' } }]);
}

function message(text: string) {
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-up',
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: {
      input_tokens: 10,
      output_tokens: 5,
      service_tier: 'batch',
      speed: 'standard',
      iterations: [{ type: 'message', input_tokens: 10, output_tokens: 5 }],
    },
  };
}

function outcome(id: string, result: unknown): string {
  return JSON.stringify({ custom_id: id, result });
}

function provider({ origin }: BatchServer) {
  return anthropic({ apiKey: 'sk-ant-secret', baseURL: origin, models: MODELS, nativeBatches: true });
}

function native(server: BatchServer) {
  const { batches } = provider(server);
  if (batches === undefined) throw new Error('a batch API');
  return batches;
}

describe('the Message Batches API', () => {
  it.each(['/v1/chat/completions', '/v1/messages'] as const)('runs a batch of %s', async (endpoint) => {
    const error = { type: 'error', error: { type: 'invalid_request_error', message: 'max_tokens: too many' } };
    const lines = [
      outcome('r2', { type: 'succeeded', message: message('two\u2028lines') }),
      outcome('r1', { type: 'errored', error }),
      outcome('r0', { type: 'succeeded', message: message('zero') }),
      outcome('r3', { type: 'expired' }),
      outcome('r2', { type: 'canceled' }),
    ];
    await using server = await api({ [`GET ${PATH}/msgbatch_1/results`]: [200, lines.join('\n')] });
    const scene = batchScene({ providers: [provider(server)] });
    const { router } = scene;
    const list = Array.from({ length: 5 }, (_, index) => ({
      custom_id: `r${index}`,
      body: { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 40_000 },
    }));
    const { id } = await router.batches.create({ endpoint, model: 'acme/one', requests: list });
    await router.batches.start();
    const batch = await endedAtServer(scene, id);
    expect(batch).toMatchObject({
      status: 'completed',
      provider: 'Anthropic',
      expires_at: Date.parse(BATCH.expires_at) / 1_000,
      request_counts: { total: 5, completed: 2, failed: 3 },
      usage: {
        prompt_tokens: 20,
        completion_tokens: 10,
        cost: 0.00002,
        service_tier: 'batch',
        speed: 'standard',
        iterations: [{ type: 'message', input_tokens: 20, output_tokens: 10 }],
      },
    });
    const said = (text: string): object =>
      endpoint === '/v1/messages'
        ? { type: 'message', content: [{ type: 'text', text }] }
        : { choices: [{ message: { content: text } }] };
    expect(await all(router.batches.results(id))).toMatchObject([
      { custom_id: 'r0', response: { body: said('zero') } },
      { custom_id: 'r1', error: { error_type: 'invalid_request', message: 'max_tokens: too many' } },
      { custom_id: 'r2', response: { body: said('two\u2028lines') } },
      { custom_id: 'r3', error: { error_type: 'batch_expired' } },
      { custom_id: 'r4', response: null, error: expect.any(Object) as object },
    ]);
    const [created] = server.requests;
    expect(created?.headers).toMatchObject({ 'x-api-key': 'sk-ant-secret', 'anthropic-version': '2023-06-01' });
    const body = JSON.parse(String(created?.body)) as { requests: { custom_id: string; params: object }[] };
    // Each id ends in the id of the batch, by which the batch is found again.
    const tag = id.replaceAll('_', '').slice(-32);
    expect(body.requests.map(({ custom_id: name }) => name)).toEqual([0, 1, 2, 3, 4].map((at) => `r${at}-${tag}`));
    expect(body.requests[0]?.params).toMatchObject({ model: 'claude-up', max_tokens: 40_000 });
    expect(body.requests[0]?.params).not.toHaveProperty('stream');
    await router.batches.stop({ graceMs: 0 });
  });

  it.each([
    [{ processing_status: 'canceling' }, { status: 'running', expiresAt: Date.parse(BATCH.expires_at) }],
    [{ processing_status: 'pondering' }, { status: 'running', expiresAt: Date.parse(BATCH.expires_at) }],
    [{}, { status: 'ended', outcome: 'completed' }],
    [{ request_counts: { succeeded: 0, errored: 0, expired: 5 } }, { status: 'ended', outcome: 'expired' }],
    [
      { cancel_initiated_at: '2026-01-01T00:00:00Z', request_counts: { succeeded: 1, canceled: 4 } },
      { status: 'ended', outcome: 'cancelled' },
    ],
    // Everything was done before the wish to stop came.
    [{ cancel_initiated_at: '2026-01-01T00:00:00Z' }, { status: 'ended', outcome: 'completed' }],
  ])('reads the state of %j', async (fields, state) => {
    await using server = await api({ [`GET ${PATH}/msgbatch_1`]: [200, { ...ENDED, ...fields }] });
    expect(await native(server).poll(nativeCall({ id: 'msgbatch_1' }))).toEqual({ ok: true, value: state });
  });

  describe('a batch whose answer was lost', () => {
    const CREATED = Date.parse('2026-01-01T00:00:00Z');
    const lookup = { ...nativeCall({}), key: 'batch_abc', createdAt: CREATED, total: 4 };
    const listed = (id: string, more: object = {}) => ({ ...ENDED, id, created_at: '2026-01-01T00:00:05Z', ...more });
    const results = (id: string, name: string): Readonly<Record<string, BatchServerAnswer>> => ({
      [`GET ${PATH}/${id}/results`]: [200, outcome(name, { type: 'canceled' })],
    });
    const list = (...data: readonly object[]): Readonly<Record<string, BatchServerAnswer>> => ({
      [`GET ${PATH}?limit=100`]: [200, { data, has_more: false }],
    });

    it('is found by its time, its size and the tag of its requests', async () => {
      await using server = await api({
        ...list(
          listed('other'),
          listed('larger', { request_counts: { succeeded: 5 } }),
          listed('mine'),
          listed('old', { created_at: '2025-12-31T23:00:00Z' }),
        ),
        ...results('other', 'r0-batchxyz'),
        ...results('mine', 'r3-batchabc'),
      });
      const found = await native(server).find?.(lookup);
      expect(found).toMatchObject({ ok: true, value: { job: { id: 'mine', tag: 'batchabc' } } });
      expect(server.lines).toEqual([`GET ${PATH}?limit=100`, `GET ${PATH}/other/results`, `GET ${PATH}/mine/results`]);
    });

    it('is waited for while one of its size is running', async () => {
      const running = { processing_status: 'in_progress', request_counts: { processing: 4 } };
      await using server = await api(list(listed('maybe', running)));
      expect(await native(server).find?.(lookup)).toMatchObject({ ok: false, failure: { kind: 'overloaded' } });
    });

    it('is not waited for because of other parts of the same batch', async () => {
      const running = { processing_status: 'in_progress', request_counts: { processing: 4 } };
      await using server = await api(list(listed('first', running), listed('second', running)));
      const known = [{ id: 'first' }, { id: 'second' }];
      expect(await native(server).find?.({ ...lookup, known })).toEqual({ ok: true, value: undefined });
    });

    it('is not there when none of its time and size is', async () => {
      await using server = await api(list(listed('old', { created_at: '2025-12-31T23:00:00Z' })));
      expect(await native(server).find?.(lookup)).toEqual({ ok: true, value: undefined });
    });

    it('takes no results of another batch', async () => {
      const lines = [outcome('r0-batchxyz', { type: 'canceled' }), outcome('r1-batchabc', { type: 'canceled' })];
      await using server = await api({ [`GET ${PATH}/msgbatch_1/results`]: [200, lines.join('\n')] });
      const read = await all(native(server).results(nativeCall({ id: 'msgbatch_1', tag: 'batchabc' })));
      expect(read).toEqual([{ id: 'r1', type: 'cancelled' }]);
    });
  });

  it('cancels and deletes', async () => {
    await using server = await api();
    const call = nativeCall({ id: 'msgbatch_1' });
    expect(await native(server).cancel(call)).toEqual({ ok: true, value: undefined });
    expect(await native(server).remove(call)).toEqual({ ok: true, value: 'deleted' });
    expect(server.lines).toEqual([`POST ${PATH}/msgbatch_1/cancel`, `DELETE ${PATH}/msgbatch_1`]);
  });

  it('takes no embeddings, and is used by default at the own address only', () => {
    const own = anthropic({ apiKey: 'k', baseURL: 'https://api.anthropic.com/v1' });
    expect(own.batches?.accepts('/v1/embeddings', {} as never)).toBe(false);
    expect(own.batches?.accepts('/v1/responses', {} as never)).toBe(true);
    expect(anthropic({ apiKey: 'k', baseURL: 'http://127.0.0.1:1' }).batches).toBeUndefined();
  });
});
