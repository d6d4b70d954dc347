import type { BatchRecord } from '../../../core/batch/batch-record.ts';
import { FAILURE_RULES } from '../../../core/fallback/failure.ts';
import type {
  NativeBatches,
  NativeItem,
  NativeJob,
  NativeLookup,
  NativeReply,
} from '../../../contracts/native-batches.ts';
import type { TaskResult, TaskSignals } from '../../../contracts/task-queue.ts';
import type { ClaimedTask } from '../../../contracts/batch-store.ts';
import { canonical } from '../../../platform/json.ts';
import type { JsonObject } from '../../../protocol/json.ts';
import { isSilence, lookupOf, readItems, SeparateWays } from './route.ts';
import { findJob, halves, jobOfParts, type NativePart, nextPart, partsOf, upstreamOf } from './job.ts';
import { MAX_TRIES, NEXT_PART, RETRY_MS, triesOf, tryAgain } from './submit.ts';
import { applyEvent, type BatchPorts } from '../ports.ts';

/**
 * Hands over the next part of a batch. When it may have been handed over before, it is looked for first; when it is too
 * large still, it is divided.
 */
export async function submitPart(
  ports: BatchPorts,
  batch: BatchRecord,
  task: ClaimedTask,
  { signal, stopping }: TaskSignals,
): Promise<TaskResult> {
  const { memo = {}, attempts } = task;
  const next = await partToSubmit(ports, batch, signal);
  // Its provider is not configured now.
  if (next === undefined) return { type: 'again', afterMs: RETRY_MS, memo, reset: true };
  const { native, part, lookup } = next;
  const tries = triesOf(memo);
  const recorded = (changed: readonly NativePart[], expiresAt?: number): Promise<boolean> =>
    keepParts(ports, batch, next, changed, expiresAt);
  if (tries.submits > 0 || memo['lost'] === true || attempts > 1) {
    const found = await findPart(next);
    if (found === 'silence') return { type: 'again', afterMs: RETRY_MS, memo: { ...memo, lost: true }, reset: true };
    if (found !== undefined) {
      await recorded([{ ...part, job: found.job }], found.expiresAt);
      return NEXT_PART;
    }
  }
  if (stopping.aborted) return { type: 'again', afterMs: 0 };
  const account = await ports.accountOf(batch);
  const refused = async (refusal: string): Promise<TaskResult> => {
    if (batch.preferences?.allowFallbacks !== false) await recorded([{ ...part, own: true }]);
    else {
      const live = await findJob(ports, batch);
      await live?.native.cancel(live.call(signal));
      await applyEvent(ports, batch, { type: 'rejected', message: `The provider refused the batch: ${refusal}` });
    }
    return NEXT_PART;
  };
  if (tries.submits >= MAX_TRIES) return refused(tries.refusal ?? 'no answer');
  const items = (): AsyncIterable<NativeItem> => readItems(ports, batch, account, lookup.endpoint, part);
  let reply: NativeReply<NativeJob>;
  try {
    reply = await native.submit({ ...lookup, items });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof SeparateWays) return refused('its requests go different ways now');
    throw error;
  }
  if (reply.ok) {
    await ports.failPoint('run.submitted');
    const { job, expiresAt } = reply.value;
    // Somebody else has it too, or nobody wants it any more; the provider charges for what it does.
    if (!(await recorded([{ ...part, job }], expiresAt))) {
      await native.cancel({ ...lookup, signal: new AbortController().signal, job });
    }
    return NEXT_PART;
  }
  signal.throwIfAborted();
  const { kind, message } = reply.failure;
  if (kind === 'too_large' && lookup.total > 1) {
    await recorded(halves(part));
    return NEXT_PART;
  }
  return FAILURE_RULES[kind].next === 'endpoint' ? tryAgain(tries, reply.failure) : refused(message);
}

/** A part that is to be handed over, and what it is looked for with. */
interface PartToSubmit {
  readonly native: NativeBatches;
  readonly upstream: JsonObject;
  readonly parts: readonly NativePart[];
  readonly place: number;
  readonly part: NativePart;
  readonly lookup: NativeLookup;
}

/** The next part of a batch; undefined while its provider is not configured, and when there is none. */
export async function partToSubmit(
  ports: BatchPorts,
  batch: BatchRecord,
  signal: AbortSignal,
): Promise<PartToSubmit | undefined> {
  const { upstream } = batch;
  const live = await findJob(ports, batch);
  const native = live && ports.providers.get(live.provider)?.batches;
  const parts = live && partsOf(live.job);
  const place = nextPart(parts ?? []);
  const part = parts?.[place];
  if (live === undefined || native === undefined || part === undefined || upstream === undefined) return undefined;
  const account = await ports.accountOf(batch);
  const known = parts?.flatMap(({ job }) => (job === undefined ? [] : [job])) ?? [];
  const key = `${batch.id}_p${part.from}t${part.to}`;
  const lookup = { ...lookupOf(batch, account, live.upstream, signal), key, total: part.to - part.from, known };
  return { native, upstream, parts: parts ?? [], place, part, lookup };
}

/** Looks for a part that may have been handed over. */
export async function findPart({ native, lookup }: PartToSubmit): Promise<NativeJob | 'silence' | undefined> {
  const reply = await native.find?.(lookup);
  if (reply === undefined) return undefined;
  if (reply.ok) return reply.value;
  return isSilence(reply.failure) ? 'silence' : undefined;
}

/** Writes other parts in place of one. False when somebody else has changed them, or the batch has ended. */
export async function keepParts(
  ports: BatchPorts,
  batch: BatchRecord,
  { upstream, parts, place, lookup }: PartToSubmit,
  changed: readonly NativePart[],
  expiresAt?: number,
): Promise<boolean> {
  const { endpoint } = lookup;
  const all = [...parts.slice(0, place), ...changed, ...parts.slice(place + 1)];
  // The batch has time until the last of its parts has none.
  const known = parts.some(({ job }) => job !== undefined) ? (batch.expiresAt ?? 0) : 0;
  const next = upstreamOf(endpoint, jobOfParts(all));
  const outcome = await applyEvent(ports, batch, {
    type: 'assigned',
    provider: endpoint.providerName,
    expiresAt: expiresAt === undefined ? undefined : Math.max(expiresAt, known),
    upstream: next,
    replaces: upstream,
  });
  if (outcome === undefined || outcome.batch.status === 'cancelling') return false;
  return outcome.applied || canonical(outcome.batch.upstream ?? {}) === canonical(next);
}
