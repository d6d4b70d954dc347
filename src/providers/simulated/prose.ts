import type { Chance } from './chance.ts';
import type { Prompt } from './prompt.ts';
import { BODY, CLOSINGS, COMMON_TOPICS, NOTICE, OPENINGS, THOUGHTS } from './sentences.ts';
import { summarizeToolResults } from './tool-results.ts';
import { joinWords } from './words.ts';

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
