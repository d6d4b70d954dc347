import type { BatchRecord } from '../../core/batch/batch-record.ts';
import { EXPIRED_ITEM } from '../../core/batch/item-error.ts';
import type { TaskResult, TaskSignals } from '../../queue/task-queue.ts';
import type { ClaimedTask } from '../../storage/batch-store.ts';
import { applyEvent } from './apply-event.ts';
import { ItemPool } from './item-pool.ts';
import { runNatively } from './native-run.ts';
import type { BatchPorts } from './ports.ts';
import { DONE, resultIds } from './task-results.ts';

/** Milliseconds after which a batch looks again for requests that somebody else held. */
const LOOK_AGAIN_MS = 1_000;
/** Runs in a row without a good end after which requests run one at a time: one of them may be to blame. */
const CAREFUL_AFTER = 3;

/** Runs the requests of a batch for a while, or watches over the batch at its provider. */
export async function runTask(ports: BatchPorts, task: ClaimedTask, signals: TaskSignals): Promise<TaskResult> {
  const { store, failPoint } = ports;
  const batch = await store.find(task.account, task.batchId);
  if (batch?.status !== 'in_progress') return DONE;
  await failPoint('run.started');
  if (task.memo?.['expiring'] === true) return expire(ports, batch);
  if (isDrained(batch)) return drained(ports, batch);
  const left = (batch.expiresAt ?? Infinity) - (await store.now());
  // First what is about to happen is written down: else nobody could tell an expired batch from a completed one, if
  // this process died after it had marked the last request.
  if (left <= 0 && batch.upstream === undefined) return { type: 'again', afterMs: 0, memo: { expiring: true } };
  const native = await runNatively(ports, batch, task, signals);
  if (native !== undefined) return native;
  return runItems(ports, batch, task, signals, left);
}

async function runItems(
  ports: BatchPorts,
  batch: BatchRecord,
  task: ClaimedTask,
  { signal, stopping }: TaskSignals,
  left: number,
): Promise<TaskResult> {
  const { store, environment, limits, watchers } = ports;
  const end = new AbortController();
  const turn = new AbortController();
  const abort = (): void => end.abort();
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  const unwatch = watchers.watch(batch.id, ({ status }) => {
    if (status !== 'in_progress') abort();
  });
  const slice = environment.setTimer(() => turn.abort(), limits.sliceMs);
  const expiry = environment.setTimer(abort, left);
  try {
    const perBatch = task.attempts >= CAREFUL_AFTER ? 1 : limits.perBatch;
    const signals = { signal: end.signal, stopping, yielding: turn.signal };
    const { exhausted } = await new ItemPool(ports, batch, await ports.accountOf(batch), signals, perBatch).run();
    const now = await store.find(batch.account, batch.id);
    if (now?.status !== 'in_progress') return DONE;
    if (isDrained(now)) return await drained(ports, now);
    return { type: 'again', afterMs: exhausted ? LOOK_AGAIN_MS : 0, reset: true };
  } finally {
    environment.clearTimer(slice);
    environment.clearTimer(expiry);
    unwatch();
    signal.removeEventListener('abort', abort);
  }
}

function isDrained({ counts }: BatchRecord): boolean {
  return counts.completed + counts.failed >= counts.total;
}

async function drained(ports: BatchPorts, batch: BatchRecord): Promise<TaskResult> {
  await ports.failPoint('run.drained');
  await applyEvent(ports, batch, { type: 'drained' });
  return DONE;
}

async function expire(ports: BatchPorts, batch: BatchRecord): Promise<TaskResult> {
  const { store, failPoint } = ports;
  await failPoint('run.expiring');
  await store.failRemaining(batch.account, batch.id, EXPIRED_ITEM, resultIds(ports));
  await applyEvent(ports, batch, { type: 'expired' });
  return DONE;
}
