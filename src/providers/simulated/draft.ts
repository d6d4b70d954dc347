import type { Assignment } from './assignment.ts';
import type { Chance } from './chance.ts';
import { jsonFromSchema } from './json-from-schema.ts';
import type { Prompt } from './prompt.ts';
import { writeAnswer, writeReasoning } from './prose.ts';
import type { SimulatedAnswer, SimulatedToolCall } from './scripted-answer.ts';
import { chooseTools } from './tool-choice.ts';

/** A function call as it stands in an answer. */
export interface DraftCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** An answer before it is cut into tokens and to its limits. */
export interface Draft {
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly DraftCall[];
}

/** Letters and digits of an id. */
const ID_LENGTH = 24;

/** Makes up the answer: calls of functions if some are due, otherwise JSON if that is wanted, otherwise prose. */
export function draftAnswer(assignment: Assignment, prompt: Prompt, chance: Chance): Draft {
  const { reasoning, schema, verbosity } = assignment;
  const thought = reasoning === undefined ? '' : writeReasoning(prompt, chance.fork('reasoning'), reasoning.sentences);
  const calls = chooseTools(assignment, prompt).map(({ function: { name, parameters } }, index): DraftCall => {
    const own = chance.fork(`call ${index}`);
    const values = jsonFromSchema({ type: 'object', ...parameters }, own, prompt);
    return { id: newId(own), name, arguments: JSON.stringify(values) };
  });
  if (calls.length > 0) return { reasoning: thought, text: '', calls };
  const text =
    schema === undefined
      ? writeAnswer(prompt, chance.fork('text'), verbosity)
      : JSON.stringify(jsonFromSchema(schema, chance.fork('json'), prompt));
  return { reasoning: thought, text, calls };
}

/** The answer of a script. */
export function draftScripted(answer: string | SimulatedAnswer, chance: Chance): Draft {
  const { text = '', toolCalls = [], reasoning = '' } = typeof answer === 'string' ? { text: answer } : answer;
  const calls = toolCalls.map((call, index): DraftCall => ({
    id: call.id ?? newId(chance.fork(`call ${index}`)),
    name: call.name,
    arguments: argumentsOf(call),
  }));
  return { reasoning, text, calls };
}

function argumentsOf({ arguments: given = {} }: SimulatedToolCall): string {
  return typeof given === 'string' ? given : JSON.stringify(given);
}

function newId(chance: Chance): string {
  const source = chance.fork('id');
  return `call_${Array.from({ length: ID_LENGTH }, () => source.integer(0, 35).toString(36)).join('')}`;
}
