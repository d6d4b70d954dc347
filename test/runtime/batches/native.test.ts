import { memoryStorage } from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { all, batchProvider, batchScene, chatBatch, pausableStore, requests } from '../../support/batches.ts';
import { type NativeProvider, nativeProvider } from '../../support/native-provider.ts';
import type { FailPoint } from '../../../src/runtime/batches/ports.ts';

const RUNNING = { status: 'running' } as const;
const ended = (outcome: 'completed' | 'failed' | 'expired' | 'cancelled', message?: string) =>
  ({ status: 'ended', outcome, message }) as const;

describe('a provider with a batch API', () => {
  it('gets the batch as a whole, under names that every provider takes, and is looked at less and less often', async () => {
    const expiresAt = Date.UTC(2026, 0, 1) + 96 * 3_600_000;
    const provider = nativeProvider('up', {
      expiresAt,
      states: [RUNNING, RUNNING, RUNNING, RUNNING, ended('completed')],
    });
    const scene = batchScene({ providers: [provider] });
    const longNames = Array.from({ length: 40 }, (_, index) => ({
      custom_id: `a name with spaces, é and ${'x'.repeat(80)} ${index}`,
      body: { messages: [{ role: 'user', content: 'Hi' }] },
    }));
    const { id } = await scene.router.batches.create(chatBatch(0, { requests: longNames }));
    await scene.router.batches.start();
    await scene.advance(1_000);
    expect(await scene.router.batches.retrieve(id)).toMatchObject({
      status: 'in_progress',
      provider: 'UP',
      expires_at: expiresAt / 1_000,
    });
    const batch = await scene.ended(id);
    expect(batch).toMatchObject({ status: 'completed', request_counts: { total: 40, completed: 40, failed: 0 } });
    // Half of 10 USD per million for the prompt and 20 for the answer.
    expect(batch.usage).toMatchObject({ prompt_tokens: 400, completion_tokens: 200, cost: 0.0004 });
    const [submission] = provider.submissions;
    expect(submission).toMatchObject({ operation: '/v1/chat/completions', key: id, total: 40 });
    expect(submission?.read.every((item) => /^[A-Za-z0-9_-]{1,64}$/.test(item.id))).toBe(true);
    expect(provider.calls).toHaveLength(0);
    const results = await all(scene.router.batches.results(id));
    expect(results.map(({ custom_id: name }) => name)).toEqual(longNames.map(({ custom_id: name }) => name));
    expect(results[7]?.response?.body).toMatchObject({
      id: expect.stringMatching(/^gen-batch-/) as string,
      choices: [{ message: { content: 'native r7' } }],
    });
    expect(provider.polls).toBe(5);
    await scene.router.batches.stop({ graceMs: 0 });
  });

  it('gives answers in the shape of the endpoint', async () => {
    const { router, ended: end } = batchScene({ providers: [nativeProvider('up')] });
    const body = { max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] };
    const { id } = await router.batches.create({
      endpoint: '/v1/messages',
      model: 'acme/one',
      requests: [{ custom_id: 'a', body }],
    });
    await router.batches.start();
    await end(id);
    const [result] = await all(router.batches.results(id));
    expect(result?.response?.body).toMatchObject({ type: 'message', content: [{ type: 'text', text: 'native r0' }] });
    await router.batches.stop({ graceMs: 0 });
  });

  it('may fail single requests, forget some, and say some twice', async () => {
    const provider = nativeProvider('up', {
      results: ([first, second, third]) => [
        { id: third?.id ?? '', type: 'answered', body: 'third' },
        { id: first?.id ?? '', type: 'failed', failure: { kind: 'context_length', message: 'too long' } },
        { id: first?.id ?? '', type: 'answered', body: 'again' },
        { id: second?.id ?? '', type: 'answered', body: 'broken' },
        { id: 'stranger', type: 'answered', body: 'x' },
        { id: 'r999', type: 'answered', body: 'x' },
      ],
    });
    const { router, ended: end } = batchScene({ providers: [provider] });
    const { id } = await router.batches.create(chatBatch(4));
    await router.batches.start();
    expect(await end(id)).toMatchObject({ status: 'completed', request_counts: { total: 4, completed: 1, failed: 3 } });
    const results = await all(router.batches.results(id));
    expect(results.map(({ error }) => error?.error_type ?? null)).toEqual([
      'context_length_exceeded',
      'provider_unavailable',
      null,
      'provider_unavailable',
    ]);
    expect(results[3]?.error?.message).toContain('ended its batch without an answer');
    await router.batches.stop({ graceMs: 0 });
  });

  it('may run out of time: what is answered counts, and nothing at all is an expired batch', async () => {
    const half = nativeProvider('up', {
      states: [ended('expired')],
      results: (items) =>
        items.map(({ id }, index) => (index < 2 ? { id, type: 'answered', body: 'x' } : { id, type: 'expired' })),
    });
    const first = batchScene({ providers: [half] });
    const one = await first.router.batches.create(chatBatch(5));
    await first.router.batches.start();
    expect(await first.ended(one.id)).toMatchObject({
      status: 'completed',
      request_counts: { completed: 2, failed: 3 },
    });
    const none = nativeProvider('up', { states: [ended('expired')], results: () => [] });
    const second = batchScene({ providers: [none] });
    const two = await second.router.batches.create(chatBatch(5));
    await second.router.batches.start();
    expect(await second.ended(two.id)).toMatchObject({
      status: 'expired',
      request_counts: { completed: 0, failed: 5 },
    });
    await Promise.all([first, second].map(({ router }) => router.batches.stop({ graceMs: 0 })));
  });

  it('may fail the whole batch, and says why', async () => {
    const provider = nativeProvider('up', { states: [ended('failed', 'Line 3 is no JSON')], results: () => [] });
    const { router, ended: end } = batchScene({ providers: [provider] });
    const { id } = await router.batches.create(chatBatch(5));
    await router.batches.start();
    expect(await end(id)).toMatchObject({ status: 'failed', error: { message: 'Line 3 is no JSON' } });
    await router.batches.stop({ graceMs: 0 });
  });

  it('may be silent for a while', async () => {
    const provider = nativeProvider('up', { states: ['connection', 'server', RUNNING, ended('completed')] });
    const { router, ended: end } = batchScene({ providers: [provider] });
    const { id } = await router.batches.create(chatBatch(2));
    await router.batches.start();
    expect(await end(id)).toMatchObject({ status: 'completed', request_counts: { completed: 2 } });
    await router.batches.stop({ graceMs: 0 });
  });

  it('stops a cancelled batch, and what it had answered is kept', async () => {
    const provider = nativeProvider('up', {
      states: [RUNNING, RUNNING, ended('cancelled')],
      results: ([first]) => [{ id: first?.id ?? '', type: 'answered', body: 'in time' }],
    });
    const scene = batchScene({ providers: [provider] });
    const { id } = await scene.router.batches.create(chatBatch(3));
    await scene.router.batches.start();
    await scene.advance(15_000);
    await scene.router.batches.cancel(id);
    expect(await scene.ended(id)).toMatchObject({ status: 'cancelled', request_counts: { completed: 1, failed: 2 } });
    expect(provider.cancelled).toEqual([{ id: 'job-1' }]);
    expect(await scene.router.batches.delete(id)).toMatchObject({
      deletion: { router: 'deleted', upstream: { provider: 'UP', status: 'deleted' } },
    });
    expect(provider.removed).toEqual([{ id: 'job-1' }]);
    await scene.router.batches.stop({ graceMs: 0 });
  });
});

