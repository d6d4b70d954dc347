import { timerMs } from '../../../platform/environment.ts';
import { extractText } from './extract-text.ts';
import { type RunPdfJob, tooSlow } from './pdf-job.ts';

/**
 * Reads files where there are no threads. Time is looked at between pages, and nothing limits memory but the runtime
 * itself.
 */
export function createPdfRunner(): RunPdfJob {
  return async (job, { timeoutMs }, signal) => {
    signal.throwIfAborted();
    const endsAt = performance.now() + timeoutMs;
    const late = AbortSignal.timeout(timerMs(timeoutMs));
    const stopped = AbortSignal.any([signal, late]);
    const reason = (): unknown => (signal.aborted ? signal.reason : tooSlow(timeoutMs));
    let stop: () => void = () => {};
    const interrupted = new Promise<never>((_resolve, reject) => {
      stop = () => reject(reason());
      stopped.addEventListener('abort', stop);
    });
    const reading = extractText(job, () => {
      if (stopped.aborted || performance.now() > endsAt) throw reason();
    });
    // Whoever was interrupted does not wait for the page that is being read.
    reading.catch(() => {});
    try {
      return await Promise.race([reading, interrupted]);
    } finally {
      stopped.removeEventListener('abort', stop);
    }
  };
}
