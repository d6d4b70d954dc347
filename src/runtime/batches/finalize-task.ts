import { NO_USAGE, addUsage } from '../../core/batch/sum-usage.ts';
import type { Usage } from '../../protocol/usage.ts';
import type { TaskResult } from '../../queue/task-queue.ts';
import type { ClaimedTask } from '../../storage/batch-store.ts';
import { applyEvent } from './apply-event.ts';
import type { BatchPorts } from './ports.ts';
import { DONE } from './task-results.ts';

/** Outcomes that are read at a time. */
const PAGE = 50;

/** Adds up what the requests of a batch used and cost, and completes it. */
export async function finalizeTask(ports: BatchPorts, task: ClaimedTask): Promise<TaskResult> {
  const { store, failPoint } = ports;
  const batch = await store.find(task.account, task.batchId);
  if (batch?.status !== 'finalizing') return DONE;
  let total: Usage | undefined;
  for (let after = -1, outcomes; ; after = outcomes.at(-1)?.index ?? after) {
    outcomes = await store.outcomes(task.account, task.batchId, after, PAGE);
    if (outcomes.length === 0) break;
    for (const { usage } of outcomes) if (usage !== undefined) total = addUsage(total, usage);
    await failPoint('finalize.reading');
  }
  await failPoint('finalize.done');
  await applyEvent(ports, batch, { type: 'finalized', usage: total ?? NO_USAGE });
  return DONE;
}
