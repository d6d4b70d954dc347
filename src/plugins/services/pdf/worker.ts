/** The program of the thread that reads one PDF. */
import { parentPort, workerData } from 'node:worker_threads';
import { extractText } from './extract-text.ts';
import { type PdfJob, replyOfError, tooMuchMemory, type WorkerReply } from './pdf-job.ts';

/**
 * Makes single allocations above a limit throw, in the thread where it is called. A compressed stream of a megabyte
 * can unfold to a gigabyte, and limits on the heap of a thread do not count such buffers.
 *
 * @param maxBytes - Bytes of one buffer.
 * @param onBreach - Called when something wanted more.
 */
function guardAllocations(maxBytes: number, onBreach: () => void): void {
  // The platform's own decompression grows outside of what can be watched; without it, the reader uses its own.
  Reflect.deleteProperty(globalThis, 'DecompressionStream');
  for (const name of BUFFERS) {
    const original = globalThis[name];
    const unit = 'BYTES_PER_ELEMENT' in original ? original.BYTES_PER_ELEMENT : 1;
    const guarded: typeof original = new Proxy(original, {
      construct(target, given: readonly unknown[], newTarget) {
        const [size] = given;
        if (typeof size === 'number' && size * unit > maxBytes) {
          onBreach();
          throw new RangeError('The buffer is larger than is allowed');
        }
        return Reflect.construct(target, given, newTarget === guarded ? target : newTarget) as object;
      },
    });
    Object.defineProperty(globalThis, name, { value: guarded, configurable: true, writable: true });
  }
}

const BUFFERS = [
  'ArrayBuffer',
  'Uint8Array',
  'Uint8ClampedArray',
  'Int8Array',
  'Uint16Array',
  'Int16Array',
  'Uint32Array',
  'Int32Array',
  'Float32Array',
  'Float64Array',
] as const;

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
