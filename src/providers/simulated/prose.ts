/** Writes the prose of simulated models. */
import type { Chance } from './chance.ts';
import { isJsonObject } from '../../protocol/json.ts';
import * as read from '../../platform/json.ts';
import type { Prompt, ToolResults } from './prompt-types.ts';

/** Sentences in the middle of an answer. */
const FEWEST_SENTENCES = 2;
const MOST_SENTENCES = 24;
const SENTENCES_PER_PARAGRAPH = 4;

/** How much longer or shorter than usual an answer is, by verbosity. */
const LENGTHS: Readonly<Record<string, number | undefined>> = { low: 0.5, high: 1.5, xhigh: 2, max: 3 };

/** Writes an answer: longer for longer questions, about their words, and honest about being simulated. */
export function writeAnswer(prompt: Prompt, chance: Chance, verbosity: string | undefined): string {
  const fill = filler(prompt, chance);
  const { question, attachments, toolResults } = prompt;
  const greeting = /^\s*(?:hi|hello|hey)\b/i.test(question) ? 'Hello! ' : '';
  const opening =
    toolResults === undefined ? `${greeting}${fill(chance.pick(OPENINGS))}` : summarizeToolResults(toolResults);
  const seen = attachments.length === 0 ? [] : [`I have seen ${joinWords(attachments)} in this conversation.`];
  const wanted = Math.round(lengthFor(question) * (LENGTHS[verbosity ?? ''] ?? 1));
  const count = toolResults === undefined ? Math.min(MOST_SENTENCES, Math.max(1, wanted)) : 1;
  const body = chance.shuffle(BODY).slice(0, count).map(fill);
  const first = [opening, NOTICE, ...seen].join(' ');
  return [first, ...paragraphs([...body, fill(chance.pick(CLOSINGS))])].join('\n\n');
}

/** Writes one sentence about a question. */
export function writeSentence(prompt: Prompt, chance: Chance): string {
  return filler(prompt, chance)(chance.pick(BODY));
}

/** Writes what was thought before an answer. */
export function writeReasoning(prompt: Prompt, chance: Chance, sentences: number): string {
  const fill = filler(prompt, chance);
  return Array.from({ length: sentences }, (_, index) => fill(THOUGHTS[index % THOUGHTS.length] ?? THOUGHTS[0])).join(
    ' ',
  );
}

/** Puts topics into sentences, one after the other, so that all of them are taken up. */
function filler({ topics }: Prompt, chance: Chance): (sentence: string) => string {
  const list = topics.length > 0 ? topics : COMMON_TOPICS;
  let used = chance.integer(0, list.length - 1);
  return (sentence) => {
    const a = list[used % list.length] ?? '';
    const b = list.length > 1 ? (list[(used + 1) % list.length] ?? '') : chance.pick(['the context', 'the details']);
    used += 1;
    return sentence.replaceAll('{a}', () => a).replaceAll('{b}', () => b);
  };
}

/** Grows with the question, but ever more slowly. */
function lengthFor(question: string): number {
  const words = question.length / 6;
  return FEWEST_SENTENCES + Math.round(Math.sqrt(words));
}

function paragraphs(sentences: readonly string[]): readonly string[] {
  const result: string[] = [];
  for (let start = 0; start < sentences.length; start += SENTENCES_PER_PARAGRAPH) {
    result.push(sentences.slice(start, start + SENTENCES_PER_PARAGRAPH).join(' '));
  }
  return result;
}

/** Sentences of answers. `{a}` and `{b}` stand for two topics of the question. */
const OPENINGS = [
  'Let us look at {a} step by step.',
  'There is more than one way to think about {a}.',
  'In short, the subject of {a} deserves a closer look.',
  'The short version first: with {a}, most of the work is in asking the right question.',
  'When people ask about {a}, they usually want to know where to begin.',
] as const;

/** Says once that nobody real has answered. */
const NOTICE = 'This answer is simulated: no model was called, so please take nothing in it as fact.';

const BODY = [
  'When it comes to {a}, the first thing to settle is what a good outcome would look like.',
  'Many begin with {a} and only later notice how much depends on {b}.',
  'An example says more than a definition: take {a}, change one thing at a time, and watch what follows.',
  'There is a difference between {a} in theory and {a} on an ordinary Tuesday.',
  'It helps to write down what is already known about {a} before asking for more.',
  'With regard to {a}, the usual advice holds: start small, measure, and keep what works.',
  'The costs of {a} are easy to see, while the benefits tend to arrive late and quietly.',
  'Two things are often confused here, namely {a} and {b}.',
  'Should {a} and {b} pull in different directions, the simpler of the two deserves the first try.',
  'None of this has to be perfect, as long as anything decided about {a} can be changed later.',
  'A second opinion on {a} is worth more than a third reading of the same page.',
  'Those who have dealt with {a} for years tend to say that the details matter less than the order of the decisions.',
  'In practice the subject of {a} comes up again and again, so a short checklist pays for itself within a week.',
  'The most common mistake with {a} is to treat as one question what is really three.',
  'Compared with {b}, the matter of {a} is forgiving: most wrong turns can be undone in an afternoon.',
  'What makes {a} interesting is that small changes have effects far away from where they were made.',
  'It would be fair to say that work on {a} rewards patience more than cleverness.',
  'Where the facts about {a} run out, a clearly stated assumption is better than a confident guess.',
  'With {a} out of the way, the rest of the question becomes mostly a matter of arithmetic.',
  'Seen from a distance, the matter of {a} is less a problem than a choice between several decent options.',
  'Nobody can plan for everything, but with {a} a little preparation goes a long way.',
  'A note on {b}: this changes the picture less than one would expect, at least at the beginning.',
  'The numbers around {a} look impressive, and yet the plain cases are the ones that decide.',
  'If only one thing is remembered about {a}, it should be that nothing here stands alone.',
] as const;

