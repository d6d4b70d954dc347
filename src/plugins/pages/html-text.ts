import { decodeEntities } from './html-entities.ts';
import { nextTurn } from '../../platform/wait.ts';

/** What a page says, without what it looks like. */
export interface ReadablePage {
  readonly title?: string | undefined;
  /** Markdown. */
  readonly content: string;
}

/** Elements that stand around what a page is about. */
const AROUND = new Set(['nav', 'header', 'footer', 'aside', 'form', 'select', 'button', 'dialog']);
/** Elements that begin and end a paragraph. */
const BLOCKS = new Set([
  ...'p div section article main body ul ol dl dt dd li table thead tbody tr blockquote pre figure figcaption'.split(
    ' ',
  ),
  ...'address details summary hr fieldset h1 h2 h3 h4 h5 h6'.split(' '),
  ...AROUND,
]);
const HEADING = /^h([1-6])$/;
const MAX_TITLE_LENGTH = 300;
/** Characters of one paragraph. */
const MAX_PARAGRAPH = 200_000;
/** What a piece of a paragraph counts besides its characters. */
const PIECE = 10;

/**
 * Reads a page without a parser: scripts, styles and what is around the content are left out, headings, lists, links
 * and table rows become Markdown. Takes time in proportion to the page's length, whatever is in it, and lets everything
 * else have a turn every few milliseconds.
 */
export async function readHtml(html: string, baseURL: string): Promise<ReadablePage> {
  const writer = new TextWriter(baseURL);
  const content = contentOf(html);
  let title = '';
  let inTitle = false;
  let around = 0;
  const work = new Work();
  for (const token of htmlTokens(html.slice(0, content.start))) {
    if (work.isEnough(token)) await nextTurn();
    if (token.type === 'text' && inTitle) title ||= token.text;
    inTitle = token.type === 'open' && token.name === 'title';
  }
  for (const token of htmlTokens(html.slice(content.start, content.end))) {
    if (work.isEnough(token)) await nextTurn();
    if (token.type === 'text') {
      if (inTitle) title ||= token.text;
      else if (around === 0) writer.text(token.text);
      inTitle = false;
      continue;
    }
    const { name } = token;
    inTitle = token.type === 'open' && name === 'title';
    if (AROUND.has(name)) around = Math.max(0, around + (token.type === 'open' ? 1 : -1));
    else if (around > 0) continue;
    else if (token.type === 'open') writer.open(name, token.attributes);
    else writer.close(name);
    if (BLOCKS.has(name)) writer.block();
  }
  const text = writer.finish();
  // A page that puts everything into what usually is around the content is read as a whole.
  const whole = text === '' && content.end > content.start ? await bareText(html) : text;
  return {
    title: decodeEntities(title).replaceAll(/\s+/g, ' ').trim().slice(0, MAX_TITLE_LENGTH) || undefined,
    content: whole,
  };
}

/** The part of the page that it says is its content, if there is exactly one such part. */
function contentOf(html: string): { readonly start: number; readonly end: number } {
  for (const name of ['main', 'article']) {
    const open = new RegExp(`<${name}[\\s>]`, 'i').exec(html)?.index ?? -1;
    if (open < 0 || new RegExp(`<${name}[\\s>]`, 'i').test(html.slice(open + 1))) continue;
    const close = lastMatch(html, new RegExp(`</${name}`, 'gi'));
    if (close > open) return { start: open, end: close };
  }
  return { start: 0, end: html.length };
}

function lastMatch(text: string, pattern: RegExp): number {
  let last = -1;
  for (let found = pattern.exec(text); found !== null; found = pattern.exec(text)) last = found.index;
  return last;
}

async function bareText(html: string): Promise<string> {
  const texts: string[] = [];
  let inTitle = false;
  const work = new Work();
  for (const token of htmlTokens(html)) {
    if (work.isEnough(token)) await nextTurn();
    if (token.type === 'text' && !inTitle) texts.push(decodeEntities(token.text).replaceAll(/\s+/g, ' ').trim());
    inTitle = token.type === 'open' && token.name === 'title';
  }
  return texts.filter((text) => text !== '').join(' ');
}

