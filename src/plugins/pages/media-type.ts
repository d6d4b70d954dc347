/** What a page is, as far as reading it goes. */
export type PageKind = 'html' | 'text' | 'pdf';

/** Types that are text although their name does not say so. */
const TEXTUAL = /^application\/(?:[\w.+-]+\+)?(?:json|xml|yaml|x-yaml|javascript|ecmascript|x-ndjson|toml|sql)$/;
const HTML = /^(?:text\/html|application\/xhtml\+xml)$/;
/** Bytes in which nothing but text would have no NUL. */
const SNIFFED = 1_024;

/**
 * Finds out what a body is, from its type and its first bytes. A type that says nothing (`application/octet-stream`) or
 * is missing is decided by the bytes; undefined for everything that nobody could read as text.
 */
export function kindOf(contentType: string | undefined, body: Uint8Array): PageKind | undefined {
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
