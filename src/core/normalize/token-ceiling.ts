/**
 * Tokens that a text has at most, give or take a few in a hundred, in the vocabularies of OpenAI (`o200k_base`,
 * `cl100k_base`), which most others resemble. For deciding whether a text fits: prose comes out a tenth to a third too
 * high, languages that newer vocabularies know better than older ones up to twice too high. One pass over the text.
 */
export function mostTokens(text: string): number {
  return Math.ceil(new Scan(text).total());
}

/** What words of an unknown language cost per letter, and what words of English cost. */
const FOREIGN = { word: 0.3, letter: 0.45 };
const EUROPEAN = { word: 0.3, letter: 0.35 };
const ENGLISH = { word: 0.55, letter: 0.13 };
/** What accents cost beside their letters: those of Western Europe, and those of others. */
const ACCENT = 0.7;
const RARE_ACCENT = 1;

/** Words after which the language is judged anew. */
const GROUP = 40;

const NEW_LINE = 10;
const RETURN = 13;
const SPACE = 32;

/** Kinds of characters. */
const OTHER = 0;
const LOWER = 1;
const UPPER = 2;
const DIGIT = 3;
const BLANK = 4;
const MARK = 5;

const KINDS = kindsOfAscii();

/** Tokens per character of the scripts beyond Latin: the first character of each range and what one costs. */
const SCRIPTS: readonly (readonly [from: number, cost: number])[] = [
  [0x80, 1], // signs
  [0xc0, 1.2], // accented letters; see ACCENT
  [0x250, 2],
  [0x370, 1.1], // Greek
  [0x400, 0.75], // Cyrillic
  [0x530, 2.2], // Armenian
  [0x590, 1.2], // Hebrew
  [0x600, 0.95], // Arabic
  [0x700, 2.1],
  [0x900, 1.35], // Devanagari
  [0x980, 1.65], // Bengali and the other scripts of India
  [0xe00, 1.05], // Thai
  [0xe80, 2.6],
  [0x10a0, 2.2], // Georgian
  [0x1100, 3], // Ethiopic and many small ones
  [0x1e00, 1.5], // accented letters of Vietnamese
  [0x2000, 2], // exotic spaces, joiners
  [0x2010, 1.2], // dashes, curly quotes, ellipsis
  [0x2030, 2.4], // mathematics, arrows, symbols
  [0x3000, 1.1], // punctuation of East Asia
  [0x3040, 1.1], // kana
  [0x3130, 2],
  [0x3400, 2.6], // rare Han
  [0x4e00, 1.75], // Han
  [0xa000, 2.6],
  [0xac00, 1.6], // Hangul
  [0xd800, 1.9], // halves of pairs: emoji, rare signs
  [0xe000, 3],
  [0xf900, 2],
  [0xff00, 1.2], // full width
];

const COSTS = costsOfScripts();

class Scan {
  readonly #text: string;
  #at = 0;
  /** Tokens that do not depend on the language. */
  #fixed = 0;
  /** Words of unknown languages, or of any: how many there are, their letters, how many are common where. */
  #words = 0;
  #letters = 0;
  #english = 0;
  #european = 0;

  constructor(text: string) {
    this.#text = text;
  }

  total(): number {
    const length = this.#text.length;
    while (this.#at < length) {
      const code = this.#text.charCodeAt(this.#at);
      switch (code < 0x80 ? KINDS[code] : OTHER) {
        case LOWER:
        case UPPER:
          this.#word();
          break;
        case DIGIT:
          this.#digits();
          break;
        case BLANK:
          this.#blanks();
          break;
        case MARK:
          this.#marks();
          break;
        default:
          if (isAccented(code)) this.#word();
          else {
            this.#fixed += costOf(code);
            this.#at += 1;
          }
      }
    }
    return this.#fixed + this.#wordTokens();
  }

