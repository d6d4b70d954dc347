/** Cuts HTML into tags and texts in linear time. */

/** A piece of a page. */
export type HtmlToken =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'open'; readonly name: string; readonly attributes: string }
  | { readonly type: 'close'; readonly name: string };

/** Elements whose content is not markup; it goes on until their own end. */
const RAW = new Set(['script', 'style', 'textarea', 'title', 'noscript', 'iframe', 'template', 'svg', 'math', 'xmp']);

/** Characters of text that are given at once. */
const MAX_TEXT = 32_000;

/** Characters of one tag; what is longer is an attack or an embedded image, and its attributes are not needed. */
const MAX_ATTRIBUTES = 4_000;

/**
 * Cuts a page into tags and texts, in one pass whose work grows with the page's length alone, however broken it is.
 * This is no parser: it does not know which element is inside which.
 */
export function* htmlTokens(html: string): Generator<HtmlToken> {
  let at = 0;
  /** False once a quote was found that never closes: looking for its end again and again would take for ever. */
  let heedsQuotes = true;
  const tagAt = (start: number): Tag => {
    const tag = readTag(html, start, heedsQuotes);
    heedsQuotes &&= tag.closed;
    return tag;
  };
  while (at < html.length) {
    const open = html.indexOf('<', at);
    yield* textsIn(html, at, open < 0 ? html.length : open);
    if (open < 0) return;
    const next = html.charCodeAt(open + 1);
    if (html.startsWith('<!--', open)) {
      at = after(html, '-->', open + 4);
    } else if (next === EXCLAMATION || next === QUESTION) {
      at = after(html, '>', open + 2);
    } else if (isLetter(next)) {
      const { name, end, attributes } = tagAt(open + 1);
      yield { type: 'open', name, attributes };
      at = end;
      if (!RAW.has(name) || attributes.endsWith('/')) continue;
      const close = endOfRaw(html, name, at);
      if (name === 'title') yield { type: 'text', text: html.slice(at, Math.min(close, at + MAX_TEXT)) };
      else if (name === 'textarea') yield* textsIn(html, at, close);
      at = close;
    } else if (next === SLASH && isLetter(html.charCodeAt(open + 2))) {
      const { name, end } = tagAt(open + 2);
      yield { type: 'close', name };
      at = end;
    } else {
      yield { type: 'text', text: '<' };
      at = open + 1;
    }
  }
}

/** A text in pieces, none of which ends within a reference such as `&amp;`. */
function* textsIn(html: string, from: number, to: number): Generator<HtmlToken> {
  for (let at = from; at < to;) {
    let end = Math.min(to, at + MAX_TEXT);
    const mark = end === to ? -1 : html.lastIndexOf('&', end);
    if (mark > end - 16 && mark > at) end = mark;
    yield { type: 'text', text: html.slice(at, end) };
    at = end;
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

interface Tag {
  readonly name: string;
  readonly end: number;
  readonly attributes: string;
  /** False when a quote of it never closes. */
  readonly closed: boolean;
}

/** A `>` within quotes does not end a tag. */
function readTag(html: string, start: number, heedsQuotes: boolean): Tag {
  let end = start;
  while (end < html.length && !NAME_END.has(html.charCodeAt(end))) end += 1;
  const name = html.slice(start, Math.min(end, start + 64)).toLowerCase();
  const attributesFrom = end;
  end = heedsQuotes ? endBeyondQuotes(html, end) : firstEnd(html, end);
  // A quote that never closes would swallow the page.
  const closed = !heedsQuotes || end < html.length;
  if (!closed) end = firstEnd(html, attributesFrom);
  const attributes = html.slice(attributesFrom, Math.min(end, attributesFrom + MAX_ATTRIBUTES));
  return { name, end: Math.min(end + 1, html.length), attributes, closed };
}

function endBeyondQuotes(html: string, from: number): number {
  let quote = 0;
  for (let at = from; at < html.length; at += 1) {
    const code = html.charCodeAt(at);
    if (quote !== 0) {
      if (code === quote) quote = 0;
    } else if (code === QUOTE || code === APOSTROPHE) quote = code;
    else if (code === MORE) return at;
  }
  return html.length;
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

/** The names that pages use. Those who want all two thousand have a parser. */
const NAMED: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  ensp: ' ',
  emsp: ' ',
  thinsp: ' ',
  shy: '',
  ndash: '–',
  mdash: '—',
  hellip: '…',
  bull: '•',
  middot: '·',
  laquo: '«',
  raquo: '»',
  lsaquo: '‹',
  rsaquo: '›',
  lsquo: '‘',
  rsquo: '’',
  sbquo: '‚',
  ldquo: '“',
  rdquo: '”',
  bdquo: '„',
  copy: '©',
  reg: '®',
  trade: '™',
  euro: '€',
  pound: '£',
  yen: '¥',
  cent: '¢',
  sect: '§',
  para: '¶',
  deg: '°',
  plusmn: '±',
  times: '×',
  divide: '÷',
  micro: 'µ',
  frac12: '½',
  frac14: '¼',
  frac34: '¾',
  sup1: '¹',
  sup2: '²',
  sup3: '³',
  larr: '←',
  uarr: '↑',
  rarr: '→',
  darr: '↓',
  harr: '↔',
  minus: '−',
  infin: '∞',
  ne: '≠',
  le: '≤',
  ge: '≥',
  asymp: '≈',
  iexcl: '¡',
  iquest: '¿',
  szlig: 'ß',
  aelig: 'æ',
  AElig: 'Æ',
  oslash: 'ø',
  Oslash: 'Ø',
  aring: 'å',
  Aring: 'Å',
  ccedil: 'ç',
  Ccedil: 'Ç',
  ntilde: 'ñ',
  Ntilde: 'Ñ',
  eth: 'ð',
  thorn: 'þ',
  zwj: '',
  zwnj: '',
};

/** Letters with a mark on them, which are named after both: `eacute`, `Ouml`. */
const MARKS: Readonly<Record<string, string>> = {
  grave: '\u0300',
  acute: '\u0301',
  circ: '\u0302',
  tilde: '\u0303',
  uml: '\u0308',
};

/** Puts characters in the place of references such as `&amp;` and `&#8364;`. What is not known stays as it is. */
export function decodeEntities(text: string): string {
  if (!text.includes('&')) return text;
  return text.replaceAll(
    /&(?:#(\d{1,12})|#[xX]([\da-fA-F]{1,6})|([a-zA-Z][a-zA-Z\d]{1,7}));?/g,
    (whole, decimal, hex, name) => {
      if (name !== undefined) return namedCharacter(String(name)) ?? whole;
      return numberedCharacter(decimal === undefined ? Number.parseInt(String(hex), 16) : Number(decimal));
    },
  );
}

function namedCharacter(name: string): string | undefined {
  if (Object.hasOwn(NAMED, name)) return NAMED[name];
  const mark = MARKS[name.slice(1)];
  return mark === undefined ? undefined : `${name.slice(0, 1)}${mark}`.normalize('NFC');
}

function numberedCharacter(code: number): string {
  const isCharacter = code > 0 && code <= 0x10_ff_ff && (code < 0xd8_00 || code > 0xdf_ff);
  return isCharacter ? String.fromCodePoint(code) : '\ufffd';
}
