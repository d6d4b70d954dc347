/** How much texts have to do with a question, without a model: BM25 over stems. */

/** How fast further occurrences of a word count less, and how much long texts are held against them (BM25). */
const SATURATION = 1.2;
const LENGTH = 0.75;
/** What a pair of words is worth that stand side by side in the question and in the text. */
const PAIR = 1;
/** Characters that are read of all texts together: these take about 30 ms, in which no other work runs. */
const MOST_CHARACTERS = 500_000;
/** Words of a question that count: a document that somebody pasted into it is not all question. */
const MOST_WORDS = 400;
/** Spellings whose stems are remembered while texts are read. */
const MOST_SPELLINGS = 20_000;

/**
 * How much each text has to do with a question: BM25 over the stems of its words without stop words, and one more for
 * each pair of neighbouring words of the question that the text has side by side, too. Scripts without spaces count by
 * pairs of characters. Takes time in proportion to the texts, of which the first 500,000 characters count, each text's
 * share of them.
 */
export function relevance(question: string, texts: readonly string[]): readonly number[] {
  const requested = wordsOf(question.slice(-4 * MOST_WORDS * 8)).slice(-MOST_WORDS);
  const terms = new Map<string, number>();
  for (const word of requested) if (!terms.has(word)) terms.set(word, terms.size);
  const pairs = new Map<string, number>();
  for (const [index, word] of requested.entries()) {
    const next = requested[index + 1];
    if (next !== undefined) pairs.set(`${word} ${next}`, pairs.size);
  }
  const characters = texts.reduce((sum, text) => sum + text.length, 0);
  const part = Math.min(1, MOST_CHARACTERS / Math.max(1, characters));
  const stems = new Map<string, string>();
  const counted = texts.map((text) => countIn(text.slice(0, Math.ceil(text.length * part)), terms, pairs, stems));
  const average = counted.reduce((sum, one) => sum + one.length, 0) / Math.max(1, texts.length);
  const rarity = [...terms.values()].map((term) => {
    const holding = counted.reduce((sum, one) => sum + (one.terms.has(term) ? 1 : 0), 0);
    return Math.log(1 + (texts.length - holding + 0.5) / (holding + 0.5));
  });
  return counted.map((one) => {
    let score = PAIR * one.pairs.size;
    const damping = SATURATION * (1 - LENGTH + (LENGTH * one.length) / Math.max(1, average));
    for (const [term, times] of one.terms) {
      score += ((rarity[term] ?? 0) * times * (SATURATION + 1)) / (times + damping);
    }
    return score;
  });
}

interface CountedWords {
  /** Words of the text. */
  readonly length: number;
  /** How often it has each word of the question. */
  readonly terms: ReadonlyMap<number, number>;
  /** Pairs of the question that it has. */
  readonly pairs: ReadonlySet<number>;
}

function countIn(
  text: string,
  terms: ReadonlyMap<string, number>,
  pairs: ReadonlyMap<string, number>,
  stems: Map<string, string>,
): CountedWords {
  const found = new Map<number, number>();
  const foundPairs = new Set<number>();
  let length = 0;
  let previous: string | undefined;
  for (const word of eachWord(text, stems)) {
    length += 1;
    const term = terms.get(word);
    if (term !== undefined) {
      found.set(term, (found.get(term) ?? 0) + 1);
      const pair = previous === undefined ? undefined : pairs.get(`${previous} ${word}`);
      if (pair !== undefined) foundPairs.add(pair);
    }
    previous = term === undefined ? undefined : word;
  }
  return { length, terms: found, pairs: foundPairs };
}

function wordsOf(text: string): readonly string[] {
  return [...eachWord(text, new Map())];
}

const WORD = /[\p{L}\p{M}\p{N}]+/gu;
/** Scripts that write words without spaces between them: Thai, Lao, Khmer, kana and Han. */
const WITHOUT_SPACES = /[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]/;

/**
 * The stems of all words but stop words, in order.
 *
 * @param stems - Those that are known already, by spelling.
 */
function* eachWord(text: string, stems: Map<string, string>): Generator<string> {
  for (const [spelling] of text.matchAll(WORD)) {
    let stem = stems.get(spelling);
    if (stem === undefined) {
      const word = spelling
        .toLowerCase()
        .normalize('NFKD')
        .replaceAll(/[\u0300-\u036f]/g, '');
      if (WITHOUT_SPACES.test(word)) {
        for (let at = 0; at < Math.max(1, word.length - 1); at += 1) yield word.slice(at, at + 2);
        continue;
      }
      stem = STOP_WORDS.has(word) ? '' : stemOf(word);
      if (stems.size < MOST_SPELLINGS) stems.set(spelling, stem);
    }
    if (stem !== '') yield stem;
  }
}

/** Endings of English and of its neighbours, longest first; what is left must still be a word. */
const ENDING = /(?<=\p{L}{3})(?:ations?|ements?|ingly|edly|ness|ments?|ings?|ied|ies|ers?|ed|es|en|ly|s|e|y|n)$/u;
/** Letters in which words are compared; what follows is mostly inflection. */
const STEM = 7;

/** The part of a word that its forms have in common, roughly, in any language that inflects at the end. */
function stemOf(word: string): string {
  if (/\d/.test(word)) return word;
  const stem = word.replace(ENDING, '');
  return stem.replace(/(?<=\p{L}{2})([b-df-hj-np-tv-z])\1$/u, '$1').slice(0, STEM);
}

/** Words that are in nearly every question of some languages and say nothing about what it is about. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    'a about after all also am an and any are as at be because been before being between both but by can could did do ' +
    'does doing during each few for from had has have having he her here him his how i if in into is it its just me ' +
    'more most my no nor not now of off on once only or other our out over own please same she should so some such ' +
    'than that the their them then there these they this those through to too under until up us very was we were what ' +
    'when where which while who whom whose why will with would you your tell ' +
    'der die das den dem des ein eine einen einem einer und oder aber ist sind war waren wird werden wurde wurden hat ' +
    'haben von vom zu zum zur mit bei nach auf fur in im an am aus als wie was wer wo wann warum welche welcher welches ' +
    'nicht kein keine sich es er sie wir ihr ich du ' +
    'le la les un une des du de et ou est sont etait ont que qui quoi quel quelle quels quelles dans pour par sur avec ' +
    'au aux ce cette ces il elle ils elles je tu nous vous ne pas plus comment quand combien pourquoi ' +
    'el los las una unos unas y o es son fue eran ha han que quien cual cuales como cuando donde cuanto cuantos por ' +
    'para con sin en del al se su sus lo no mas ' +
    'il gli uno e di da che chi cosa quale quali quando dove perche nel nella dei delle della con si non ' +
    'os as um uma ao na nas nos dos das em foi qual quais onde quem nao ' +
    'het een van en dat op te zijn niet voor met aan om ook wat wie waar wanneer hoe ' +
    'и в во не что он на я с со как а то все она так его но ты к у же вы за бы по ее мне было вот от меня о из ему кто ' +
    'где когда какой какая какие почему сколько был была были это для'
  ).split(' '),
);
