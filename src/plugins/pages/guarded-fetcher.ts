import { checkShape, milliseconds, type OptionShape, text } from '../../core/options/option-kinds.ts';
import { OutboundError } from '../../outbound/outbound-error.ts';
import { type Outbound, type OutboundOptions, createOutbound } from '../../outbound/outbound.ts';
import { systemEnvironment } from '../../runtime/environment.ts';
import { PageError, type PageFetcher } from '../ports/page-fetcher.ts';
import { localPdfReader } from '../pdf/local-pdf-reader.ts';
import type { PdfReader } from '../ports/pdf-reader.ts';
import { htmlReader } from './html-reader.ts';
import { readPage } from './page-text.ts';
import { count, outboundKind, pdfReaderKind, positive } from '../option-kinds.ts';

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
 * Fetches pages through the one door to addresses that users give, and reads HTML, text, JSON and PDF. HTML is read by
 * the optional package `defuddle` (with `linkedom`), where they are installed and the runtime is Node; otherwise by a
 * simple reader of our own.
 *
 * @param door - Takes the place of a door of its own.
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