const CLOSINGS = [
  'If you say a little more about {a}, the answer can become more specific.',
  'That should be a usable starting point for {a}.',
  'A reasonable next step would be to try this out on one small case of {a}.',
  'From here, the best way to learn about {a} is to look at a concrete case.',
] as const;

const THOUGHTS = [
  'The question is about {a}, so first it has to be clear what is really being asked.',
  'There are several ways to read {a}; the plainest one is probably meant.',
  'It may matter how {a} and {b} hang together.',
  'An example could make {a} clearer than a definition would.',
  'The conversation so far says nothing that contradicts this.',
  'It would be wrong to promise too much about {a}.',
  'Another approach would be to start from {b} and work backwards.',
  'Comparing the two approaches, the first one needs fewer assumptions about {a}.',
  'The length of the answer should fit the length of the question.',
  'One more check of {a} against {b}: nothing speaks against it.',
  'So the answer begins with {a}, says what is known, and leaves the rest open.',
] as const;

/** Topics for questions that have none of their own. */
export const COMMON_TOPICS = ['the question', 'the context', 'the details'] as const;

/** Words that say nothing about the question. */
const STOPWORDS = new Set(
  (
    'about above after again against also although always another answer anything around away back because ' +
    'been before being below best better between both bring call cannot come compare compared could describe ' +
    'difference does doing done down during each either else ever every explain find first five four from ' +
    'further gets give given gives goes going good great have having hello help here hers himself into invent ' +
    'itself just keep kind know last least less like list look make makes many maybe mean might more most much ' +
    'must myself name need needs never next none nothing only onto other others ought ours over paragraph ' +
    'please question quite rather really said same says second seem sentence sentences several shall short ' +
    'should show since some someone something start such summarise summarize take taking tell than thank ' +
    'thanks that their theirs them then there these they thing things think this those three through today ' +
    'together under until upon used using very want wants well were what when where whether which while whose ' +
    'will with within without word words work works worth would write your yours'
  ).split(' '),
);

/** Topics that an answer takes up at most. */
const MOST_TOPICS = 12;
const LONGEST_TOPIC = 40;
/** How far into a long message its topics are looked for. */
const SEARCHED = 20_000;
const WORD = /[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}'-]*[\p{L}\p{M}\p{N}])?/gu;
const ABBREVIATION = /^\p{Lu}[\p{Lu}\p{N}]+$/u;

/** The words of a question that are worth repeating, in the order in which they come: long ones and abbreviations. */
export function topicsOf(question: string): readonly string[] {
  const topics = new Map<string, string>();
  for (const [word] of question.slice(0, SEARCHED).matchAll(WORD)) {
    const folded = word.toLowerCase();
    if (STOPWORDS.has(folded) || folded.startsWith('simulat') || word.length > LONGEST_TOPIC) continue;
    const isLong = word.length >= 4 && !word.includes("'") && /\p{L}/u.test(word);
    if (isLong || ABBREVIATION.test(word)) topics.set(folded, topics.get(folded) ?? word);
    if (topics.size === MOST_TOPICS) break;
  }
  return [...topics.values()];
}

/** The first name in a question: a word with a capital that does not begin a sentence. */
export function properNounOf(question: string): string | undefined {
  return /(?<=[\p{L}\p{N},;:] )\p{Lu}[\p{L}\p{M}'-]+(?: \p{Lu}[\p{L}\p{M}'-]+)*/u.exec(
    question.slice(0, SEARCHED),
  )?.[0];
}

/** Members of an object that a summary names. */
const MOST_MEMBERS = 4;
const LONGEST_QUOTE = 160;

/** Says in a sentence or two what the last tool gave back. */
function summarizeToolResults({ count, tool, text }: ToolResults): string {
  const summary = summaryOf(read.parse(text) ?? text);
  return count > 1
    ? `There are ${count} results. The last one, from ${tool}, says: ${summary}.`
    : `The result of ${tool} is in: ${summary}.`;
}

function summaryOf(value: unknown): string {
  if (Array.isArray(value)) return summaryOfList(value);
  if (!isJsonObject(value)) return shortly(value);
  const entries = Object.entries(value);
  if (entries.length === 0) return 'nothing';
  const named = entries.slice(0, MOST_MEMBERS).map(([name, member]) => `${name} is ${shortly(member)}`);
  const more = entries.length - named.length;
  return joinWords(more === 0 ? named : [...named, `${more} more`]);
}

function summaryOfList(list: readonly unknown[]): string {
  if (list.length === 0) return 'an empty list';
  return `a list of ${list.length}, of which the first is ${shortly(list[0])}`;
}

function shortly(value: unknown): string {
  if (Array.isArray(value)) return value.length === 1 ? 'a list of 1' : `a list of ${value.length}`;
  const text = typeof value === 'string' ? value.trim().replaceAll(/\s+/g, ' ') : JSON.stringify(value);
  const characters = Array.from(text.slice(0, 2 * LONGEST_QUOTE));
  const cut = characters.length > LONGEST_QUOTE ? `${characters.slice(0, LONGEST_QUOTE).join('')}…` : text;
  return cut.replace(/[.!?]+$/, '') || 'empty';
}

/** Joins words as a sentence does: `one, two and three`. */
function joinWords(words: readonly string[]): string {
  const last = words.at(-1) ?? '';
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} and ${last}`;
}
