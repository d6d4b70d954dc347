/** Cuts HTML into tags and texts in linear time, by the tokenizer of htmlparser2. */
import { Tokenizer, type TokenizerCallbacks } from 'htmlparser2';

/** Attributes that readers of pages look at. */
type Attributes = Readonly<Partial<Record<'href' | 'alt', string>>>;

/** A piece of a page. References such as `&amp;` are characters already. */
export type HtmlToken =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'open'; readonly name: string; readonly attributes: Attributes }
  | { readonly type: 'close'; readonly name: string };

/** Elements whose content is not part of the text; it goes on until their own end. */
const UNREAD = new Set(['script', 'style', 'noscript', 'iframe', 'template', 'svg', 'math', 'xmp']);

/** Where a word may be divided: nothing to a reader of text. */
const SOFT_HYPHEN = 0xad;

/** Characters of the page that are looked at before others have their turn. */
const SLICE = 16_000;

/** Characters of a title. */
const MAX_TITLE = 32_000;

/** Characters of an attribute; what is longer is an attack or an embedded image. */
const MAX_ATTRIBUTE = 4_000;

/**
 * Cuts a page into tags and texts, in one pass whose work grows with the page's length alone, however broken it is. The
 * tokenizer alone, not the parser around it: that keeps a list of open elements, which takes ever longer the deeper a page
 * is nested.
 */
export function* htmlTokens(html: string): Generator<HtmlToken> {
  for (let from = 0; from < html.length;) {
    const reader = new TokenReader(html, from);
    const tokenizer = new Tokenizer({ decodeEntities: true }, reader);
    for (let at = from; at < html.length; at += SLICE) {
      tokenizer.write(html.slice(at, at + SLICE));
      yield* reader.take();
    }
    tokenizer.end();
    const open = reader.finish();
    yield* reader.take();
    if (open === undefined) return;
    // A quote that never closes would swallow the page. None of its kind follows, so this happens once for each kind.
    const end = html.indexOf('>', open);
    from = end < 0 ? html.length : end + 1;
  }
}

/** Collects the tokens of a page from what its tokenizer finds. */
class TokenReader implements TokenizerCallbacks {
  readonly #html: string;
  readonly #from: number;
  #tokens: HtmlToken[] = [];
  /** The tag that is being read, and where its name ends. */
  #open: { readonly name: string; readonly end: number } | undefined;
  #attributes: { href?: string; alt?: string } = {};
  #attribute = '';
  #value = '';
  /** The element whose content is left out. */
  #unread: string | undefined;
  #title: string | undefined;

  constructor(html: string, from: number) {
    this.#html = html;
    this.#from = from;
  }

  /** What was found since the last time. */
  take(): readonly HtmlToken[] {
    const tokens = this.#tokens;
    this.#tokens = [];
    return tokens;
  }

  /** Ends the page. Gives the end of the name of a tag that never ends, if there is one. */
  finish(): number | undefined {
    this.#endTitle();
    const open = this.#open;
    if (open !== undefined) this.#endTag();
    return open?.end;
  }

  onopentagname(start: number, end: number): void {
    this.#open = { name: this.#slice(start, Math.min(end, start + 64)).toLowerCase(), end: this.#from + end };
    this.#attributes = {};
  }

  onattribname(start: number, end: number): void {
    this.#attribute = end - start > 4 ? '' : this.#slice(start, end).toLowerCase();
    this.#value = '';
  }

  onattribdata(start: number, end: number): void {
    if (this.#value.length < MAX_ATTRIBUTE) this.#value += this.#slice(start, Math.min(end, start + MAX_ATTRIBUTE));
  }

  onattribentity(code: number): void {
    if (this.#value.length < MAX_ATTRIBUTE) this.#value += String.fromCodePoint(code);
  }

  onattribend(): void {
    // As browsers do, the first of two with the same name counts.
    if (this.#attribute === 'href' || this.#attribute === 'alt') this.#attributes[this.#attribute] ??= this.#value;
  }

  onopentagend(): void {
    const { name } = this.#open ?? { name: '' };
    this.#endTag();
    if (this.#unread !== undefined) return;
    if (UNREAD.has(name)) this.#unread = name;
    else if (name === 'title') this.#title = '';
  }

  onselfclosingtag(): void {
    this.#endTag();
  }

  onclosetag(start: number, end: number): void {
    const name = this.#slice(start, Math.min(end, start + 64)).toLowerCase();
    if (this.#unread !== undefined && name !== this.#unread) return;
    this.#unread = undefined;
    this.#endTitle();
    this.#tokens.push({ type: 'close', name });
  }

  ontext(start: number, end: number): void {
    this.#addText(this.#slice(start, end));
  }

  ontextentity(code: number): void {
    if (code !== SOFT_HYPHEN) this.#addText(String.fromCodePoint(code));
  }

  // What says nothing to a reader of text.
  oncdata(): void {}
  oncomment(): void {}
  ondeclaration(): void {}
  onprocessinginstruction(): void {}
  onend(): void {}

  #addText(text: string): void {
    if (this.#unread !== undefined) return;
    if (this.#title === undefined) this.#tokens.push({ type: 'text', text });
    else if (this.#title.length < MAX_TITLE) this.#title += text;
  }

  #endTag(): void {
    const name = this.#open?.name ?? '';
    this.#open = undefined;
    if (this.#unread === undefined) this.#tokens.push({ type: 'open', name, attributes: this.#attributes });
  }

  #endTitle(): void {
    if (this.#title) this.#tokens.push({ type: 'text', text: this.#title });
    this.#title = undefined;
  }

  #slice(start: number, end: number): string {
    return this.#html.slice(this.#from + start, this.#from + end);
  }
}
