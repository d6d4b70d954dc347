import { type FetchedPage, PageError } from '../ports/page-fetcher.ts';
import { PdfError, type PdfReader } from '../ports/pdf-reader.ts';
import { decodeText } from './decode-text.ts';
import type { ReadablePage } from './html-text.ts';
import { kindOf } from './media-type.ts';
import { plainText } from './plain-text.ts';

/** A body as it came. */
export interface RawPage {
  readonly url: URL;
  readonly contentType: string | undefined;
  readonly body: Uint8Array;
  readonly truncated: boolean;
}

/** Reads one kind of page. */
export type HtmlReader = (html: string, url: string, signal: AbortSignal) => Promise<ReadablePage>;

/** What reads pages. */
export interface PageReaders {
  readonly html: HtmlReader;
  readonly pdf?: PdfReader | undefined;
}

/**
 * Makes text of a body: Markdown of HTML, the text of a PDF, everything that is text as it is.
 *
 * @throws {@link PageError} when it cannot be read.
 */
export async function readPage(page: RawPage, readers: PageReaders, signal: AbortSignal): Promise<FetchedPage> {
  const { url, contentType, body, truncated } = page;
  const kind = kindOf(contentType, body);
  if (kind === undefined) throw new PageError('The page is not text that could be read');
  if (kind === 'pdf') return readPdf(page, readers.pdf, signal);
  const text = decodeText(body, contentType);
  if (kind === 'text') return { url: url.href, content: plainText(text), truncated };
  const { title, content } = await readers.html(text, url.href, signal);
  return { url: url.href, title: title && plainText(title), content: plainText(content), truncated };
}

async function readPdf(
  { url, body, truncated }: RawPage,
  reader: PdfReader | undefined,
  signal: AbortSignal,
): Promise<FetchedPage> {
  if (reader === undefined) throw new PageError('The page is a PDF, and nothing here reads PDFs');
  if (truncated) throw new PageError(`The page is a PDF of more than ${body.byteLength} bytes`);
  try {
    const { pages, totalPages, title } = await reader.read({ data: body, signal });
    const content = plainText(pages.map((page) => page.trim()).join('\n\n'));
    return { url: url.href, title: title && plainText(title), content, truncated: pages.length < totalPages };
  } catch (error) {
    if (error instanceof PdfError) throw new PageError(error.message);
    throw error;
  }
}
