import { CANCELLED_ITEM } from '../../core/batch/item-error.ts';
import type { TaskResult, TaskSignals } from '../../queue/task-queue.ts';
import type { ClaimedTask } from '../../storage/batch-store.ts';
import { applyEvent } from './apply-event.ts';
import { stopNatively } from './native-run.ts';
import type { BatchPorts } from './ports.ts';
import { DONE, resultIds } from './task-results.ts';

/**
 * Brings a batch that is being cancelled to its end. Answers that came before are kept and counted, also those of a
 * provider's own batch; what has none is marked as cancelled, and an answer that comes after that is dropped.
 */
export async function stopTask(ports: BatchPorts, task: ClaimedTask, signals: TaskSignals): Promise<TaskResult> {
  const { store, failPoint } = ports;
  const batch = await store.find(task.account, task.batchId);
  if (batch?.status !== 'cancelling') return DONE;
  await failPoint('stop.started');
  const waiting = await stopNatively(ports, batch, task, signals);
  if (waiting !== undefined) return waiting;
  await store.failRemaining(task.account, task.batchId, CANCELLED_ITEM, resultIds(ports));
  await failPoint('stop.marked');
  await applyEvent(ports, batch, { type: 'cancelled' });
  return DONE;
}
