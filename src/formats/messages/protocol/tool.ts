/** The tools of Anthropic's Messages, and their schemas. */
import { nullish, optional } from '../../../schema/modifiers.ts';
import { narrowed, discriminatedUnion } from '../../../schema/choices.ts';
import { jsonObject, array } from '../../../schema/collections.ts';
import { looseObject } from '../../../schema/object.ts';
import { literal, boolean, integer, string } from '../../../schema/scalars.ts';
import { type CacheControl, cacheControlSchema } from '../../../protocol/content-part.ts';
import { isServerToolType } from '../../../protocol/tools.ts';

/** Characters in a tool's name on this wire; the chat form takes fewer. */
const MAX_TOOL_NAME_LENGTH = 128;

/** A tool that the caller runs. */
export interface CustomTool {
  readonly type?: 'custom' | null | undefined;
  /** At most 128 letters, digits, `_` and `-`. */
  readonly name: string;
  readonly description?: string | null | undefined;
  /** JSON Schema of an object. */
  readonly input_schema: Readonly<Record<string, unknown>>;
  readonly strict?: boolean | null | undefined;
  readonly cache_control?: CacheControl | null | undefined;
}

/** A tool with a version in its `type`, which Anthropic defines, or a server tool of this router. */
export interface TypedTool {
  readonly type: string;
  readonly name?: string | undefined;
  readonly cache_control?: CacheControl | null | undefined;
  readonly [option: string]: unknown;
}

/** An entry of `tools`. */
export type MessagesTool = CustomTool | TypedTool;

/** Which tool the model may or must call. */
export type MessagesToolChoice = {
  /** False, the default, lets the model make several calls in one answer. */
  readonly disable_parallel_tool_use?: boolean | null | undefined;
} & ({ readonly type: 'auto' | 'any' | 'none' } | { readonly type: 'tool'; readonly name: string });

/** True for a tool that the caller defines and runs. */
export function isCustomTool(tool: MessagesTool): tool is CustomTool {
  return tool.type == null || tool.type === 'custom';
}

/** True for a tool of this router, in any accepted spelling. */
export function isRouterTool(tool: MessagesTool): boolean {
  return !isCustomTool(tool) && isServerToolType(tool.type);
}

const name = string({
  least: 1,
  most: MAX_TOOL_NAME_LENGTH,
  pattern: [/^[a-zA-Z0-9_-]+$/, 'may hold only letters, digits, "_" and "-"'],
});

const customTool = looseObject({
  type: nullish(literal('custom')),
  name,
  description: nullish(string()),
  input_schema: looseObject({ type: literal('object') }),
  strict: nullish(boolean),
  cache_control: nullish(cacheControlSchema),
});

const domains = nullish(array(string({ least: 1 })));

/** Members that the web tools of Anthropic and those of this router have in common. */
const typedTool = looseObject({
  type: string({ least: 1, most: 128 }),
  name: optional(string({ least: 1, most: MAX_TOOL_NAME_LENGTH })),
  max_uses: nullish(integer({ least: 1 })),
  allowed_domains: domains,
  blocked_domains: domains,
  max_content_tokens: nullish(integer({ least: 1 })),
  user_location: nullish(jsonObject),
  parameters: nullish(jsonObject),
  cache_control: nullish(cacheControlSchema),
});

const FUNCTION = 'must be "custom" or left out: tools of this wire have name, description and input_schema';

/** Schema of a {@link MessagesTool}. */
export const messagesToolSchema = narrowed(looseObject({}), ({ type }) => {
  if (type === 'function') return { says: FUNCTION, path: ['type'] };
  return type == null || type === 'custom' ? customTool : typedTool;
});

const parallel = { disable_parallel_tool_use: nullish(boolean) };

/** Schema of a {@link MessagesToolChoice}. */
export const messagesToolChoiceSchema = discriminatedUnion('type', [
  looseObject({ type: literal('auto'), ...parallel }),
  looseObject({ type: literal('any'), ...parallel }),
  looseObject({ type: literal('none'), ...parallel }),
  looseObject({ type: literal('tool'), name: string({ least: 1 }), ...parallel }),
]);
