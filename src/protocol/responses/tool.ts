import * as z from 'zod';
import { functionName, jsonObject, nullish } from '../fields.ts';
import { isServerToolType } from '../tools.ts';

/** A function that the caller runs. Unlike in the chat form, its members stand beside `type`. */
export interface FunctionToolEntry {
  readonly type: 'function';
  readonly name: string;
  readonly description?: string | null | undefined;
  readonly parameters?: Readonly<Record<string, unknown>> | null | undefined;
  readonly strict?: boolean | null | undefined;
  /** Withheld from the model until a tool search finds it. */
  readonly defer_loading?: boolean | null | undefined;
  readonly cache_control?: unknown;
}

/** A tool of the caller that takes free text, possibly in a grammar. */
export interface CustomToolEntry {
  readonly type: 'custom';
  readonly name: string;
  readonly description?: string | null | undefined;
  readonly format?:
    | { readonly type: 'text' }
    | { readonly type: 'grammar'; readonly syntax: string; readonly definition: string }
    | null
    | undefined;
  readonly defer_loading?: boolean | null | undefined;
}

/** A tool that the router or the provider runs. */
export interface HostedToolEntry {
  readonly type: string;
  readonly [option: string]: unknown;
}

/** An entry of `tools`. */
export type ToolEntry = FunctionToolEntry | CustomToolEntry | HostedToolEntry;

/** Which tool the model may or must call. */
export type ToolChoiceEntry =
  | 'none'
  | 'auto'
  | 'required'
  | { readonly type: 'function' | 'custom'; readonly name: string }
  | {
      readonly type: 'allowed_tools';
      readonly mode: 'auto' | 'required';
      readonly tools: readonly { readonly type: string; readonly name?: string | undefined }[];
    }
  | { readonly type: string };

const functionTool = z.looseObject({
  type: z.literal('function'),
  name: functionName,
  description: nullish(z.string()),
  parameters: nullish(jsonObject),
  strict: nullish(z.boolean()),
  defer_loading: nullish(z.boolean()),
});

const customTool = z.looseObject({
  type: z.literal('custom'),
  name: functionName,
  description: nullish(z.string()),
  format: nullish(
    z.discriminatedUnion('type', [
      z.looseObject({ type: z.literal('text') }),
      z.looseObject({ type: z.literal('grammar'), syntax: z.string(), definition: z.string() }),
    ]),
  ),
  defer_loading: nullish(z.boolean()),
});

const hostedTool = z.looseObject({ type: z.string().min(1).max(64), parameters: nullish(jsonObject) });

/** The schema of a tool, found by its type. */
export function schemaOfTool({ type }: { readonly type?: unknown }): z.ZodType {
  if (type === 'function') return functionTool;
  return type === 'custom' ? customTool : hostedTool;
}

/** True for a hosted tool that the router can run for any model. */
export function isTranslatedTool(type: string): boolean {
  return isServerToolType(type) || type === 'image_generation';
}

const namedChoice = z.looseObject({ name: z.string().min(1) });

const choiceSchemas: ReadonlyMap<unknown, z.ZodType> = new Map<unknown, z.ZodType>([
  ['function', namedChoice],
  ['custom', namedChoice],
  [
    'allowed_tools',
    z.looseObject({
      mode: z.enum(['auto', 'required']),
      tools: z.array(z.looseObject({ type: z.string(), name: z.string().optional() })).min(1),
    }),
  ],
]);

const choiceWords = z.union([z.enum(['none', 'auto', 'required']), z.looseObject({ type: z.string().min(1).max(64) })]);

/** The schema of `tool_choice`, found by its type. */
export function schemaOfChoice(choice: unknown): z.ZodType {
  const type = typeof choice === 'object' && choice !== null ? (choice as { type?: unknown }).type : undefined;
  return choiceSchemas.get(type) ?? choiceWords;
}
