import { Webhook } from 'standardwebhooks';
import { type BatchUpdateEvent, type Brand, type WebhooksOptions, localQueue, verifyWebhook } from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';
import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { batchScene, chatBatch } from '../../support/batches.ts';
import { refusal } from '../../support/refusal.ts';
import { HOOK_URL, NEXT_SECRET, type ReceiverAnswer, SECRET, webhookReceiver } from '../../support/webhook-receiver.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** A completed batch whose end is told. */
async function told(
  answers?: readonly ReceiverAnswer[],
  options: WebhooksOptions = { secrets: [SECRET] },
  brand?: Brand,
) {
  const environment = fakeEnvironment();
  const receiver = webhookReceiver(environment, answers);
  const events: Extract<BatchUpdateEvent, { type: 'webhook' }>[] = [];
  const warnings: string[] = [];
  const scene = batchScene(
    {
      // Looks for other work every few seconds are most of what happens in days; so is `helpMs` below.
      batches: { queue: localQueue({ pollMs: HOUR }) },
      webhooks: options,
      brand,
      on: {
        batch: (event) => event.type === 'webhook' && events.push(event),
        warning: ({ code }) => warnings.push(code),
      },
    },
    { environment },
    { batches: { helpMs: 0 }, webhooks: { createTransport: receiver.createTransport } },
  );
  const { id } = await scene.router.batches.create(chatBatch(2, { callback_url: HOOK_URL }));
  await scene.router.batches.start();
  await scene.ended(id);
  await scene.advance(1_000);
  return { ...scene, id, receiver, events, warnings };
}

