import type { FunctionTool } from '../../protocol/tools.ts';
import type { Assignment } from './assignment.ts';
import type { Prompt } from './prompt.ts';

/** Parts of a function's name that say what it does rather than what it is about. */
const VERBS = new Set(
  'add all by call create current delete do fetch find for from function get in list lookup make my new of on read router run send set the to tool update use with'.split(
    ' ',
  ),
);

/**
 * The functions that an answer calls.
 *
 * With `auto`, a function is called when the last user message says every part of its name that is not a verb or a
 * filler: `get_weather` for "weather", `create_calendar_event` for "calendar" and "event", in any order and case, in
 * singular or plural. Descriptions are not looked at. `required` calls those functions, or the first one if the message
 * names none; a named function is called whatever was said. After the result of a tool nothing is called unless it is
 * forced, so that a loop of tool calls ends.
 */
export function chooseTools(
  { tools, toolChoice, parallelToolCalls }: Assignment,
  { question, toolResults }: Prompt,
): readonly FunctionTool[] {
  if (typeof toolChoice === 'object') return tools.filter((tool) => tool.function.name === toolChoice.name).slice(0, 1);
  if (toolChoice === 'auto' && toolResults !== undefined) return [];
  const said = new Set(wordsOf(question));
  const asked = tools.filter((tool) => subjectOf(tool.function.name).every((word) => said.has(word)));
  const chosen = asked.length === 0 && toolChoice === 'required' ? tools.slice(0, 1) : asked;
  return parallelToolCalls ? chosen : chosen.slice(0, 1);
}

/** What a function is about, from its name; the whole name where all of it is verbs. */
function subjectOf(name: string): readonly string[] {
  const words = wordsOf(name);
  const subject = words.filter((word) => !VERBS.has(word));
  return subject.length > 0 ? subject : words;
}

/** The words of a text or of an identifier, in lower case and singular. */
function wordsOf(text: string): readonly string[] {
  const spaced = text.replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2').toLowerCase();
  return (spaced.match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => (word.length > 3 ? word.replace(/s$/, '') : word));
}
