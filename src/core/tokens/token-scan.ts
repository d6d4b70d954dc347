/** Scans texts and adds up what their parts cost in tokens. */

/** What one word costs, and each of its letters. */
interface WordRate {
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

/** Rates with a table of what characters cost. */
interface PreparedRates extends TokenRates {
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

/** What a word says about its language. */
const UNCOMMON = 0;
const ENGLISH = 1;
const EUROPEAN = 2;

/** What capitals and small letters have in common. */
const LETTER = 0x1f;
/** The bits of a, e, i, o, u and y. */
const VOWELS = 0x2208222;

/**
 * Adds up what the parts of a text cost. One pass over the text, in one function: with its state in an object it takes
 * twice as long.
 */
export function scanTokens(text: string, rates: PreparedRates): number {
  const length = text.length;
  const units = unitsOf(text);
  /** Tokens that do not depend on the language. */
  let fixed = 0;
  /** Words of unknown languages, or of any: how many there are, their letters, how many are common where. */
  let words = 0;
  let letters = 0;
  let english = 0;
  let european = 0;
  let at = 0;
  while (at < length) {
    const from = at;
    let code = units[at] ?? 0;
    let kind = kindOf(code);
    if (kind === LOWER || kind === UPPER || (kind === OTHER && isAccented(code))) {
      // Letters up to the end of a word, or up to the next part of a word in camel case.
      let accents = 0;
      let capitals = 0;
      /** A bit for each letter that is in it; its letters as one number, and the same before the last capital. */
      let alphabet = 0;
      let hash = 0;
      let hashBefore = 0;
      for (;;) {
        if (kind === LOWER) {
          if (capitals > 1 && capitals === at - from) {
            // The last of several capitals begins the next word: "HTTPServer".
            at -= 1;
            capitals -= 1;
            hash = hashBefore;
            break;
          }
        } else if (kind === UPPER) {
          if (capitals < at - from) break;
          capitals += 1;
          hashBefore = hash;
        } else {
          if (kind !== OTHER || !isAccented(code)) break;
          accents += code < 0x100 ? rates.accent : rates.rareAccent;
        }
        if (kind !== OTHER) {
          const letter = code & LETTER;
          alphabet |= 1 << letter;
          hash = withLetter(hash, letter);
        }
        at += 1;
        if (at === length) break;
        code = units[at] ?? 0;
        kind = kindOf(code);
      }
      if (words + english + european >= GROUP) {
        // A text may change its language, so words are judged in groups.
        fixed += wordTokens(words, letters, english, european, rates);
        words = letters = english = european = 0;
      }
      const size = at - from;
      const common = size > 1 && accents === 0 ? commonness(hash) : UNCOMMON;
      if (common === ENGLISH) english += 1;
      else if (common === EUROPEAN) european += 1;
      else if (size <= 2) fixed += 1;
      else if ((alphabet & VOWELS) === 0 && accents === 0) fixed += rateOf(rates.consonants, size);
      else if (capitals === size) {
        fixed += rateOf(standsAlone(units, from, at, length) ? rates.capitals : rates.mixedCapitals, size);
      } else {
        words += 1;
        letters += size;
        fixed += accents;
      }
    } else if (kind === BLANK) {
      let lines = 0;
      let since = 0;
      for (; kind === BLANK; kind = kindOf(code)) {
        const isLine = code === NEW_LINE || code === RETURN;
        lines += isLine ? 1 : 0;
        since = isLine ? 0 : since + 1;
        at += 1;
        if (at === length) break;
        code = units[at] ?? 0;
      }
      const size = at - from;
      if (lines > 0) fixed += rates.line + lines / 8 + (since > 0 ? rates.indent + since / 40 : 0);
      else if (size > 1 || units[from] !== SPACE) fixed += rates.space + size / 40;
    } else if (kind === DIGIT) {
      while (at < length && kindOf(units[at] ?? 0) === DIGIT) at += 1;
      // A space before a number is a token of its own.
      const spaced = from > 0 && units[from - 1] === SPACE ? rates.spacedDigits : 0;
      fixed += rateOf(rates.digits, at - from) + spaced;
    } else if (kind === MARK) {
      while (at < length && kindOf(units[at] ?? 0) === MARK) at += 1;
      fixed += rateOf(rates.marks, at - from);
    } else {
      fixed += rates.costs[code >> 4] ?? 3;
      at += 1;
    }
  }
  return fixed + wordTokens(words, letters, english, european, rates);
}

/** UTF-16 units for which there is room at all times: enough for a sample, or for most messages. */
const ROOM = 8_192;
const UNITS = new Uint16Array(ROOM);
const BYTES = new Uint8Array(ROOM);
const ENCODER = new TextEncoder();

/** The UTF-16 units of a text, in an array that the next call writes over: a text takes three times as long to read. */
function unitsOf(text: string): Uint16Array {
  const { length } = text;
  const units = length > ROOM ? new Uint16Array(length) : UNITS;
  const bytes = length > ROOM ? new Uint8Array(length) : BYTES;
  const { read, written } = ENCODER.encodeInto(text, bytes);
  // Only ASCII has as many bytes as units.
  if (read === length && written === length) for (let at = 0; at < length; at += 1) units[at] = bytes[at] ?? 0;
  else for (let at = 0; at < length; at += 1) units[at] = text.charCodeAt(at);
  return units;
}

/** Words of a language that is common in the training texts cost less, and a few of its words give it away. */
function wordTokens(
  words: number,
  letters: number,
  commonEnglish: number,
  commonEuropean: number,
  { english, european, foreign, common }: PreparedRates,
): number {
  const all = words + commonEnglish + commonEuropean;
  if (all === 0) return 0;
  const inEnglish = Math.min(1, commonEnglish / all / 0.16);
  const inEuropean = Math.min(1 - inEnglish, commonEuropean / all / 0.16);
  const inForeign = 1 - inEnglish - inEuropean;
  const word = inForeign * foreign.word + inEuropean * european.word + inEnglish * english.word;
  const letter = inForeign * foreign.letter + inEuropean * european.letter + inEnglish * english.letter;
  return commonEnglish + commonEuropean * common + words * word + letters * letter;
}

/** True for a word that no other letters or digits touch, unlike pieces of keys and base64. */
function standsAlone(units: Uint16Array, from: number, to: number, length: number): boolean {
  const before = from === 0 ? BLANK : kindOf(units[from - 1] ?? 0);
  const behind = to === length ? BLANK : kindOf(units[to] ?? 0);
  return (before === BLANK || before === MARK) && (behind === BLANK || behind === MARK);
}

function kindOf(code: number): number {
  return code < 0x80 ? (KINDS[code] ?? OTHER) : OTHER;
}

/** Letters of Latin that are not ASCII. */
function isAccented(code: number): boolean {
  return (code >= 0xc0 && code < 0x250) || (code >= 0x1e00 && code < 0x1f00);
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

/** Slots of the table of common words, a power of two well above their number. */
const SLOTS = 2_048;
const HASHES = new Int32Array(SLOTS);
const MEANINGS = new Uint8Array(SLOTS);

for (const word of ENGLISH_WORDS.split(' ')) learn(word, ENGLISH);
for (const word of EUROPEAN_WORDS.split(' ')) learn(word, EUROPEAN);

function learn(word: string, meaning: number): void {
  let hash = 0;
  for (let at = 0; at < word.length; at += 1) hash = withLetter(hash, word.charCodeAt(at) & LETTER);
  const slot = slotOf(hash);
  // A word of both is English.
  if (MEANINGS[slot] !== UNCOMMON) return;
  HASHES[slot] = hash;
  MEANINGS[slot] = meaning;
}

/** Adds a letter to the number that stands for a word. Small and capital letters are the same. */
function withLetter(hash: number, letter: number): number {
  return Math.imul(hash ^ letter, 0x9e3779b1);
}

/** Where a word is, or would be. */
function slotOf(hash: number): number {
  let slot = hash >>> 21;
  while (MEANINGS[slot] !== UNCOMMON && HASHES[slot] !== hash) slot = (slot + 1) % SLOTS;
  return slot;
}

/** Which languages a word is common in. */
function commonness(hash: number): number {
  return MEANINGS[slotOf(hash)] ?? UNCOMMON;
}
