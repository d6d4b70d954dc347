import type { PluginAnswer, RequestChange, Verdict } from '../../contracts/plugin.ts';
import { frozenCopy } from '../../core/pipeline/frozen.ts';
import { RouterError } from '../../protocol/router-error.ts';
import type { ChatResult, Choice } from '../../protocol/chat-result.ts';
import { MAX_PLUGIN_OUTPUT_LENGTH } from '../../protocol/limits.ts';
import { completeChoices, problemOfChange, problemOfChoices } from '../../protocol/plugin-output.ts';

/** Checks what `onRequest` gave back and copies it. Throws a TypeError that says what is wrong. */
export function checkVerdict(value: unknown, charactersBefore: number): Verdict {
  const verdict = expectObject(value, 'onRequest must give back a verdict such as { type: "continue" }') as Verdict;
  switch (verdict.type) {
    case 'continue': {
      const { change, state } = verdict;
      return { type: 'continue', change: change && checkChange(change, charactersBefore), state };
    }
    case 'answer':
      return { type: 'answer', answer: checkAnswer(verdict.answer) };
    case 'block':
      if (RouterError.isInstance(verdict.error)) return verdict;
      throw new TypeError('a verdict of type "block" must have a RouterError as its error');
    default:
      throw new TypeError('the type of a verdict must be "continue", "answer" or "block"');
  }
}

/** Checks a change and copies it. Throws a TypeError that says what is wrong. */
export function checkChange(value: unknown, charactersBefore: number): RequestChange {
  const change = expectObject(value, 'a change must be an object');
  const problem = problemOfChange(change, charactersBefore + MAX_PLUGIN_OUTPUT_LENGTH);
  if (problem !== undefined) throw new TypeError(`the change is not valid: ${problem}`);
  return frozenCopy(change);
}

/** Checks a non-streaming response that was rewritten; what was not to be changed stays as it was. */
export function checkResult(value: unknown, before: ChatResult): ChatResult {
  const { choices } = expectObject(value, 'onResult must give back the result') as Partial<ChatResult>;
  return { ...before, choices: checkChoices(choices) };
}

function checkAnswer(value: unknown): PluginAnswer {
  const answer = expectObject(value, 'a verdict of type "answer" must have an answer') as PluginAnswer;
  return { ...answer, choices: checkChoices(answer.choices) };
}

function checkChoices(value: unknown): readonly Choice[] {
  const problem = problemOfChoices(value, 2 * MAX_PLUGIN_OUTPUT_LENGTH);
  if (problem !== undefined) throw new TypeError(`the choices are not valid: ${problem}`);
  return completeChoices(frozenCopy(value) as readonly Choice[]);
}

function expectObject(value: unknown, expected: string): object {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new TypeError(expected);
}
