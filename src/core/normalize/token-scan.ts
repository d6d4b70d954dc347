/** What one word costs, and each of its letters. */
export interface WordRate {
  readonly word: number;
  readonly letter: number;
}

/** What the parts of a text cost, in tokens. */
export interface TokenRates {
  /** Words of English, of other languages of Western Europe, and of any other in Latin letters. */
  readonly english: WordRate;
  readonly european: WordRate;
  readonly foreign: WordRate;
  /** A word of Western Europe that is in nearly every text. */
  readonly common: number;
  /** What accents cost beside their letters: those of Western Europe, and those of others. */
  readonly accent: number;
  readonly rareAccent: number;
  /** Letters without vowels, and capitals, by themselves and within something. */
  readonly consonants: WordRate;
  readonly capitals: WordRate;
  readonly mixedCapitals: WordRate;
  /** A number, and each of its digits; a space before it. */
  readonly digits: WordRate;
  readonly spacedDigits: number;
  /** A line break, what is indented behind it, other space. */
  readonly line: number;
  readonly indent: number;
  readonly space: number;
  /** A run of punctuation, and each character of it. */
  readonly marks: WordRate;
  /** Tokens per character of the scripts beyond Latin: the first character of each range and what one costs. */
  readonly scripts: readonly (readonly [from: number, cost: number])[];
}

/** Adds up what the parts of a text cost. One pass over the text. */
export function scanTokens(text: string, rates: PreparedRates): number {
  return new Scan(text, rates).total();
}

/** Rates with a table of what characters cost. */
export interface PreparedRates extends TokenRates {
  readonly costs: Float32Array;
}

/** Makes the table that a scan looks characters up in. */
export function prepareRates(rates: TokenRates): PreparedRates {
  const costs = new Float32Array(0x1000);
  for (const [from, cost] of rates.scripts) costs.fill(cost, from >> 4);
  return { ...rates, costs };
}

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

class Scan {
  readonly #text: string;
  readonly #rates: PreparedRates;
  #at = 0;
  /** Tokens that do not depend on the language. */
  #fixed = 0;
  /** Words of unknown languages, or of any: how many there are, their letters, how many are common where. */
  #words = 0;
  #letters = 0;
  #english = 0;
  #european = 0;

  constructor(text: string, rates: PreparedRates) {
    this.#text = text;
    this.#rates = rates;
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
            this.#fixed += this.#rates.costs[code >> 4] ?? 3;
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
    const rates = this.#rates;
    const cost = (part: 'word' | 'letter'): number =>
      foreign * rates.foreign[part] + european * rates.european[part] + english * rates.english[part];
    return this.#english + this.#european * rates.common + this.#words * cost('word') + this.#letters * cost('letter');
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
        accents += code < 0x100 ? this.#rates.accent : this.#rates.rareAccent;
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
    else if (vowels === 0 && accents === 0) this.#fixed += rateOf(this.#rates.consonants, length);
    else if (capitals === length) {
      const rate = this.#standsAlone(from, to) ? this.#rates.capitals : this.#rates.mixedCapitals;
      this.#fixed += rateOf(rate, length);
    } else {
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
    const spaced = from > 0 && this.#text.charCodeAt(from - 1) === SPACE ? this.#rates.spacedDigits : 0;
    this.#fixed += rateOf(this.#rates.digits, this.#at - from) + spaced;
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
    const { line, indent, space } = this.#rates;
    if (lines > 0) this.#fixed += line + lines / 8 + (since > 0 ? indent + since / 40 : 0);
    else if (length > 1 || this.#text.charCodeAt(from) !== SPACE) this.#fixed += space + length / 40;
  }

  #marks(): void {
    const from = this.#at;
    while (KINDS[this.#text.charCodeAt(this.#at)] === MARK) this.#at += 1;
    this.#fixed += rateOf(this.#rates.marks, this.#at - from);
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

function rateOf({ word, letter }: WordRate, length: number): number {
  return word + letter * length;
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
