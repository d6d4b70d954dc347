import { isJsonObject } from '../../protocol/json.ts';
import type { ToolResults } from './prompt.ts';
import { joinWords } from './words.ts';

/** Members of an object that a summary names. */
const MOST_MEMBERS = 4;
const LONGEST_QUOTE = 160;

/** Says in a sentence or two what the last tool gave back. */
export function summarizeToolResults({ count, tool, text }: ToolResults): string {
  const summary = summaryOf(parse(text) ?? text);
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

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