describe('a batch that was handed over by a process that died', () => {
  /** A router that dies when the provider has the batch, and another one on the same store. */
  async function orphan(first: NativeProvider, second: NativeProvider) {
    const environment = fakeEnvironment();
    const store = memoryStorage({ now: environment.wallClock });
    const mortal = pausableStore(store);
    const failPoint = (name: FailPoint): Promise<void> | undefined => {
      if (name !== 'run.submitted') return undefined;
      mortal.pause();
      return new Promise(() => {});
    };
    const one = batchScene({ providers: [first] }, { environment, store: mortal.store }, { failPoint });
    const { id } = await one.router.batches.create(chatBatch(3));
    await one.router.batches.start();
    await one.advance(1_000);
    expect(first.submissions).toHaveLength(1);
    return { id, ...batchScene({ providers: [second] }, { environment, store }) };
  }

  it('is found, and not handed over again', async () => {
    const second = nativeProvider('up', { found: ['lost-job'] });
    const { id, router, ended: end } = await orphan(nativeProvider('up'), second);
    await router.batches.start();
    expect(await end(id)).toMatchObject({ status: 'completed', request_counts: { total: 3, completed: 3 } });
    expect([second.submissions.length, second.searches]).toEqual([0, 1]);
    await router.batches.stop({ graceMs: 0 });
  });

  it('is not handed over again while the provider cannot say whether it has it', async () => {
    const second = nativeProvider('up', { found: ['connection', 'connection', 'connection', 'lost-job'] });
    const { id, router, ended: end } = await orphan(nativeProvider('up'), second);
    await router.batches.start();
    expect(await end(id)).toMatchObject({ status: 'completed' });
    expect([second.submissions.length, second.searches]).toEqual([0, 4]);
    await router.batches.stop({ graceMs: 0 });
  });

  it('is handed over when the provider does not have it', async () => {
    const second = nativeProvider('up', { found: ['nothing'] });
    const { id, router, ended: end } = await orphan(nativeProvider('up'), second);
    await router.batches.start();
    expect(await end(id)).toMatchObject({ status: 'completed' });
    expect([second.submissions.length, second.searches]).toEqual([1, 1]);
    await router.batches.stop({ graceMs: 0 });
  });

  it('is stopped there when it is cancelled before anybody found it', async () => {
    const script = { states: [ended('cancelled')], results: () => [] } as const;
    const second = nativeProvider('up', { found: ['server', 'lost-job'], ...script });
    const { id, router, ended: end } = await orphan(nativeProvider('up'), second);
    await router.batches.cancel(id);
    await router.batches.start();
    expect(await end(id)).toMatchObject({ status: 'cancelled', provider: 'UP', request_counts: { failed: 3 } });
    expect(second.cancelled).toEqual([{ id: 'lost-job' }]);
    await router.batches.stop({ graceMs: 0 });
  });
});

