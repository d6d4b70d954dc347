/** Reads the text of an HTML page, without navigation and scripts. */
import { type HtmlToken, htmlTokens } from './html-tokens.ts';
import { yieldTurn } from '../../../platform/wait.ts';

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
 * Reads a page tag by tag, without a tree: scripts, styles and what is around the content are left out, headings, lists, links
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
    if (work.isEnough(token)) await yieldTurn();
    if (token.type === 'text' && inTitle) title ||= token.text;
    inTitle = token.type === 'open' && token.name === 'title';
  }
  for (const token of htmlTokens(html.slice(content.start, content.end))) {
    if (work.isEnough(token)) await yieldTurn();
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
    title: title.replaceAll(/\s+/g, ' ').trim().slice(0, MAX_TITLE_LENGTH) || undefined,
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
    if (work.isEnough(token)) await yieldTurn();
    if (token.type === 'text' && !inTitle) texts.push(token.text.replaceAll(/\s+/g, ' ').trim());
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

type Opened = Extract<HtmlToken, { readonly type: 'open' }>;

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

  text(text: string): void {
    this.#push(this.#preformatted > 0 ? text : text.replaceAll(/\s+/g, ' '));
  }

  /** Text without any paragraph gets some, so that none is too long to be tidied at once. */
  #push(text: string): void {
    this.#length += PIECE + text.length;
    if (this.#length > MAX_PARAGRAPH) this.block();
    this.#line.push(text);
  }

  open(name: string, { href, alt }: Opened['attributes']): void {
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
    } else if (name === 'a') this.#link = this.#linkTo(href);
    else if (name === 'img') this.#push(alt ?? '');
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
