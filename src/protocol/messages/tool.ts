import * as z from 'zod';
import { type CacheControl, cacheControlSchema } from '../content-part.ts';
import { jsonObject, nullish } from '../fields.ts';
import { isServerToolType } from '../tools.ts';

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

const name = z
  .string()
  .min(1)
  .max(MAX_TOOL_NAME_LENGTH)
  .regex(/^[a-zA-Z0-9_-]+$/, 'may hold only letters, digits, "_" and "-"');

const customTool = z.looseObject({
  type: nullish(z.literal('custom')),
  name,
  description: nullish(z.string()),
  input_schema: z.looseObject({ type: z.literal('object') }),
  strict: nullish(z.boolean()),
  cache_control: nullish(cacheControlSchema),
});

const domains = nullish(z.array(z.string().min(1)));

/** Members that the web tools of Anthropic and those of this router have in common. */
const typedTool = z.looseObject({
  type: z.string().min(1).max(128),
  name: z.string().min(1).max(MAX_TOOL_NAME_LENGTH).optional(),
  max_uses: nullish(z.int().min(1)),
  allowed_domains: domains,
  blocked_domains: domains,
  max_content_tokens: nullish(z.int().min(1)),
  user_location: nullish(jsonObject),
  parameters: nullish(jsonObject),
  cache_control: nullish(cacheControlSchema),
});

const FUNCTION = 'must be "custom" or left out: tools of this wire have name, description and input_schema';

/** Schema of a {@link MessagesTool}. */
export const messagesToolSchema = z.looseObject({}).check((context) => {
  const { type } = context.value;
  if (type === 'function') {
    context.issues.push({ code: 'custom', message: FUNCTION, path: ['type'], input: context.value });
    return;
  }
  const schema = type == null || type === 'custom' ? customTool : typedTool;
  const [first] = schema.safeParse(context.value).error?.issues ?? [];
  if (first !== undefined) context.issues.push({ ...first, input: context.value } as z.core.$ZodRawIssue);
});

const parallel = { disable_parallel_tool_use: nullish(z.boolean()) };

/** Schema of a {@link MessagesToolChoice}. */
export const messagesToolChoiceSchema = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('auto'), ...parallel }),
  z.looseObject({ type: z.literal('any'), ...parallel }),
  z.looseObject({ type: z.literal('none'), ...parallel }),
  z.looseObject({ type: z.literal('tool'), name: z.string().min(1), ...parallel }),
]);