describe('the end of a batch', () => {
  it('is told with an event that receivers of OpenAI and of Standard Webhooks can check', async () => {
    const { receiver, id, events, router } = await told();
    const [delivery] = receiver.deliveries;
    expect(receiver.deliveries).toHaveLength(1);
    expect(delivery?.url).toBe(HOOK_URL);
    const { headers = {}, body = '' } = delivery ?? {};
    expect(JSON.parse(body)).toEqual({
      id: `evt_${id}_completed`,
      object: 'event',
      type: 'batch.completed',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
      data: {
        id,
        status: 'completed',
        endpoint: '/v1/chat/completions',
        model: 'acme/one',
        provider: 'UP',
        request_counts: { total: 2, completed: 2, failed: 0 },
        usage: expect.objectContaining({ total_tokens: 30 }) as object,
        error: null,
      },
    });
    // The moment at which the batch ended, as its resource has it in seconds.
    const { created_at: endedAt } = JSON.parse(body) as { created_at: string };
    expect(Math.floor(Date.parse(endedAt) / 1_000)).toBe((await router.batches.retrieve(id)).finalized_at);
    expect(headers['webhook-id']).toBe(`evt_${id}_completed`);
    expect(headers['x-router-idempotency-key']).toBe(`${id}-completed`);
    const standard = new Webhook(SECRET);
    const timestamp = Number(headers['webhook-timestamp']);
    expect(standard.sign(headers['webhook-id'] ?? '', new Date(timestamp * 1_000), body)).toBe(
      headers['webhook-signature'],
    );
    const hex = createHmac('sha256', SECRET).update(`${timestamp},${body}`).digest('hex');
    expect(headers['x-router-signature']).toBe(`t=${timestamp},v1=${hex}`);
    expect(events).toMatchObject([{ outcome: 'delivered', tries: 1, status: 204 }]);
    const event = await verifyWebhook({ body, headers, secrets: SECRET, now: () => timestamp * 1_000 });
    expect(event.data.id).toBe(id);
    await router.batches.stop();
  });

  it('has our headers in the spelling of the brand, with the same signature', async () => {
    const { receiver } = await told(undefined, undefined, 'openrouter');
    const { headers = {}, body = '' } = receiver.deliveries[0] ?? {};
    const timestamp = headers['webhook-timestamp'];
    const hex = createHmac('sha256', SECRET).update(`${timestamp},${body}`).digest('hex');
    expect(headers['x-openrouter-signature']).toBe(`t=${timestamp},v1=${hex}`);
    expect(headers['x-openrouter-idempotency-key']).toMatch(/-completed$/);
    expect(Object.keys(headers).filter((name) => name.startsWith('x-router-'))).toEqual([]);
  });

  it('is signed by both secrets while they are changed, and by none where there is none', async () => {
    const both = await told(undefined, { secrets: [NEXT_SECRET, SECRET] });
    const { headers = {}, body = '' } = both.receiver.deliveries[0] ?? {};
    const now = (): number => Number(headers['webhook-timestamp']) * 1_000;
    for (const secrets of [SECRET, NEXT_SECRET]) {
      expect(await verifyWebhook({ body, headers, secrets, now })).toMatchObject({ type: 'batch.completed' });
    }
    expect(headers['x-router-signature']?.match(/v1=/g)).toHaveLength(2);
    const none = await told(undefined, {});
    expect(none.receiver.deliveries[0]?.headers).not.toHaveProperty('webhook-signature');
    expect(none.receiver.deliveries[0]?.headers).toHaveProperty('webhook-id');
    await Promise.all([both, none].map(({ router }) => router.batches.stop()));
  });

  it('is told ten times in three days to who does not answer, always with the same id and bytes, then given up', async () => {
    const { receiver, events, warnings, advance, router, environment } = await told([
      'no answer',
      { status: 500 },
      { status: 302 },
      { status: 199 },
      { status: 300 },
    ]);
    await advance(100 * HOUR);
    const { deliveries } = receiver;
    expect(deliveries).toHaveLength(10);
    expect(new Set(deliveries.map(({ body, headers }) => `${headers['webhook-id']} ${body}`)).size).toBe(1);
    expect(new Set(deliveries.map(({ headers }) => headers['webhook-signature'])).size).toBe(10);
    const waits = deliveries.slice(1).map(({ at }, index) => at - (deliveries[index]?.at ?? 0));
    const schedule = [5_000, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR];
    for (const [index, planned] of schedule.entries()) {
      expect(waits[index]).toBeGreaterThanOrEqual(planned * 0.9);
      expect(waits[index]).toBeLessThanOrEqual(planned * 1.1 + 1_000);
    }
    expect(events.map(({ outcome }) => outcome)).toEqual([...Array.from({ length: 9 }, () => 'again'), 'given_up']);
    expect(warnings).toEqual(['webhook_given_up']);
    await router.batches.stop();
    expect(environment.pendingTimers).toBe(0);
  });

  it.each([
    [200, 'delivered', 1],
    [500, 'again', 2],
  ] as const)('was told by the status alone, whatever becomes of the body: %d', async (status, outcome, deliveries) => {
    const { receiver, advance, events, router } = await told([{ status, breaks: true }]);
    await advance(6_000);
    expect(receiver.deliveries).toHaveLength(deliveries);
    expect(events[0]).toMatchObject({ status, outcome });
    await router.batches.stop();
  });

  it('is told no more to who is gone', async () => {
    const { receiver, advance, router, warnings } = await told([{ status: 410 }]);
    await advance(100 * HOUR);
    expect(receiver.deliveries).toHaveLength(1);
    expect(warnings).toEqual(['webhook_given_up']);
    await router.batches.stop();
  });

  it('waits as long as a busy receiver asks for, up to a day', async () => {
    const headers = { 'retry-after': '7200' };
    const forever = { 'retry-after': '99999999' };
    const { receiver, advance, router } = await told([
      { status: 429, headers },
      { status: 503, headers: forever },
      { status: 204 },
    ]);
    await advance(50 * HOUR);
    const [first = 0, second = 0, third = 0] = receiver.deliveries.map(({ at }) => at);
    expect(second - first).toBeGreaterThanOrEqual(2 * HOUR);
    expect(second - first).toBeLessThan(2 * HOUR + 10_000);
    expect(third - second).toBeGreaterThanOrEqual(24 * HOUR);
    expect(receiver.deliveries).toHaveLength(3);
    await router.batches.stop();
  });

  it('is told for each of the four ends, and only where somebody wants to know', async () => {
    const environment = fakeEnvironment();
    const receiver = webhookReceiver(environment);
    const { router, ended, advance } = batchScene(
      {},
      { environment },
      { webhooks: { createTransport: receiver.createTransport } },
    );
    const silent = await router.batches.create(chatBatch(1));
    const wrong = { custom_id: 'a', body: { messages: [] } };
    const failed = await router.batches.create(chatBatch(0, { callback_url: HOOK_URL, requests: [wrong] }));
    const cancelled = await router.batches.create(chatBatch(1, { callback_url: HOOK_URL }));
    await router.batches.cancel(cancelled.id);
    await router.batches.start();
    for (const { id } of [silent, failed, cancelled]) await ended(id);
    await advance(10_000);
    const types = receiver.deliveries.map(({ body }) => (JSON.parse(body) as { type: string }).type);
    expect(types.toSorted()).toEqual(['batch.cancelled', 'batch.failed']);
    await router.batches.stop();
  });

  it('never goes to an address that is not public, whenever that shows', async () => {
    const scene = batchScene();
    for (const url of [
      'https://127.0.0.1/x',
      'https://[::1]/x',
      'https://localhost/x',
      'https://user:pass@example.com/',
      'ftp://example.com',
    ]) {
      expect(await refusal(scene.router.batches.create(chatBatch(1, { callback_url: url })))).toMatchObject({
        status: 400,
      });
    }
  });
});

