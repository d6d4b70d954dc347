import { checkShape, milliseconds, type OptionShape, text } from '../../platform/option-kinds.ts';
import { OutboundError } from '../../net/outbound-url.ts';
import { createOutbound, type Outbound, type OutboundOptions } from '../../net/outbound.ts';
import { systemEnvironment } from '../../platform/environment.ts';
import { PageError, type PageFetcher } from '../../contracts/page-fetcher.ts';
import { localPdfReader } from '../pdf/local-pdf-reader.ts';
import type { PdfReader } from '../../contracts/pdf-reader.ts';
import { type HtmlReader, readPage } from './page-text.ts';
import { count, outboundKind, pdfReaderKind, positive } from '../option-kinds.ts';
import { ReaderWorker } from './reader-worker.ts';

/** Options of {@link guardedFetcher}. */
export interface GuardedFetcherOptions {
  /** What may be asked: ports, and hosts of your own network. Default: ports 80, 443 and 8443 of public hosts. */
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
  outbound: outboundKind,
  maxBytes: positive,
  timeoutMs: milliseconds,
  maxRedirects: count,
  pdf: pdfReaderKind,
  userAgent: text,
};

const ACCEPT =
  'text/html, application/xhtml+xml, text/plain, text/markdown, application/json, application/pdf, */*;q=0.1';

/**
 * Fetches pages through the one entry point to addresses that users give, and reads HTML, text, JSON and PDF. HTML is
 * read by the optional package `defuddle` (with `linkedom`), where they are installed and the runtime is Node;
 * otherwise by a simple reader of our own.
 *
 * @param door - Takes the place of an entry point of its own.
 */
export function guardedFetcher(options: GuardedFetcherOptions = {}, door?: Outbound): PageFetcher {
  checkShape(GUARDED_FETCHER_OPTIONS, options, 'guardedFetcher');
  const { maxBytes = 5_000_000, timeoutMs = 15_000, maxRedirects = 3, userAgent = 'signalbox' } = options;
  const { pdf = localPdfReader() } = options;
  const outbound = door ?? createOutbound(options.outbound ?? {}, systemEnvironment());
  const reader = htmlReader();
  return {
    async fetch({ url, admit, signal }) {
      const headers = ['accept', ACCEPT, 'accept-encoding', 'gzip, br', 'user-agent', userAgent];
      const request = { url, headers, admit, signal, maxBytes, timeoutMs, maxRedirects };
      const response = await outbound.fetch(request).catch((error: unknown) => {
        throw error instanceof OutboundError ? new PageError(error.message) : error;
      });
      const { status, body, truncated } = response;
      if (status < 200 || status > 299) throw new PageError(`The URL answered ${status}`);
      const page = { url: response.url, contentType: response.header('content-type'), body, truncated };
      return readPage(page, { html: reader.read, pdf }, signal);
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
  return {
    async read(html, url, signal) {
      if (worker.available && html.length <= MAX_LENGTH) {
        const read = await worker.read(html, url, readingMs, signal);
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
