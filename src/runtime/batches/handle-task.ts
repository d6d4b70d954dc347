import { isTerminal } from '../../core/batch/machine.ts';
import type { TaskHandler, TaskResult, TaskSignals } from '../../queue/task-queue.ts';
import type { ClaimedTask } from '../../storage/batch-store.ts';
import { warn } from '../warn.ts';
import { applyEvent } from './apply-event.ts';
import { finalizeTask } from './finalize-task.ts';
import { Notifier } from './notify-task.ts';
import type { BatchPorts } from './ports.ts';
import { runTask } from './run-task.ts';
import { stopTask } from './stop-task.ts';
import { DONE } from './task-results.ts';
import { validateTask } from './validate-task.ts';

/**
 * Runs of one task without any progress after which it is given up, so that every batch comes to an end. With the
 * waits between them this is more than a quarter of an hour of a store or a process that fails.
 */
const MAX_ATTEMPTS = 25;

/** Runs the tasks of batches. Each may be run twice, by two processes, or only in part: the store makes that harmless. */
export function taskHandler(ports: BatchPorts): TaskHandler {
  const notifier = new Notifier();

  function run(task: ClaimedTask, signals: TaskSignals): Promise<TaskResult> {
    switch (task.effect) {
      case 'validate':
        return validateTask(ports, task, signals);
      case 'run':
        return runTask(ports, task, signals);
      case 'finalize':
        return finalizeTask(ports, task);
      case 'stop':
        return stopTask(ports, task, signals);
      case 'notify':
        return notifier.run(ports, task, signals);
    }
  }

  return (task, signals) => (task.attempts > MAX_ATTEMPTS ? giveUp(ports, task) : run(task, signals));
}

/** Processes may die often while a long batch goes on all the same: only who stands still is given up. */
async function giveUp(ports: BatchPorts, task: ClaimedTask): Promise<TaskResult> {
  const { store, events } = ports;
  const { account, batchId: id, effect, memo } = task;
  const batch = await store.find(account, id);
  const settled = batch === undefined ? 0 : batch.counts.completed + batch.counts.failed;
  if (effect === 'run' && settled > Number(memo?.['settled'] ?? 0)) {
    return { type: 'again', afterMs: 0, memo: { ...memo, settled }, reset: true };
  }
  warn(events, { code: 'batch_task', message: `The task to ${effect} batch ${id} failed ${MAX_ATTEMPTS} times` });
  if (batch === undefined || isTerminal(batch.status)) return DONE;
  const rejected = { type: 'rejected', message: 'The batch could not be processed' } as const;
  await applyEvent(ports, batch, effect === 'stop' ? { type: 'cancelled' } : rejected);
  return DONE;
}
