import { readHtml } from './html-text.ts';
import type { HtmlReader } from './page-text.ts';
import { ReaderWorker } from './reader-worker.ts';

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
  return {
    async read(html, url, signal) {
      if (worker.available && html.length <= MAX_LENGTH) {
        const read = await worker.read(html, url, readingMs, signal);
        signal.throwIfAborted();
        if (read !== undefined && read.content.trim() !== '') {
          return { title: read.title === '' ? undefined : read.title, content: read.content };
        }
      }
      return readHtml(html, url);
    },
    close: () => worker.close(),
  };
}
