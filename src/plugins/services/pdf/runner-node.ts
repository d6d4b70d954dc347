/** Runs the PDF reader on Node, in a thread of its own for each file. */
import { timerMs } from '../../../platform/environment.ts';
import { existsSync } from 'node:fs';
import process from 'node:process';
import { Worker } from 'node:worker_threads';
import type { PdfText } from '../../../contracts/pdf-reader.ts';
import {
  type PdfJob,
  type PdfResources,
  type RunPdfJob,
  textOfReply,
  tooMuchMemory,
  tooSlow,
  type WorkerReply,
} from './pdf-job.ts';
import { createPdfRunner as runInPlace } from './runner-inline.ts';
import type { WorkerStart } from './worker.ts';

/** Undefined in a bundle in the form of CommonJS. */
const HERE = import.meta.url as string | undefined;

/**
 * The file of the thread, beside this one: compiled in the package, as source in its own tests. Not written in one
 * expression with `import.meta`, in which webpack would copy that file alone, without those that it imports.
 */
const WORKER = HERE === undefined ? undefined : new URL(HERE.endsWith('.ts') ? './worker.ts' : './pdf-worker.js', HERE);

/**
 * Reads each file in a thread of its own, which is ended when it takes too long or too much, and does not see the
 * environment of the process. In a bundle, where the file of the thread is not beside this one, files are read in place,
 * and a warning of the process says so.
 */
export function createPdfRunner(): RunPdfJob {
  if (WORKER !== undefined && existsSync(WORKER)) return runInThread(WORKER);
  process.emitWarning(
    'PDFs are read where requests are answered, without a limit on memory, because the bundle lacks the file of the thread: let the bundler leave the package signalbox out (external) to have them read in a thread.',
    { code: 'SIGNALBOX_PDF_IN_PLACE' },
  );
  return runInPlace();
}

function runInThread(file: URL): RunPdfJob {
  return (job, resources, signal) =>
    new Promise<PdfText>((resolve, reject) => {
      signal.throwIfAborted();
      const worker = start(file, job, resources);
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

function start(file: URL, job: PdfJob, { memoryMb }: PdfResources): Worker {
  const workerData: WorkerStart = { job, memoryMb };
  const worker = new Worker(file, {
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
