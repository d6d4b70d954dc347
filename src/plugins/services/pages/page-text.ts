/** Turns the body of a page into text, by its type. */
import { type FetchedPage, PageError } from '../../../contracts/plugin-services.ts';
import { PdfError, type PdfReader } from '../../../contracts/pdf-reader.ts';
import type { ReadablePage } from './html-text.ts';
import { likelyTokens } from '../../../core/tokens/token-estimate.ts';

/** A body as it came. */
interface RawPage {
  readonly url: URL;
  readonly contentType: string | undefined;
  readonly body: Uint8Array;
  readonly truncated: boolean;
}

/** Reads one kind of page. */
export type HtmlReader = (html: string, url: string, reading: PageReading) => Promise<ReadablePage>;

/** For whom a page is read, and how long. */
export interface PageReading {
  readonly account?: string | undefined;
  /** Aborted when nobody waits any more. */
  readonly signal: AbortSignal;
}

/** What reads pages. */
interface PageReaders {
  readonly html: HtmlReader;
  readonly pdf?: PdfReader | undefined;
}

/**
 * Makes text of a body: Markdown of HTML, the text of a PDF, everything that is text as it is.
 *
 * @throws {@link PageError} when it cannot be read.
 */
export async function readPage(page: RawPage, readers: PageReaders, reading: PageReading): Promise<FetchedPage> {
  const { url, contentType, body, truncated } = page;
  const kind = pageKindOf(contentType, body);
  if (kind === undefined) throw new PageError('The page is not text that could be read');
  if (kind === 'pdf') return readPdf(page, readers.pdf, reading);
  const text = decodeText(body, contentType);
  if (kind === 'text') return { url: url.href, content: plainText(text), truncated };
  const { title, content } = await readers.html(text, url.href, reading);
  return { url: url.href, title: title && plainText(title), content: plainText(content), truncated };
}

async function readPdf(
  { url, body, truncated }: RawPage,
  reader: PdfReader | undefined,
  { account, signal }: PageReading,
): Promise<FetchedPage> {
  if (reader === undefined) throw new PageError('The page is a PDF, and nothing here reads PDFs');
  if (truncated) throw new PageError(`The page is a PDF of more than ${body.byteLength} bytes`);
  try {
    const { pages, totalPages, title } = await reader.read({ data: body, account, signal });
    const content = plainText(pages.map((page) => page.trim()).join('\n\n'));
    return { url: url.href, title: title && plainText(title), content, truncated: pages.length < totalPages };
  } catch (error) {
    if (error instanceof PdfError) throw new PageError(error.message);
    throw error;
  }
}

/** What a page is, as far as reading it goes. */
type PageKind = 'html' | 'text' | 'pdf';

/** Types that are text although their name does not say so. */
const TEXTUAL = /^application\/(?:[\w.+-]+\+)?(?:json|xml|yaml|x-yaml|javascript|ecmascript|x-ndjson|toml|sql)$/;
const HTML = /^(?:text\/html|application\/xhtml\+xml)$/;
/** Bytes in which nothing but text would have no NUL. */
const SNIFFED = 1_024;

/**
 * Finds out what a body is, from its type and its first bytes. A type that says nothing (`application/octet-stream`) or
 * is missing is decided by the bytes; undefined for everything that nobody could read as text.
 */
export function pageKindOf(contentType: string | undefined, body: Uint8Array): PageKind | undefined {
  const type = (contentType ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  const start = String.fromCharCode(...body.subarray(0, SNIFFED));
  if (type === 'application/pdf' || start.startsWith('%PDF-')) return 'pdf';
  if (HTML.test(type)) return 'html';
  const wide = start.startsWith('\u00ff\u00fe') || start.startsWith('\u00fe\u00ff');
  if (start.includes('\0') && !wide) return undefined;
  if (type !== '' && type !== 'application/octet-stream' && type !== 'binary/octet-stream') {
    return type.startsWith('text/') || TEXTUAL.test(type) ? 'text' : undefined;
  }
  return /^\s*<(?:!doctype\s+html|html|head|body)[\s>]/i.test(start) ? 'html' : 'text';
}

/** Bytes in which a page says how it is written. */
const DECLARED_WITHIN = 2_048;

const MARKS: readonly (readonly [mark: string, label: string])[] = [
  ['\u00ef\u00bb\u00bf', 'utf-8'],
  ['\u00ff\u00fe', 'utf-16le'],
  ['\u00fe\u00ff', 'utf-16be'],
];

/**
 * Reads bytes as text: by their mark, by the header, by what the page itself declares, and else as UTF-8, or as
 * Windows-1252 if they are not that. Bytes that are no characters become replacement characters.
 */
export function decodeText(body: Uint8Array, contentType: string | undefined): string {
  const start = String.fromCharCode(...body.subarray(0, DECLARED_WITHIN));
  const marked = MARKS.find(([mark]) => start.startsWith(mark))?.[1];
  const declared = marked ?? labelIn(contentType ?? '') ?? labelInside(start);
  const decoder = declared === undefined ? undefined : decoderFor(declared);
  if (decoder !== undefined) return decoder.decode(body);
  return isUtf8(body) ? new TextDecoder().decode(body) : new TextDecoder('windows-1252').decode(body);
}

/** `charset=` of a header or of a `meta` element, or `encoding=` of an XML declaration. */
function labelIn(text: string): string | undefined {
  return /(?:charset|<\?xml[^>]{0,100}encoding)\s*=\s*["']?\s*([\w.:-]{2,40})/i.exec(text)?.[1];
}

/** A page that can say in ASCII that it is UTF-16 is not. */
function labelInside(start: string): string | undefined {
  const label = labelIn(start);
  return label !== undefined && /^utf-?16/i.test(label) ? 'utf-8' : label;
}

function decoderFor(label: string): InstanceType<typeof TextDecoder> | undefined {
  try {
    return new TextDecoder(label);
  } catch {
    return undefined;
  }
}

/** The end is left out: it may have been cut off within a character. */
function isUtf8(body: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(body, { stream: true });
    return true;
  } catch {
    return false;
  }
}

/** Control characters other than line ends and tabs, and halves of characters: some providers refuse a prompt with one. */
const NO_TEXT = /(?![\n\t])[\p{Cc}\p{Surrogate}]/gu;

/** The beginning of a text from outside, without characters that are no text. */
export function plainText(text: string, maxLength = Infinity): string {
  return text.slice(0, maxLength).replaceAll(/\r\n?/g, '\n').replaceAll(NO_TEXT, ' ').trim();
}

/** A text within a number of tokens. */
interface CutText {
  readonly text: string;
  readonly truncated: boolean;
}

/** Cuts a text to the likely number of tokens, at the end of a line or a word where there is one nearby. */
export function cutToTokens(text: string, maxTokens: number): CutText {
  if (likelyTokens(text) <= maxTokens) return { text, truncated: false };
  let [low, high] = [0, Math.min(text.length, maxTokens * 4)];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (likelyTokens(text.slice(0, middle)) <= maxTokens) low = middle;
    else high = middle - 1;
  }
  const cut = text.slice(0, low);
  const end = Math.max(cut.lastIndexOf('\n'), cut.lastIndexOf(' '));
  return { text: (end > low * 0.9 ? cut.slice(0, end) : cut).trimEnd(), truncated: true };
}