  /** A text may change its language, so words are judged in groups. */
  #judge(): void {
    this.#fixed += this.#wordTokens();
    this.#words = 0;
    this.#letters = 0;
    this.#english = 0;
    this.#european = 0;
  }

  /** Words of a language that is common in the training texts cost less, and a few of its words give it away. */
  #wordTokens(): number {
    const all = this.#words + this.#english + this.#european;
    if (all === 0) return 0;
    const english = Math.min(1, this.#english / all / 0.16);
    const european = Math.min(1 - english, this.#european / all / 0.16);
    const foreign = 1 - english - european;
    const cost = (part: 'word' | 'letter'): number =>
      foreign * FOREIGN[part] + european * EUROPEAN[part] + english * ENGLISH[part];
    return this.#english + this.#european * 1.1 + this.#words * cost('word') + this.#letters * cost('letter');
  }

  /** Letters up to the end of a word, or up to the next part of a word in camel case. */
  #word(): void {
    const from = this.#at;
    let vowels = 0;
    let accents = 0;
    let capitals = 0;
    let at = from;
    for (; at < this.#text.length; at += 1) {
      const code = this.#text.charCodeAt(at);
      const kind = code < 0x80 ? KINDS[code] : OTHER;
      if (kind === UPPER) {
        if (at > from && capitals < at - from) break;
        capitals += 1;
      } else if (kind !== LOWER) {
        if (!isAccented(code)) break;
        accents += code < 0x100 ? ACCENT : RARE_ACCENT;
      } else if (capitals > 1 && capitals === at - from) {
        // The last of several capitals begins the next word: "HTTPServer".
        at -= 1;
        capitals -= 1;
        break;
      }
      if (isVowel(code)) vowels += 1;
    }
    this.#at = at;
    if (this.#words + this.#english + this.#european >= GROUP) this.#judge();
    this.#count(from, at, { vowels, accents, capitals });
  }

  #count(
    from: number,
    to: number,
    { vowels, accents, capitals }: Readonly<Record<'vowels' | 'accents' | 'capitals', number>>,
  ): void {
    const length = to - from;
    const common =
      length > 1 && length <= 12 && accents === 0 ? commonness(this.#text.slice(from, to), capitals > 0) : undefined;
    if (common === 'english') this.#english += 1;
    else if (common === 'european') this.#european += 1;
    else if (length <= 2) this.#fixed += 1;
    else if (vowels === 0 && accents === 0) this.#fixed += 0.3 + 0.68 * length;
    else if (capitals === length) this.#fixed += 0.3 + (this.#standsAlone(from, to) ? 0.45 : 0.68) * length;
    else {
      this.#words += 1;
      this.#letters += length;
      this.#fixed += accents;
    }
  }

  /** True for a word that no other letters or digits touch, unlike pieces of keys and base64. */
  #standsAlone(from: number, to: number): boolean {
    const before = from === 0 ? BLANK : KINDS[this.#text.charCodeAt(from - 1)];
    const behind = to === this.#text.length ? BLANK : KINDS[this.#text.charCodeAt(to)];
    return (before === BLANK || before === MARK) && (behind === BLANK || behind === MARK);
  }

  #digits(): void {
    const from = this.#at;
    while (KINDS[this.#text.charCodeAt(this.#at)] === DIGIT) this.#at += 1;
    // A space before a number is a token of its own.
    const spaced = from > 0 && this.#text.charCodeAt(from - 1) === SPACE ? 0.7 : 0;
    this.#fixed += 0.5 + (this.#at - from) / 2 + spaced;
  }

  #blanks(): void {
    const from = this.#at;
    let lines = 0;
    let since = 0;
    for (; KINDS[this.#text.charCodeAt(this.#at)] === BLANK; this.#at += 1) {
      const code = this.#text.charCodeAt(this.#at);
      const isLine = code === NEW_LINE || code === RETURN;
      lines += isLine ? 1 : 0;
      since = isLine ? 0 : since + 1;
    }
    const length = this.#at - from;
    if (lines > 0) this.#fixed += 1 + lines / 8 + (since > 0 ? 1 + since / 40 : 0);
    else if (length > 1 || this.#text.charCodeAt(from) !== SPACE) this.#fixed += 1 + length / 40;
  }

  #marks(): void {
    const from = this.#at;
    while (KINDS[this.#text.charCodeAt(this.#at)] === MARK) this.#at += 1;
    this.#fixed += 0.6 + (this.#at - from) * 0.45;
  }
}

/** Letters of Latin that are not ASCII. */
function isAccented(code: number): boolean {
  return (code >= 0xc0 && code < 0x250) || (code >= 0x1e00 && code < 0x1f00);
}

function isVowel(code: number): boolean {
  const letter = code | 0x20;
  return letter === 0x61 || letter === 0x65 || letter === 0x69 || letter === 0x6f || letter === 0x75 || letter === 0x79;
}

/** Ranges begin at multiples of sixteen. */
function costOf(code: number): number {
  return COSTS[code >> 4] ?? 3;
}

function costsOfScripts(): Float32Array {
  const costs = new Float32Array(0x1000);
  for (const [from, cost] of SCRIPTS) costs.fill(cost, from >> 4);
  return costs;
}

function kindsOfAscii(): Uint8Array {
  const kinds = new Uint8Array(0x80).fill(MARK);
  kinds.fill(UPPER, 0x41, 0x5b).fill(LOWER, 0x61, 0x7b).fill(DIGIT, 0x30, 0x3a).fill(BLANK, 9, 14);
  kinds[SPACE] = BLANK;
  return kinds;
}

/** The words of English that are in nearly every text, and words of source code, which are English too. */
const ENGLISH_WORDS =
  'the of and to is was for that it with as his he be not by but have you which are or her had at from this they all ' +
  'one their there been if more when will would who so what said up out about into could has them some other than its ' +
  'then these only any my now like over such our your made after did many should where through because before being ' +
  'between both each how just most also new time well way even two may can do does an we were him she me us know think ' +
  'please want need help using used user users answer question thanks hello here why yes without within first last ' +
  'const let var function return import export class public private static void string number boolean async await ' +
  'else while switch case break continue default true false null undefined this self def elif print none try catch ' +
  'except finally throw throws interface type extends implements struct enum package func fn impl pub use select where ' +
  'join group order limit insert update delete table values div span href style width height color background margin ' +
  'padding border display flex error info warn debug get post put request response value key name data list index ' +
  'length size map filter test file path code line config options result message status';

/** Words that are in nearly every text of German, French, Spanish, Italian, Portuguese or Dutch. */
const EUROPEAN_WORDS =
  'der die das und ist nicht ein eine einen dem den des zu mit sich auf von im auch als wie er sie es wir ihr aus bei ' +
  'nach oder aber wenn noch nur kann wird wurde sind haben hat dass mehr vor durch seine ihren ihre ' +
  'le la les des du et est une un pour que qui dans sur pas plus par avec ce cette ses sont mais nous vous ils elle ou ' +
  'leur aux au ne son sa ' +
  'el los las y es por para con una su sus lo como pero del al muy ya hay ser si porque esta este ' +
  'il lo gli che di per non con una sono nel della dei delle alla anche come ma ogni questo quelle nei quali ' +
  'o os as um uma do da dos das em no nos nas com mais foi ele ela ao pelo pela seu sua ' +
  'het een van en dat op te zijn niet voor met die aan om ook als bij maar uit naar nog wordt zal door';

const WORDS = new Map<string, 'english' | 'european'>([
  ...EUROPEAN_WORDS.split(' ').map((word) => [word, 'european'] as const),
  ...ENGLISH_WORDS.split(' ').map((word) => [word, 'english'] as const),
]);

/**
 * Which languages a word is common in; undefined for one that says nothing about its language.
 *
 * @param capitals - Whether it has any.
 */
function commonness(word: string, capitals: boolean): 'english' | 'european' | undefined {
  return WORDS.get(capitals ? word.toLowerCase() : word);
}
