/** The tools of the Responses API, and their schemas. */
import { nullish, optional } from '../../../schema/modifiers.ts';
import { union, discriminatedUnion } from '../../../schema/choices.ts';
import type { AnySchema } from '../../../schema/form.ts';
import { jsonObject, array } from '../../../schema/collections.ts';
import { looseObject } from '../../../schema/object.ts';
import { literal, boolean, string, enumeration } from '../../../schema/scalars.ts';
import { functionName } from '../../../protocol/fields.ts';
import { isServerToolType } from '../../../protocol/tools.ts';

/** A function that the caller runs. Unlike in the chat form, its members are beside `type`. */
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

const functionTool = looseObject({
  type: literal('function'),
  name: functionName,
  description: nullish(string()),
  parameters: nullish(jsonObject),
  strict: nullish(boolean),
  defer_loading: nullish(boolean),
});

const customTool = looseObject({
  type: literal('custom'),
  name: functionName,
  description: nullish(string()),
  format: nullish(
    discriminatedUnion('type', [
      looseObject({ type: literal('text') }),
      looseObject({ type: literal('grammar'), syntax: string(), definition: string() }),
    ]),
  ),
  defer_loading: nullish(boolean),
});

const hostedTool = looseObject({ type: string({ least: 1, most: 64 }), parameters: nullish(jsonObject) });

/** The schema of a tool, found by its type. */
export function schemaOfTool({ type }: { readonly type?: unknown }): AnySchema {
  if (type === 'function') return functionTool;
  return type === 'custom' ? customTool : hostedTool;
}

/** True for a hosted tool that the router can run for any model. */
export function isTranslatedTool(type: string): boolean {
  return isServerToolType(type) || type === 'image_generation';
}

const namedChoice = looseObject({ name: string({ least: 1 }) });

const choiceSchemas: ReadonlyMap<unknown, AnySchema> = new Map<unknown, AnySchema>([
  ['function', namedChoice],
  ['custom', namedChoice],
  [
    'allowed_tools',
    looseObject({
      mode: enumeration(['auto', 'required']),
      tools: array(looseObject({ type: string(), name: optional(string()) }), { least: 1 }),
    }),
  ],
]);

const choiceWords = union([
  enumeration(['none', 'auto', 'required']),
  looseObject({ type: string({ least: 1, most: 64 }) }),
]);

/** The schema of `tool_choice`, found by its type. */
export function schemaOfChoice(choice: unknown): AnySchema {
  const type = typeof choice === 'object' && choice !== null ? (choice as { type?: unknown }).type : undefined;
  return choiceSchemas.get(type) ?? choiceWords;
}
