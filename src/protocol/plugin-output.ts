import * as z from 'zod';
import type { Choice } from './chat-result.ts';
import { FIRST_PROBLEM, jsonObject, nullish } from './fields.ts';
import { inspectJson } from './inspect-json.ts';
import { describeIssues } from './issues.ts';
import { messageSchema } from './message.ts';
import { responseFormatSchema } from './reasoning.ts';
import { isFunctionTool, isServerToolType, type Tool, toolChoiceSchema, toolSchema } from './tools.ts';

/** What plugins may give back is bounded like what callers may send. */
const LIMITS = { depth: 64, nodes: 400_000 };

const functionTool = toolSchema.refine((tool) => isFunctionTool(tool as Tool), 'must be a function');
const serverTool = z.looseObject({
  type: z.string().refine(isServerToolType, 'must be the type of a server tool'),
  parameters: nullish(jsonObject),
});
const modality = z.enum(['text', 'image', 'audio', 'video', 'file']);

/** The members of a change that are JSON. Loose about the rest: those are typed, and only read by us. */
const changeSchema = z.looseObject({
  messages: z.array(messageSchema).min(1).optional(),
  parameters: jsonObject.optional(),
  tools: z.array(functionTool).optional(),
  serverTools: z.array(serverTool).optional(),
  toolChoice: toolChoiceSchema.optional(),
  responseFormat: responseFormatSchema.optional(),
  reasoning: z.looseObject({ exclude: z.boolean() }).optional(),
  outputModalities: z.array(modality).optional(),
  preferences: jsonObject.optional(),
  extra: jsonObject.optional(),
  needs: jsonObject.optional(),
});

const choiceSchema = z.looseObject({
  index: z.int().min(0),
  finish_reason: nullish(z.enum(['stop', 'length', 'tool_calls', 'content_filter'])),
  message: z.looseObject({
    role: z.literal('assistant'),
    content: nullish(z.string()),
    refusal: nullish(z.string()),
    reasoning: nullish(z.string()),
    tool_calls: z
      .array(z.looseObject({ id: z.string(), function: z.looseObject({ name: z.string(), arguments: z.string() }) }))
      .optional(),
  }),
});

const choicesSchema = z.array(choiceSchema).min(1);

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

function problemOf(schema: z.ZodType, value: unknown): string | undefined {
  const parsed = schema.safeParse(value, FIRST_PROBLEM);
  if (parsed.success) return undefined;
  const { path, problem } = describeIssues(parsed.error.issues, value);
  return `${path} ${problem}`.trim();
}