describe('deliveries', () => {
  it('can be inspected: the last tries and the next one', async () => {
    const { router, id, advance } = await told([{ status: 500 }, { status: 204 }]);
    const { webhook: first } = await router.batches.retrieve(id);
    expect(first).toMatchObject({ status: 'pending', tries: 1, attempts: [{ status_code: 500 }] });
    expect((first?.next_attempt_at ?? 0) - (first?.attempts[0]?.at ?? 0)).toBeGreaterThanOrEqual(4);
    const { finalized_at: finalizedAt } = await router.batches.retrieve(id);
    await advance(MINUTE);
    const batch = await router.batches.retrieve(id);
    expect(batch.webhook).toMatchObject({
      status: 'delivered',
      tries: 2,
      attempts: [{ status_code: 500 }, { status_code: 204 }],
      next_attempt_at: null,
    });
    expect(batch.finalized_at).toBe(finalizedAt);
  });

  it('can be repeated by hand, with the same event', async () => {
    const { router, id, advance, receiver } = await told([{ status: 410 }, { status: 500 }, { status: 204 }]);
    expect((await router.batches.retrieve(id)).webhook).toMatchObject({ status: 'given_up', next_attempt_at: null });
    await router.batches.redeliver(id);
    await advance(MINUTE);
    expect(receiver.deliveries.map(({ headers }) => headers['webhook-id'])).toEqual(
      Array.from({ length: 3 }, () => `evt_${id}_completed`),
    );
    expect(new Set(receiver.deliveries.map(({ body }) => body)).size).toBe(1);
    expect((await router.batches.retrieve(id)).webhook).toMatchObject({ status: 'delivered', tries: 3 });
  });

  it('cannot be repeated where nobody is told, or before the end', async () => {
    const { router } = batchScene();
    const { id } = await router.batches.create(chatBatch(1));
    expect(await refusal(router.batches.redeliver(id))).toMatchObject({ status: 409 });
    const { id: waiting } = await router.batches.create(chatBatch(1, { callback_url: HOOK_URL }));
    expect(await refusal(router.batches.redeliver(waiting))).toMatchObject({
      status: 409,
      message: 'The batch is validating; its callback_url is notified once it has ended',
    });
    expect(await refusal(router.batches.redeliver('batch_none'))).toMatchObject({ status: 404 });
  });
});
