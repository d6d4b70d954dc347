/** Checks what plugins return. */
import { nullish, optional, refine } from '../schema/modifiers.ts';
import { read } from './issues.ts';
import type { AnySchema } from '../schema/form.ts';
import { jsonObject, array } from '../schema/collections.ts';
import { looseObject } from '../schema/object.ts';
import { literal, boolean, integer, string, enumeration } from '../schema/scalars.ts';
import type { Choice } from './chat-result.ts';
import { messageSchema } from './message.ts';
import { responseFormatSchema } from './reasoning.ts';
import { isFunctionTool, isServerToolType, type Tool, toolChoiceSchema, toolSchema } from './tools.ts';
import { inspectJson } from './inspect-json.ts';

/** What plugins may give back is bounded like what callers may send. */
const LIMITS = { depth: 64, nodes: 400_000 };

const functionTool = refine(toolSchema, { test: (tool) => isFunctionTool(tool as Tool), says: 'must be a function' });
const serverTool = looseObject({
  type: refine(string(), { test: isServerToolType, says: 'must be the type of a server tool' }),
  parameters: nullish(jsonObject),
});
const modality = enumeration(['text', 'image', 'audio', 'video', 'file']);

/** The members of a change that are JSON. Loose about the rest: those are typed, and only read by us. */
export const changeSchema = looseObject({
  messages: optional(array(messageSchema, { least: 1 })),
  parameters: optional(jsonObject),
  tools: optional(array(functionTool)),
  serverTools: optional(array(serverTool)),
  toolChoice: optional(toolChoiceSchema),
  responseFormat: optional(responseFormatSchema),
  reasoning: optional(looseObject({ exclude: boolean })),
  outputModalities: optional(array(modality)),
  preferences: optional(jsonObject),
  extra: optional(jsonObject),
  needs: optional(jsonObject),
});

const choiceSchema = looseObject({
  index: integer({ least: 0 }),
  finish_reason: nullish(enumeration(['stop', 'length', 'tool_calls', 'content_filter'])),
  message: looseObject({
    role: literal('assistant'),
    content: nullish(string()),
    refusal: nullish(string()),
    reasoning: nullish(string()),
    tool_calls: optional(
      array(looseObject({ id: string(), function: looseObject({ name: string(), arguments: string() }) })),
    ),
  }),
});

/** What choices of an answer that a plugin gives back have to be. */
export const choicesSchema = array(choiceSchema, { least: 1 });

/** What is wrong with a change that a plugin gives back; undefined when nothing is. */
export function problemOfChange(change: object, maxCharacters: number): string | undefined {
  const { preferences: _, ...json } = change as { readonly preferences?: unknown };
  return problemOfSize(json, maxCharacters) ?? problemOf(changeSchema, change);
}

/** What is wrong with the choices of an answer that a plugin gives back; undefined when nothing is. */
export function problemOfChoices(choices: unknown, maxCharacters: number): string | undefined {
  return problemOfSize(choices, maxCharacters) ?? problemOf(choicesSchema, choices);
}

/** Choices with the members that clients rely on, where a plugin left them out. */
export function completeChoices(choices: readonly Choice[]): readonly Choice[] {
  return choices.map((choice) => ({ ...BARE_CHOICE, ...choice, message: { ...BARE_MESSAGE, ...choice.message } }));
}

const BARE_CHOICE = { finish_reason: null, native_finish_reason: null, logprobs: null };
const BARE_MESSAGE = { content: null, refusal: null, reasoning: null };

function problemOfSize(value: unknown, maxCharacters: number): string | undefined {
  const inspection = inspectJson(value, LIMITS);
  if (!inspection.ok) return `${inspection.path} ${inspection.problem}`.trim();
  return inspection.characters > maxCharacters ? `holds more than ${maxCharacters} characters` : undefined;
}

function problemOf(schema: AnySchema, value: unknown): string | undefined {
  const parsed = read(schema, value);
  return parsed.ok ? undefined : `${parsed.path} ${parsed.problem}`.trim();
}
