/** Delivers the webhooks of batches. */
import type { Brand } from '../../options/http.ts';
import type { ClaimedTask } from '../../contracts/batch-store.ts';
import type { TaskResult, TaskSignals } from '../../contracts/task-queue.ts';
import { webhookEvent } from '../../core/batch/batch-record.ts';
import { isTerminal } from '../../core/batch/machine.ts';
import { afterWebhookTry, WEBHOOK_TRIES, webhookStateAfter } from '../../core/batch/webhook-schedule.ts';
import { wireBatch } from '../../core/batch/wire-batch.ts';
import { parseHttpDate } from '../../core/fallback/http-date.ts';
import { OutboundError } from '../../net/outbound-error.ts';
import type { Secret } from '../../platform/secret.ts';
import { hmacBytes, hmacSha256 } from '../../platform/hash.ts';
import * as read from '../../platform/json.ts';
import { warn } from '../events/events.ts';
import type { BatchPorts, WebhookPorts } from './ports.ts';
import { toBase64 } from '../../platform/data-url.ts';
import { bytesOfSecret } from './verify-webhook.ts';
import type { BatchRecord, WebhookTry } from '../../contracts/batch-record.ts';
import { applyEvent, DONE } from './apply-event.ts';
import type { OutboundStream } from '../../net/outbound-request.ts';

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
    const { callbackUrl } = batch;
    await ports.failPoint('notify.started');
    const { host } = new URL(callbackUrl);
    const inside = this.#busy.get(host) ?? 0;
    if (inside >= PER_HOST) return { type: 'again', afterMs: HOST_BUSY_MS, reset: true };
    this.#busy.set(host, inside + 1);
    try {
      return await this.#deliver(ports, { ...batch, callbackUrl }, task, signal);
    } finally {
      const left = (this.#busy.get(host) ?? 1) - 1;
      if (left > 0) this.#busy.set(host, left);
      else this.#busy.delete(host);
    }
  }

  async #deliver(
    ports: BatchPorts,
    batch: BatchRecord & { readonly callbackUrl: string },
    task: ClaimedTask,
    signal: AbortSignal,
  ): Promise<TaskResult> {
    const { environment, events, failPoint } = ports;
    const event = webhookEvent(batch, (milliseconds) => new Date(milliseconds).toISOString());
    const idempotencyKey = `${batch.id}-${batch.status}`;
    const webhook = { url: batch.callbackUrl, id: event.id, idempotencyKey, body: JSON.stringify(event) };
    const tries = (read.number(task.memo?.['tries']) ?? 0) + 1;
    const tried = await deliverWebhook(webhook, ports.webhooks, signal);
    await failPoint('notify.sent');
    const next = afterWebhookTry(tried, tries, environment.random());
    await remember(ports, batch, tried, next);
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
      const why = next.reason === 'gone' ? 'its receiver answered 410 (Gone)' : `${WEBHOOK_TRIES} tries failed`;
      warn(events, { code: 'webhook_given_up', message: `The webhook of batch ${batch.id} was given up: ${why}` });
    }
    return DONE;
  }
}

/** Writes down how a try went, for those who look. Not worth another delivery when it fails. */
async function remember(
  ports: BatchPorts,
  batch: BatchRecord,
  tried: WebhookTry,
  next: ReturnType<typeof afterWebhookTry>,
): Promise<void> {
  try {
    const webhook = webhookStateAfter(batch.webhook, tried, next, await ports.store.now());
    await applyEvent(ports, batch, { type: 'webhook_delivered', webhook });
  } catch {
    // The task is what counts.
  }
}

/** An event on its way. */
interface Webhook {
  readonly url: string;
  /** Id of the event, the same at every try. */
  readonly id: string;
  /** Value of `x-router-idempotency-key`, or what the brand calls it; the same at every try. */
  readonly idempotencyKey: string;
  readonly body: string;
}

/** Milliseconds that a receiver may take for everything. */
const TIMEOUT_MS = 15_000;
/** Bytes of its answer that are read. */
const MAX_ANSWER_BYTES = 20_000;

/** Tries once to deliver an event. Never rejects, unless the signal is aborted. */
export async function deliverWebhook(webhook: Webhook, ports: WebhookPorts, signal: AbortSignal): Promise<WebhookTry> {
  const { outbound, environment, secrets, brand } = ports;
  const { url, id, idempotencyKey, body } = webhook;
  const timestamp = Math.floor(environment.wallClock() / 1_000);
  const signed = await webhookHeaders({ id, timestamp, body }, secrets, brand);
  const headers = ['content-type', 'application/json', 'user-agent', 'signalbox', ...signed];
  try {
    const answer = await outbound.open({
      url,
      method: 'POST',
      headers: [...headers, `x-${brand}-idempotency-key`, idempotencyKey],
      body,
      signal,
      schemes: 'https',
      maxBytes: MAX_ANSWER_BYTES,
      timeoutMs: TIMEOUT_MS,
    });
    const tried = { status: answer.status, retryAfterMs: waitOf(answer, environment.wallClock()) };
    // The status says it all; what follows is read for the sake of the connection, and may end early.
    try {
      while ((await answer.read()) !== undefined);
    } catch {}
    return tried;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof OutboundError) return {};
    throw error;
  }
}

/** Receivers may request a day; so their wait is not cut to the hour that providers get. */
function waitOf({ header }: OutboundStream, now: number): number | undefined {
  const value = header('retry-after')?.trim();
  if (value === undefined) return undefined;
  if (/^\d{1,10}$/.test(value)) return Number(value) * 1_000;
  const date = parseHttpDate(value);
  return date === undefined ? undefined : Math.max(0, date - now);
}

/** One delivery, as it is signed. */
interface SignedDelivery {
  /** Id of the event. */
  readonly id: string;
  /** Unix seconds of this try. */
  readonly timestamp: number;
  readonly body: string;
}

/**
 * Headers that prove where a webhook comes from: those of Standard Webhooks, and `x-router-signature` (gaps 0.2, 8.8), over
 * the same bytes. Every secret signs, so that receivers can be moved from one to the other. The first kind is keyed with
 * the bytes behind `whsec_`, the second with the secret's text.
 *
 * @returns Names and values in turn. Without secrets only the id and the time.
 */
export async function webhookHeaders(
  delivery: SignedDelivery,
  secrets: readonly Secret[],
  brand: Brand,
): Promise<readonly string[]> {
  const { id, timestamp, body } = delivery;
  const headers = ['webhook-id', id, 'webhook-timestamp', String(timestamp)];
  if (secrets.length === 0) return headers;
  const standard = secrets.map(async (secret) => {
    const mac = await hmacBytes(bytesOfSecret(secret.reveal()), `${id}.${timestamp}.${body}`);
    return `v1,${toBase64(mac)}`;
  });
  const plain = secrets.map(async (secret) => `v1=${await hmacSha256(secret.reveal(), `${timestamp},${body}`)}`);
  return [
    ...headers,
    'webhook-signature',
    (await Promise.all(standard)).join(' '),
    `x-${brand}-signature`,
    [`t=${timestamp}`, ...(await Promise.all(plain))].join(','),
  ];
}
