import { parentPort, workerData } from 'node:worker_threads';
import { guardAllocations } from './allocation-guard.ts';
import { extractText } from './extract-text.ts';
import type { PdfJob } from './pdf-job.ts';
import { type WorkerReply, replyOfError, tooMuchMemory } from './worker-reply.ts';

/** What the thread is started with. */
export interface WorkerStart {
  readonly job: PdfJob;
  readonly memoryMb: number;
}

/** Of the memory of a thread, the part that one buffer may take: growing one means having the old and the new. */
const BUFFER_SHARE = 0.25;

async function work({ job, memoryMb }: WorkerStart): Promise<WorkerReply> {
  let breached = false;
  guardAllocations(memoryMb * BUFFER_SHARE * 1_000_000, () => (breached = true));
  try {
    const text = await extractText(job);
    // The reader goes on without a part that it could not unfold; half a text would pass for the whole.
    return breached ? replyOfError(tooMuchMemory(memoryMb)) : { type: 'text', text };
  } catch (error) {
    return replyOfError(breached ? tooMuchMemory(memoryMb) : error);
  }
}

// This file is the first one of a thread, and nothing else.
void work(workerData as WorkerStart).then((reply) => parentPort?.postMessage(reply, []));
