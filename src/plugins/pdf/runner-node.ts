import { timerMs } from '../../platform/environment.ts';
import { Worker } from 'node:worker_threads';
import type { PdfText } from '../../contracts/pdf-reader.ts';
import {
  type PdfJob,
  type PdfResources,
  type RunPdfJob,
  textOfReply,
  tooMuchMemory,
  tooSlow,
  type WorkerReply,
} from './pdf-job.ts';
import type { WorkerStart } from './worker.ts';

/** Beside this file: compiled in the package, as source in its own tests. */
const WORKER = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './pdf-worker.js', import.meta.url);

/**
 * Reads each file in a thread of its own, which is ended when it takes too long or too much, and does not see the
 * environment of the process.
 */
export function createPdfRunner(): RunPdfJob {
  return (job, resources, signal) =>
    new Promise<PdfText>((resolve, reject) => {
      signal.throwIfAborted();
      const worker = start(job, resources);
      const end = (settle: () => void): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', leave);
        void worker.terminate();
        settle();
      };
      const fail = (error: unknown): void => end(() => reject(error));
      const leave = (): void => fail(signal.reason);
      const timer = setTimeout(() => fail(tooSlow(resources.timeoutMs)), timerMs(resources.timeoutMs));
      signal.addEventListener('abort', leave);
      worker.on('message', (reply: WorkerReply) =>
        end(() => {
          try {
            resolve(textOfReply(reply));
          } catch (error) {
            reject(error);
          }
        }),
      );
      worker.on('error', (error: Error & { readonly code?: string }) =>
        fail(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? tooMuchMemory(resources.memoryMb) : error),
      );
      worker.on('exit', () => fail(new Error('The thread that reads PDFs ended without a word')));
    });
}

function start(job: PdfJob, { memoryMb }: PdfResources): Worker {
  const workerData: WorkerStart = { job, memoryMb };
  const worker = new Worker(WORKER, {
    workerData,
    name: 'pdf',
    env: {},
    execArgv: [],
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
  });
  worker.stdout.resume();
  worker.stderr.resume();
  return worker;
}
