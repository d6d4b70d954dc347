import type { BatchRecord } from '../../core/batch/batch-record.ts';
import { isTerminal } from '../../core/batch/machine.ts';
import type { JsonObject } from '../../protocol/json.ts';
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

/** Claims of a task without any progress after which it may be what brings down whoever runs it. */
const SUSPECT_AFTER = 5;
/** Milliseconds that a task which is suspected is put off, at most. */
const LONGEST_PAUSE_MS = 600_000;
/** Times the window of a batch. After one of them its requests expire, which is the better end where it can be had. */
const GIVEN_UP_AFTER = 2;

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

  return (task, signals) =>
    task.attempts > SUSPECT_AFTER ? runSuspect(ports, task, () => run(task, signals)) : run(task, signals);
}

/**
 * A task that came to no end time and again may be to blame, or it was in the hands of processes that died of something
 * else. So it is put off before each further run, longer each time, and given up only long after the time of its batch:
 * every batch comes to an end, and no batch fails for what killed its processes.
 */
async function runSuspect(ports: BatchPorts, task: ClaimedTask, run: () => Promise<TaskResult>): Promise<TaskResult> {
  const { store, limits } = ports;
  const { attempts, effect } = task;
  const batch = await store.find(task.account, task.batchId);
  if (batch === undefined) return DONE;
  const { completed, failed } = batch.counts;
  const memo: JsonObject = { ...task.memo, putOffAt: attempts, settled: completed + failed };
  // Requests went on: a long batch lives through many processes.
  if (effect === 'run' && completed + failed > Number(task.memo?.['settled'] ?? 0)) {
    return { type: 'again', afterMs: 0, memo, reset: true };
  }
  const age = (await store.now()) - (batch.finalizedAt ?? batch.createdAt);
  if (age > GIVEN_UP_AFTER * limits.windowMs) return giveUp(ports, task, batch);
  if (task.memo?.['putOffAt'] === attempts - 1) return run();
  // Each run is two claims: one that puts the task off, and one that runs it.
  const runs = (attempts - SUSPECT_AFTER - 1) / 2;
  return { type: 'again', afterMs: Math.min(LONGEST_PAUSE_MS, limits.leaseMs * 2 ** runs), memo };
}

async function giveUp(ports: BatchPorts, { effect, attempts }: ClaimedTask, batch: BatchRecord): Promise<TaskResult> {
  const message = `The task to ${effect} batch ${batch.id} was begun ${attempts} times and never came to an end`;
  warn(ports.events, { code: 'batch_task', message });
  if (isTerminal(batch.status)) return DONE;
  const rejected = { type: 'rejected', message: 'The batch could not be processed' } as const;
  await applyEvent(ports, batch, effect === 'stop' ? { type: 'cancelled' } : rejected);
  return DONE;
}