/** Work that is done before others have their turn: a tag counts as so many characters of text. */
const WORK_IN_A_TURN = 200_000;
const WORK_OF_A_TAG = 100;

/** Says when others should have a turn. */
class Work {
  #done = 0;

  isEnough(token: HtmlToken): boolean {
    this.#done += WORK_OF_A_TAG + (token.type === 'text' ? token.text.length : 0);
    if (this.#done <= WORK_IN_A_TURN) return false;
    this.#done = 0;
    return true;
  }
}

/** Puts texts together as lines of Markdown. */
class TextWriter {
  readonly #lines: string[] = [];
  readonly #baseURL: string;
  #line: string[] = [];
  /** Characters of the texts in it. */
  #length = 0;
  #prefix = '';
  #preformatted = 0;
  /** Target of the link that is open, and where in the line its text begins. */
  #link: { readonly href: string; readonly from: number } | undefined;

  constructor(baseURL: string) {
    this.#baseURL = baseURL;
  }

  text(raw: string): void {
    const text = decodeEntities(raw);
    this.#push(this.#preformatted > 0 ? text : text.replaceAll(/\s+/g, ' '));
  }

  /** Text without any paragraph gets some, so that none is too long to be tidied at once. */
  #push(text: string): void {
    this.#length += PIECE + text.length;
    if (this.#length > MAX_PARAGRAPH) this.block();
    this.#line.push(text);
  }

  open(name: string, attributes: string): void {
    const heading = HEADING.exec(name)?.[1];
    if (heading !== undefined) {
      this.block();
      this.#prefix = `${'#'.repeat(Number(heading))} `;
    } else if (name === 'li') {
      this.block();
      this.#prefix = '- ';
    } else if (name === 'br') this.#push('\n');
    else if (name === 'td' || name === 'th') this.#push(' | ');
    else if (name === 'pre') {
      this.block();
      this.#preformatted += 1;
    } else if (name === 'a') this.#link = this.#linkTo(attributeOf(attributes, 'href'));
    else if (name === 'img') this.#push(attributeOf(attributes, 'alt') ?? '');
  }

  close(name: string): void {
    if (name === 'a') this.#endLink();
    else if (name === 'pre' && this.#preformatted > 0) {
      this.block();
      this.#preformatted -= 1;
    }
  }

  /** Ends the paragraph. */
  block(): void {
    this.#endLink();
    const joined = this.#line.join('');
    const text = this.#preformatted > 0 ? joined.trimEnd().replace(/^\n+/, '') : tidy(joined);
    this.#line = [];
    this.#length = 0;
    if (text === '') return;
    const line = this.#preformatted > 0 ? `\`\`\`\n${text}\n\`\`\`` : `${this.#prefix}${text}`;
    const follows = this.#prefix === '- ' && this.#lines.at(-1)?.startsWith('- ') === true;
    if (this.#lines.length > 0 && !follows) this.#lines.push('');
    this.#lines.push(line);
    this.#prefix = '';
  }

  finish(): string {
    this.block();
    return this.#lines.join('\n');
  }

  #linkTo(href: string | undefined): { readonly href: string; readonly from: number } | undefined {
    this.#endLink();
    if (href === undefined || href.startsWith('#') || !URL.canParse(href, this.#baseURL)) return undefined;
    const url = new URL(href, this.#baseURL);
    return /^https?:$/.test(url.protocol) ? { href: url.href, from: this.#line.length } : undefined;
  }

  #endLink(): void {
    const link = this.#link;
    this.#link = undefined;
    if (link === undefined) return;
    const text = this.#line.splice(link.from).join('').trim();
    if (text !== '') this.#line.push(`[${text}](${link.href})`);
  }
}

/** One space between words, none at the ends of lines, no empty cells at the edges of a row. */
function tidy(text: string): string {
  return text
    .split('\n')
    .map((line) => line.replaceAll(/ {2,}/g, ' ').trim().replace(/^\| /, ''))
    .filter((line) => line !== '')
    .join('\n');
}

/** A piece of a page. */
type HtmlToken =
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
function attributeOf(attributes: string, name: 'href' | 'content' | 'property' | 'name' | 'alt'): string | undefined {
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
