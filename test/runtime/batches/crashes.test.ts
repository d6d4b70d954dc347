import { FAIL_POINTS, type FailPoint } from '../../../src/runtime/batches/ports.ts';
import { fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { memoryStorage } from '../../../src/storage/memory-storage.ts';
import {
  type Behave,
  all,
  answer,
  batchProvider,
  batchScene,
  chatBatch,
  pausableStore,
} from '../../support/batches.ts';
import { nativeProvider } from '../../support/native-provider.ts';
import { HOOK_URL, type ReceiverAnswer, webhookReceiver } from '../../support/webhook-receiver.ts';

const REQUESTS = 12;

/** What a batch must go through to come to a place. */
interface Story {
  readonly ends: 'completed' | 'cancelled' | 'expired';
  readonly native?: boolean;
  readonly receiver?: readonly ReceiverAnswer[];
}

const STORIES: Readonly<Partial<Record<FailPoint, Story>>> = {
  'run.submitted': { ends: 'completed', native: true },
  'run.expiring': { ends: 'expired' },
  'stop.started': { ends: 'cancelled' },
  'stop.marked': { ends: 'cancelled' },
  'notify.deferred': { ends: 'completed', receiver: [{ status: 500 }, { status: 204 }] },
};

/**
 * Two processes on one store. The first one stops at a place, for ever or until the second one is done, and the second
 * one brings the batch to its end.
 */
async function survive(point: FailPoint, goesOn: boolean) {
  const story = STORIES[point] ?? { ends: 'completed' };
  const environment = fakeEnvironment();
  const store = memoryStorage({ now: environment.wallClock });
  const mortal = pausableStore(store);
  const receiver = webhookReceiver(environment, story.receiver);
  const webhooks = { createTransport: receiver.createTransport };
  // A day of looks for other work would be most of the test.
  const constants = { webhooks, batches: { perBatch: 4, ...(story.ends === 'expired' && { helpMs: 0 }) } };
  let reached = 0;
  let resume: () => void = () => {};
  const failPoint = (name: FailPoint): Promise<void> | undefined => {
    if (name !== point || reached > 0) return undefined;
    reached += 1;
    mortal.pause();
    return new Promise((resolve) => (resume = resolve));
  };
  const behave: Behave = ({ number }) =>
    story.ends === 'completed' || number < 3 ? answer('ok') : new Promise(() => {});
  const providerOf = () => (story.native === true ? nativeProvider('up') : batchProvider('up', behave));
  const [one, two] = [providerOf(), providerOf()];
  const timeouts = { totalMs: 200_000_000, answerMs: 190_000_000 };
  const first = batchScene(
    { providers: [one], timeouts },
    { environment, store: mortal.store },
    { ...constants, failPoint },
  );
  const second = batchScene({ providers: [two], timeouts }, { environment, store }, constants);

  const body = chatBatch(REQUESTS, { callback_url: HOOK_URL });
  await first.router.batches.start();
  void first.router.batches.create(body, { idempotencyKey: 'once' }).catch(() => {});
  await first.advance(1_000);
  if (point.startsWith('create.')) await second.router.batches.create(body, { idempotencyKey: 'once' });
  const { data } = await second.router.batches.list();
  expect(data).toHaveLength(1);
  const id = data[0]?.id ?? '';
  if (story.ends === 'cancelled') await second.router.batches.cancel(id).catch(() => {});
  if (story.ends === 'expired') await first.advance(86_400_000);
  await first.advance(20_000);
  expect(reached).toBe(1);
  await second.router.batches.start();
  await second.advance(120_000);
  if (goesOn) {
    mortal.goOn();
    resume();
  }
  const batch = await second.ended(id);
  await second.advance(120_000);
  await second.router.batches.stop({ graceMs: 0 });
  return { batch, story, store, receiver, calls: one.calls.length + two.calls.length, second };
}

const CASES = FAIL_POINTS.flatMap((point) => [[point, 'dies', false] as const, [point, 'is paused', true] as const]);

describe('a process that stops at a named place', () => {
  it.each(CASES)('%s: when it %s there, another one brings the batch to its end', async (point, _verb, goesOn) => {
    const { batch, story, store, receiver, calls, second } = await survive(point, goesOn);
    expect(batch.status).toBe(story.ends);
    const { total, completed, failed } = batch.request_counts;
    expect([total, completed + failed]).toEqual([REQUESTS, REQUESTS]);
    expect(await store.recount('anonymous', batch.id)).toEqual({ completed, failed });
    if (story.ends === 'completed') {
      const results = await all(second.router.batches.results(batch.id));
      expect(results.map(({ custom_id: name }) => name)).toEqual(
        Array.from({ length: REQUESTS }, (_, index) => `r${index}`),
      );
      expect(batch.usage?.total_tokens).toBe(15 * REQUESTS);
    }
    // Each request once, and once more those of the process that stopped: four under way, four that were not stored yet.
    expect(calls).toBeLessThanOrEqual(REQUESTS + 4 + 4);
    const told = new Set(receiver.deliveries.map(({ headers, body }) => `${headers['webhook-id']} ${body}`));
    expect(told.size).toBe(1);
    expect([...told][0]).toContain(`"type":"batch.${story.ends}"`);
    // Nothing is left to be done, and nothing half made.
    expect(await store.nextTaskIn()).toBeUndefined();
  });
});
