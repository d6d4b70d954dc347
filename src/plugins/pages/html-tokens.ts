import { decodeEntities } from './html-entities.ts';

/** A piece of a page. */
export type HtmlToken =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'open'; readonly name: string; readonly attributes: string }
  | { readonly type: 'close'; readonly name: string };

/** Elements whose content is not markup; it goes on until their own end. */
const RAW = new Set(['script', 'style', 'textarea', 'title', 'noscript', 'iframe', 'template', 'svg', 'math', 'xmp']);
/** Characters of one tag; what is longer is an attack or an embedded image, and its attributes are not needed. */
const MAX_ATTRIBUTES = 4_000;

/**
 * Cuts a page into tags and texts, in one pass whose work grows with the page's length alone, however broken it is.
 * This is no parser: it does not know which element is inside which.
 */
export function* htmlTokens(html: string): Generator<HtmlToken> {
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf('<', at);
    if (open < 0) return void (yield { type: 'text', text: html.slice(at) });
    if (open > at) yield { type: 'text', text: html.slice(at, open) };
    const next = html.charCodeAt(open + 1);
    if (html.startsWith('<!--', open)) {
      at = after(html, '-->', open + 4);
    } else if (next === EXCLAMATION || next === QUESTION) {
      at = after(html, '>', open + 2);
    } else if (isLetter(next)) {
      const { name, end, attributes } = readTag(html, open + 1);
      yield { type: 'open', name, attributes };
      at = end;
      if (!RAW.has(name) || attributes.endsWith('/')) continue;
      const close = endOfRaw(html, name, at);
      if (name === 'title' || name === 'textarea') yield { type: 'text', text: html.slice(at, close) };
      at = close;
    } else if (next === SLASH && isLetter(html.charCodeAt(open + 2))) {
      const { name, end } = readTag(html, open + 2);
      yield { type: 'close', name };
      at = end;
    } else {
      yield { type: 'text', text: '<' };
      at = open + 1;
    }
  }
}

/** The value of an attribute, in the text between a tag's name and its end. */
export function attributeOf(
  attributes: string,
  name: 'href' | 'content' | 'property' | 'name' | 'alt',
): string | undefined {
  const found = ATTRIBUTES[name].exec(attributes);
  const value = found?.[1] ?? found?.[2] ?? found?.[3];
  return value === undefined ? undefined : decodeEntities(value);
}

const ATTRIBUTES = {
  href: attribute('href'),
  content: attribute('content'),
  property: attribute('property'),
  name: attribute('name'),
  alt: attribute('alt'),
};

function attribute(name: string): RegExp {
  return new RegExp(`(?:^|\\s)${name}\\s{0,9}=\\s{0,9}(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, 'i');
}

/** A `>` within quotes does not end a tag. */
function readTag(
  html: string,
  start: number,
): { readonly name: string; readonly end: number; readonly attributes: string } {
  let end = start;
  while (end < html.length && !NAME_END.has(html.charCodeAt(end))) end += 1;
  const name = html.slice(start, Math.min(end, start + 64)).toLowerCase();
  const attributesFrom = end;
  let quote = 0;
  for (; end < html.length; end += 1) {
    const code = html.charCodeAt(end);
    if (quote !== 0) {
      if (code === quote) quote = 0;
    } else if (code === QUOTE || code === APOSTROPHE) quote = code;
    else if (code === MORE) break;
  }
  // A quote that never closes would swallow the page.
  if (end === html.length) end = firstEnd(html, attributesFrom);
  const attributes = html.slice(attributesFrom, Math.min(end, attributesFrom + MAX_ATTRIBUTES));
  return { name, end: Math.min(end + 1, html.length), attributes };
}

function firstEnd(html: string, from: number): number {
  const end = html.indexOf('>', from);
  return end < 0 ? html.length : end;
}

function endOfRaw(html: string, name: string, from: number): number {
  const end = new RegExp(`</${name}[\\s/>]`, 'gi');
  end.lastIndex = from;
  return end.exec(html)?.index ?? html.length;
}

function after(html: string, mark: string, from: number): number {
  const found = html.indexOf(mark, from);
  return found < 0 ? html.length : found + mark.length;
}

function isLetter(code: number): boolean {
  return (code >= 65 && code <= 90) || (code >= 97 && code <= 122);
}

const [EXCLAMATION, QUESTION, SLASH, MORE, QUOTE, APOSTROPHE] = [33, 63, 47, 62, 34, 39] as const;
/** Space, tab, line ends, `/` and `>`. */
const NAME_END: ReadonlySet<number> = new Set([32, 9, 10, 12, 13, 47, 62]);