describe('a batch at a provider', () => {
  it('is looked for when the answer to its submission was lost, also after the last try', async () => {
    const nothing = ['nothing', 'nothing', 'nothing', 'nothing'] as const;
    const provider = nativeProvider('up', {
      refusals: ['connection', 'connection', 'timeout', 'connection', 'connection'],
      found: [...nothing, 'lost-job'],
    });
    const { router, ended: end } = batchScene({ providers: [provider] });
    const { id } = await router.batches.create(chatBatch(3));
    await router.batches.start();
    expect(await end(id)).toMatchObject({ status: 'completed', request_counts: { completed: 3 }, provider: 'UP' });
    expect([provider.submissions.length, provider.calls.length]).toEqual([0, 0]);
    await router.batches.stop({ graceMs: 0 });
  });

  it('is stopped there when its owner cancelled it, or deleted it, while it was handed over', async () => {
    for (const gone of ['cancelled', 'deleted']) {
      let goOn: () => void = () => {};
      const submitting = (): Promise<void> => new Promise((resolve) => (goOn = resolve));
      const provider = nativeProvider('up', { submitting, found: ['nothing'] });
      const scene = batchScene({ providers: [provider] });
      const { id } = await scene.router.batches.create(chatBatch(3));
      await scene.router.batches.start();
      await scene.advance(1_000);
      await scene.router.batches.cancel(id);
      expect(await scene.ended(id)).toMatchObject({ status: 'cancelled' });
      if (gone === 'deleted') await scene.router.batches.delete(id);
      goOn();
      await scene.advance(1_000);
      expect(provider.cancelled).toEqual([{ id: 'job-1' }]);
      await scene.router.batches.stop({ graceMs: 0 });
    }
  });

  it('is cancelled when somebody stopped it there before anything was done', async () => {
    const provider = nativeProvider('up', { states: [ended('cancelled')], results: () => [] });
    const { router, ended: end } = batchScene({ providers: [provider] });
    const { id } = await router.batches.create(chatBatch(3));
    await router.batches.start();
    expect(await end(id)).toMatchObject({ status: 'cancelled', request_counts: { completed: 0, failed: 3 } });
    await router.batches.stop({ graceMs: 0 });
  });

  it.each(['completed', 'cancelled'] as const)(
    'keeps its answers although whoever fetched them slept longer than its leases: %s',
    async (end) => {
      const environment = fakeEnvironment();
      let slept = 0;
      const store = memoryStorage({ now: () => environment.wallClock() + slept });
      const failPoint = (name: FailPoint): undefined => {
        if (name === 'run.answered' && slept === 0) slept += 60_000;
      };
      const provider = nativeProvider('up', { states: [RUNNING, RUNNING, ended(end)] });
      const scene = batchScene({ providers: [provider] }, { environment, store }, { failPoint });
      const { id } = await scene.router.batches.create(chatBatch(3));
      await scene.router.batches.start();
      await scene.advance(1_000);
      if (end === 'cancelled') await scene.router.batches.cancel(id);
      const batch = await scene.ended(id);
      expect(slept).toBe(60_000);
      expect(batch).toMatchObject({ status: end, request_counts: { total: 3, completed: 3, failed: 0 } });
      await scene.router.batches.stop({ graceMs: 0 });
    },
  );

  it('keeps its answers although they cannot be fetched for a while', async () => {
    const provider = nativeProvider('up', { breaks: 28 });
    const { router, ended: end } = batchScene({ providers: [provider] });
    const { id } = await router.batches.create(chatBatch(3));
    await router.batches.start();
    expect(await end(id)).toMatchObject({ status: 'completed', request_counts: { completed: 3, failed: 0 } });
    await router.batches.stop({ graceMs: 0 });
  });

  it('that says it is running long after its time is told to stop, and expires', async () => {
    const provider = nativeProvider('up', { states: [RUNNING], expiresAt: Date.UTC(2026, 0, 1) + 60_000 });
    const scene = batchScene({ providers: [provider] }, {}, { batches: { helpMs: 0 } });
    const { id } = await scene.router.batches.create(chatBatch(3));
    await scene.router.batches.start();
    const { expires_at: expiry } = await scene.router.batches.retrieve(id);
    for (let hour = 0; hour < 30; hour += 1) await scene.advance(3_600_000);
    expect(await scene.ended(id)).toMatchObject({ status: 'expired', request_counts: { failed: 3 } });
    expect([provider.cancelled, expiry]).toEqual([[{ id: 'job-1' }], null]);
    await scene.router.batches.stop({ graceMs: 0 });
  });

  it('costs what the endpoint says of batches, else what the provider usually charges for them', async () => {
    const prices = [
      [{ prompt: 1, completion: 2, serviceTiers: { batch: 0.25 } }, 0.5, 0.000_015],
      [{ prompt: 1, completion: 2, serviceTiers: { flex: 0.75 } }, 0.5, 0.000_03],
      [{ prompt: 1, completion: 2 }, undefined, undefined],
    ] as const;
    for (const [price, priceFactor, cost] of prices) {
      const provider = { ...nativeProvider('up', { priceFactor }), models: { 'acme/one': { price } } };
      const { router, ended: end } = batchScene({ providers: [provider] });
      const { id } = await router.batches.create(chatBatch(3));
      await router.batches.start();
      const { usage } = await end(id);
      expect(usage?.cost ?? undefined).toBe(cost);
      await router.batches.stop({ graceMs: 0 });
    }
  });
});

