import type { BatchRecord } from '../../core/batch/batch-record.ts';
import { isTerminal } from '../../core/batch/machine.ts';
import { webhookEvent } from '../../core/batch/webhook-event.ts';
import { WEBHOOK_TRIES, afterWebhookTry } from '../../core/batch/webhook-schedule.ts';
import { wireBatch } from '../../core/batch/wire-batch.ts';
import type { TaskResult, TaskSignals } from '../../queue/task-queue.ts';
import type { ClaimedTask } from '../../storage/batch-store.ts';
import { warn } from '../warn.ts';
import { deliverWebhook } from '../webhooks/deliver-webhook.ts';
import type { BatchPorts } from './ports.ts';
import { DONE } from './task-results.ts';

/** Deliveries to one host at a time: one that is dead or slow must not hold up the others. */
const PER_HOST = 2;
/** Milliseconds until a delivery looks again whether its host is free. */
const HOST_BUSY_MS = 1_000;

/** Tells a receiver that a batch has ended. At least once, and always with the same id (gaps 8.8). */
export class Notifier {
  readonly #busy = new Map<string, number>();

  async run(ports: BatchPorts, task: ClaimedTask, { signal }: TaskSignals): Promise<TaskResult> {
    const batch = await ports.store.find(task.account, task.batchId);
    if (batch?.callbackUrl === undefined || !isTerminal(batch.status)) return DONE;
    await ports.failPoint('notify.started');
    const { host } = new URL(batch.callbackUrl);
    const inside = this.#busy.get(host) ?? 0;
    if (inside >= PER_HOST) return { type: 'again', afterMs: HOST_BUSY_MS, reset: true };
    this.#busy.set(host, inside + 1);
    try {
      return await this.#deliver(ports, batch, batch.callbackUrl, task, signal);
    } finally {
      const left = (this.#busy.get(host) ?? 1) - 1;
      if (left > 0) this.#busy.set(host, left);
      else this.#busy.delete(host);
    }
  }

  async #deliver(
    ports: BatchPorts,
    batch: BatchRecord,
    url: string,
    task: ClaimedTask,
    signal: AbortSignal,
  ): Promise<TaskResult> {
    const { environment, events, failPoint } = ports;
    const event = webhookEvent(batch);
    const idempotencyKey = `${batch.id}-${batch.status}`;
    const webhook = { url, id: event.id, idempotencyKey, body: JSON.stringify(event) };
    const tries = triesOf(task) + 1;
    const tried = await deliverWebhook(webhook, ports.webhooks, signal);
    await failPoint('notify.sent');
    const next = afterWebhookTry(tried, tries, environment.random());
    if (events.heard('batch')) {
      const { account } = batch;
      const { status } = tried;
      events.emit('batch', { type: 'webhook', account, batch: wireBatch(batch), outcome: next.type, tries, status });
    }
    if (next.type === 'again') {
      await failPoint('notify.deferred');
      return { type: 'again', afterMs: next.afterMs, memo: { tries }, reset: true };
    }
    if (next.type === 'given_up') {
      const why = next.reason === 'gone' ? 'its receiver wants no more (410)' : `${WEBHOOK_TRIES} tries failed`;
      warn(events, { code: 'webhook_given_up', message: `The webhook of batch ${batch.id} was given up: ${why}` });
    }
    return DONE;
  }
}

function triesOf({ memo }: ClaimedTask): number {
  const tries = memo?.['tries'];
  return typeof tries === 'number' ? tries : 0;
}
