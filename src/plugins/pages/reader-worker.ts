/** The part of a thread of Node that we use. Reached without an import, which other runtimes could not follow. */
interface Thread {
  on(event: 'message', listener: (message: WorkerAnswer) => void): unknown;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  on(event: 'exit', listener: () => void): unknown;
  postMessage(message: object, transferred: readonly never[]): void;
  terminate(): Promise<unknown>;
  ref(): void;
  unref(): void;
}

interface ThreadModule {
  readonly Worker: new (source: string, options: object) => Thread;
}

/** What the thread sends: `ready` tells whether the reader is installed. */
type WorkerAnswer = { readonly ready: boolean } | { readonly title?: unknown; readonly content?: unknown };

/** What was read; undefined when the reader could not, or not in time. */
export type WorkerResult = { readonly title: string; readonly content: string } | undefined;

/**
 * Runs in the thread. The reader may look for more content at services of strangers, which is switched off twice: it is
 * told not to, and it has nothing to do it with.
 */
const SOURCE = `
const { parentPort, workerData } = require('node:worker_threads');
globalThis.fetch = undefined;
globalThis.WebSocket = undefined;
const loaded = import(workerData.reader).catch(() => import('defuddle/node'));
loaded.then(() => parentPort.postMessage({ ready: true }), () => parentPort.postMessage({ ready: false }));
parentPort.on('message', async ({ html, url }) => {
  try {
    const { Defuddle } = await loaded;
    const { title, content } = await Defuddle(html, url, { markdown: true, useAsync: false });
    parentPort.postMessage({ title, content });
  } catch {
    parentPort.postMessage({});
  }
});
`;

/** Megabytes that reading a page may take. */
const MAX_MEGABYTES = 256;
/** Milliseconds to load the reader. */
const LOAD_MS = 10_000;

const threads = (
  globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } }
).process?.getBuiltinModule?.('node:worker_threads') as ThreadModule | undefined;

/**
 * The optional package `defuddle` in a thread of its own, one page at a time. Finding the content of a page takes it
 * seconds for pages that are made to take long, so it must not run where requests are answered, and is stopped when it
 * takes too long. The thread is started on first use and kept; it does not keep the process alive.
 */
export class ReaderWorker {
  #thread: Thread | undefined;
  #answered: ((answer: WorkerAnswer | undefined) => void) | undefined;
  #queue: Promise<unknown> = Promise.resolve();
  #installed = threads !== undefined;

  /** False where it is known that the package or threads are missing. */
  get available(): boolean {
    return this.#installed;
  }

  /** Reads one page when those before it are done. */
  read(html: string, url: string, timeoutMs: number, signal: AbortSignal): Promise<WorkerResult> {
    const result = this.#queue.then(() => (signal.aborted ? undefined : this.#readNow(html, url, timeoutMs)));
    this.#queue = result;
    return result;
  }

  async close(): Promise<void> {
    await this.#stop();
  }

  async #readNow(html: string, url: string, timeoutMs: number): Promise<WorkerResult> {
    const thread = await this.#started();
    if (thread === undefined) return undefined;
    thread.ref();
    thread.postMessage({ html, url }, []);
    const answer = await this.#answer(timeoutMs);
    thread.unref();
    if (answer === undefined) await this.#stop();
    if (answer === undefined || !('content' in answer)) return undefined;
    const { title, content } = answer;
    return typeof content === 'string' ? { title: typeof title === 'string' ? title : '', content } : undefined;
  }

  async #started(): Promise<Thread | undefined> {
    if (!this.#installed || threads === undefined) return undefined;
    if (this.#thread !== undefined) return this.#thread;
    const thread = new threads.Worker(SOURCE, {
      eval: true,
      env: {},
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: MAX_MEGABYTES },
      workerData: { reader: locationOfReader() },
    });
    this.#thread = thread;
    const settle = (answer: WorkerAnswer | undefined): void => {
      if (this.#thread === thread) this.#settle(answer);
    };
    thread.on('message', settle);
    thread.on('error', () => settle(undefined));
    thread.on('exit', () => {
      settle(undefined);
      if (this.#thread === thread) this.#thread = undefined;
    });
    const first = await this.#answer(LOAD_MS);
    if (first === undefined || !('ready' in first) || !first.ready) {
      this.#installed = first !== undefined && 'ready' in first ? first.ready : this.#installed;
      await this.#stop();
      return undefined;
    }
    return thread;
  }

  /** The next thing that the thread says; undefined when it says nothing in time, or is gone. */
  #answer(timeoutMs: number): Promise<WorkerAnswer | undefined> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#settle(undefined), timeoutMs);
      this.#answered = (answer) => {
        clearTimeout(timer);
        resolve(answer);
      };
    });
  }

  #settle(answer: WorkerAnswer | undefined): void {
    const answered = this.#answered;
    this.#answered = undefined;
    answered?.(answer);
  }

  async #stop(): Promise<void> {
    const thread = this.#thread;
    this.#thread = undefined;
    this.#settle(undefined);
    await thread?.terminate();
  }
}

/** Where the package is for this file; the thread, whose source has no place of its own, looks from the working folder. */
function locationOfReader(): string {
  const specifier = 'defuddle/node';
  try {
    return import.meta.resolve(specifier);
  } catch {
    return specifier;
  }
}
