/** Checks what hooks of plugins gave back, and copies it. */
import type { AnswerVerdict, PluginAnswer, RequestChange, Verdict } from '../../contracts/plugin.ts';
import { frozenCopy } from '../../core/pipeline/frozen.ts';
import type { ChatResult, Choice } from '../../protocol/chat-result.ts';
import { MAX_PLUGIN_OUTPUT_LENGTH } from '../../protocol/limits.ts';
import { completeChoices, problemOfChange, problemOfChoices } from '../../protocol/plugin-output.ts';
import { RouterError } from '../../protocol/router-error.ts';

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

/** An answer that is taken as it is. */
export const TAKEN: AnswerVerdict = { type: 'taken' };

/** Checks what a judge gave back and copies it. Throws a TypeError that says what is wrong. */
export function checkAnswerVerdict(value: unknown): AnswerVerdict {
  const verdict = expectObject(value, 'a judge must give back a verdict such as { type: "taken" }') as AnswerVerdict;
  if (verdict.type === 'taken') {
    return verdict.choices === undefined ? TAKEN : { type: 'taken', choices: checkChoices(verdict.choices) };
  }
  const { path, problem, answer } = verdict.mismatch ?? {};
  if (verdict.type !== 'refused' || [path, problem, answer].some((one) => typeof one !== 'string')) {
    throw new TypeError(
      'a judge must give { type: "taken" }, or { type: "refused", mismatch: { path, problem, answer } }',
    );
  }
  return { type: 'refused', mismatch: { path, problem, answer } };
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