describe('a batch is run request by request', () => {
  async function run(
    provider: ReturnType<typeof nativeProvider>,
    more: Parameters<typeof chatBatch>[1] = {},
    options: object = {},
  ) {
    const { router, ended: end } = batchScene({ providers: [provider, batchProvider('other')] });
    const { id } = await router.batches.create(chatBatch(3, { provider: { only: ['up', 'other'] }, ...more }), options);
    await router.batches.start();
    const batch = await end(id);
    await router.batches.stop({ graceMs: 0 });
    return batch;
  }

  it('when the batch API does not take it', async () => {
    const provider = nativeProvider('up', { accepts: () => false });
    expect(await run(provider, { provider: { only: ['up'] } })).toMatchObject({ status: 'completed', provider: 'UP' });
    expect([provider.submissions.length, provider.calls.length]).toEqual([0, 3]);
  });

  it('when the provider refuses it, or fails five times', async () => {
    for (const refusals of [['invalid_request'], ['server', 'server', 'rate_limited', 'server', 'server']] as const) {
      const provider = nativeProvider('up', { refusals });
      expect(await run(provider, { provider: { only: ['up'] } })).toMatchObject({ status: 'completed' });
      expect([provider.submissions.length, provider.calls.length]).toEqual([0, 3]);
    }
  });

  it('but fails where no other way is allowed', async () => {
    const provider = nativeProvider('up', { refusals: ['invalid_request'] });
    const batch = await run(provider, { provider: { only: ['up'], allow_fallbacks: false } });
    expect(batch).toMatchObject({
      status: 'failed',
      error: { message: 'The provider refused the batch: no: invalid_request' },
    });
  });

  it('when one of its requests must go elsewhere', async () => {
    const provider = nativeProvider('up');
    const elsewhere = {
      custom_id: 'x',
      body: { messages: [{ role: 'user', content: 'Hi' }], provider: { only: ['other'] } },
    };
    const list = [...(requests(2) as Iterable<never>), elsewhere];
    expect(await run(provider, { requests: list, provider: undefined })).toMatchObject({ status: 'completed' });
    expect(provider.submissions).toHaveLength(0);
  });

  it('when nothing of it may be stored at a provider', async () => {
    const provider = nativeProvider('up', {});
    Object.assign(provider, { zeroDataRetention: true });
    const { router, ended: end } = batchScene({ providers: [provider] });
    const account = { id: 'careful', policy: { zeroDataRetention: true } };
    await router.batches.create(chatBatch(3), { account });
    await router.batches.tick();
    expect([provider.submissions.length, provider.calls.length]).toEqual([0, 3]);
    expect(end).toBeTypeOf('function');
  });
});
