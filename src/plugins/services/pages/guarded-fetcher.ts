/** Fetches pages for models, through the guarded entry point to the network. */
import { OUTBOUND } from '../../../options/http.ts';
import { schemaOf } from '../../../options/option.ts';
import { timerMs } from '../../../platform/environment.ts';
import { checkShape } from '../../../platform/check-options.ts';
import { wholeNumber, milliseconds, type OptionShape, nonEmptyString } from '../../../options/values.ts';
import { OutboundError } from '../../../net/outbound-error.ts';
import { createOutbound, type OutboundOptions } from '../../../net/outbound.ts';
import { systemEnvironment } from '../../../platform/environment.ts';
import { PageError, type PageFetcher } from '../../../contracts/plugin-services.ts';
import { pdfReader, localPdfReader } from '../pdf/local-pdf-reader.ts';
import type { PdfReader } from '../../../contracts/pdf-reader.ts';
import { FairTurns } from '../fair-turns.ts';
import { type HtmlReader, readPage } from './page-text.ts';
import { nodeModule } from '../../../platform/node-module.ts';
import type { Outbound } from '../../../net/outbound-request.ts';

/** Options of {@link guardedFetcher}. */
export interface GuardedFetcherOptions {
  /** What may be called: ports, and hosts of your own network. Default: ports 80, 443 and 8443 of public hosts. */
  readonly outbound?: OutboundOptions | undefined;
  /** Bytes of a page that are read, after decompression; the rest is cut off. Default 5,000,000. */
  readonly maxBytes?: number | undefined;
  /** Milliseconds that a page may take, redirects included. Default 15,000. */
  readonly timeoutMs?: number | undefined;
  /** Redirects that are followed. Default 3. */
  readonly maxRedirects?: number | undefined;
  /** Reads PDFs. Default: `localPdfReader()`, which takes the optional package unpdf. */
  readonly pdf?: PdfReader | undefined;
  /** How we name ourselves to servers. Default `signalbox`. */
  readonly userAgent?: string | undefined;
}

/** Options of `guardedFetcher`. */
export const GUARDED_FETCHER_OPTIONS: OptionShape<GuardedFetcherOptions> = {
  outbound: schemaOf(OUTBOUND),
  maxBytes: wholeNumber(1),
  timeoutMs: milliseconds,
  maxRedirects: wholeNumber(0),
  pdf: pdfReader,
  userAgent: nonEmptyString,
};

const ACCEPT =
  'text/html, application/xhtml+xml, text/plain, text/markdown, application/json, application/pdf, */*;q=0.1';

/**
 * Fetches pages through the one entry point to addresses that users give, and reads HTML, text, JSON and PDF. HTML is
 * read by the optional package `defuddle` (with `linkedom`), where they are installed and the runtime is Node;
 * otherwise by a simple reader of our own.
 *
 * @param shared - Takes the place of an outbound of its own.
 */
export function guardedFetcher(options: GuardedFetcherOptions = {}, shared?: Outbound): PageFetcher {
  checkShape(GUARDED_FETCHER_OPTIONS, options, 'guardedFetcher');
  const { maxBytes = 5_000_000, timeoutMs = 15_000, maxRedirects = 3, userAgent = 'signalbox' } = options;
  const { pdf = localPdfReader() } = options;
  const outbound = shared ?? createOutbound(options.outbound ?? {}, systemEnvironment());
  const reader = htmlReader();
  return {
    async fetch({ url, admit, account, signal }) {
      const headers = ['accept', ACCEPT, 'accept-encoding', 'gzip, br', 'user-agent', userAgent];
      const request = { url, headers, admit, signal, maxBytes, timeoutMs, maxRedirects };
      const response = await outbound.fetch(request).catch((error: unknown) => {
        throw error instanceof OutboundError ? new PageError(error.message) : error;
      });
      const { status, body, truncated } = response;
      if (status < 200 || status > 299) throw new PageError(`The URL answered ${status}`);
      const page = { url: response.url, contentType: response.header('content-type'), body, truncated };
      return readPage(page, { html: reader.read, pdf }, { account, signal });
    },
    async close() {
      await Promise.all([outbound.close(), reader.close(), pdf.close?.()]);
    },
  };
}

/** Characters of a page beyond which finding its content would take longer than anybody waits. */
const MAX_LENGTH = 1_500_000;
/** Milliseconds that finding the content may take. */
const READING_MS = 3_000;

/**
 * Makes a reader of HTML: the optional package in a thread where there is one, else our own simple reader. That one
 * also reads what the other cannot, or not in time.
 */
export function htmlReader(readingMs = READING_MS): { readonly read: HtmlReader; close(): Promise<void> } {
  const worker = new ReaderWorker();
  const turns = new FairTurns(1);
  return {
    async read(html, url, { account, signal }) {
      if (worker.available && html.length <= MAX_LENGTH) {
        const read = await turns.take(account, signal, () => worker.read(html, url, readingMs));
        signal.throwIfAborted();
        if (read !== undefined && read.content.trim() !== '') {
          return { title: read.title === '' ? undefined : read.title, content: read.content };
        }
      }
      const { readHtml } = await import('./html-text.ts');
      const page = await readHtml(html, url);
      signal.throwIfAborted();
      return page;
    },
    close: () => worker.close(),
  };
}

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
type WorkerResult = { readonly title: string; readonly content: string } | undefined;

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

const threads = nodeModule<ThreadModule>('node:worker_threads');

/**
 * The optional package `defuddle` in a thread of its own, one page at a time. Finding the content of a page takes it
 * seconds for pages that are made to take long, so it must not run where requests are answered, and is stopped when it
 * takes too long. The thread is started on first use and kept; it does not keep the process alive.
 */
class ReaderWorker {
  #thread: Thread | undefined;
  #answered: ((answer: WorkerAnswer | undefined) => void) | undefined;
  #installed = threads !== undefined;

  /** False where it is known that the package or threads are missing. */
  get available(): boolean {
    return this.#installed;
  }

  async close(): Promise<void> {
    await this.#stop();
  }

  /** Reads a page, one after the other. */
  async read(html: string, url: string, timeoutMs: number): Promise<WorkerResult> {
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
      const timer = setTimeout(() => this.#settle(undefined), timerMs(timeoutMs));
      const answered = (answer: WorkerAnswer | undefined): void => {
        clearTimeout(timer);
        resolve(answer);
      };
      this.#answered = answered;
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
