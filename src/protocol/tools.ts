/** Functions and server tools in requests, and their schemas. */
import { nullish, optional, refine } from '../schema/modifiers.ts';
import { union } from '../schema/choices.ts';
import { looseObject } from '../schema/object.ts';
import { jsonObject } from '../schema/collections.ts';
import { literal, boolean, string, enumeration } from '../schema/scalars.ts';
import { type CacheControl, cacheControlSchema } from './content-part.ts';
import { functionName } from './fields.ts';

/** A function that the caller runs. `parameters` is a JSON Schema. */
export interface FunctionTool {
  readonly type: 'function';
  readonly function: {
    /** At most 64 letters, digits, `_` and `-`. */
    readonly name: string;
    readonly description?: string | null | undefined;
    readonly parameters?: Readonly<Record<string, unknown>> | null | undefined;
    readonly strict?: boolean | null | undefined;
  };
  readonly cache_control?: CacheControl | null | undefined;
}

/** Types of server tools that come with the router. */
export type BuiltInServerTool =
  | 'router:web_search'
  | 'router:web_fetch'
  | 'router:datetime'
  | 'router:fusion'
  | 'router:advisor'
  | 'router:subagent'
  | 'router:image_generation'
  | 'router:experimental__search_models'
  | 'router:files'
  | 'router:mcp';

/**
 * A tool that the router itself runs: `router:web_search`, `router:datetime` and so on, or one of the short forms
 * `web_search…`. Options are under `parameters` (contract: plugins; gaps 2.1).
 */
export interface ServerTool {
  /** Those that come with the router complete in the editor. */
  readonly type: BuiltInServerTool | (`router:${string}` & {}) | `openrouter:${string}` | `web_search${string}`;
  readonly parameters?: Readonly<Record<string, unknown>> | null | undefined;
  readonly [option: string]: unknown;
}

/** An entry of `tools`. */
export type Tool = FunctionTool | ServerTool;

/** Which tool the model may or must call. An object that names a server tool in `type` forces that tool. */
export type ToolChoice =
  | 'none'
  | 'auto'
  | 'required'
  | { readonly type: 'function'; readonly function: { readonly name: string } }
  | { readonly type: ServerTool['type'] };

/** Short forms of `router:web_search` that other APIs use. */
export const WEB_SEARCH_SHORT_FORMS = [
  'web_search',
  'web_search_preview',
  'web_search_preview_2025_03_11',
  'web_search_2025_08_26',
] as const;

/** Server tools that exist for other operations only (gaps 2.1). */
export const REFUSED_SERVER_TOOLS: readonly string[] = [
  'router:bash',
  'router:shell',
  'router:tool_search',
  'router:apply_patch',
];

/** True for the type of a tool that the router runs itself, in any accepted spelling. */
export function isServerToolType(type: string): boolean {
  return /^(?:open)?router:[a-z_]+$/.test(type) || (WEB_SEARCH_SHORT_FORMS as readonly string[]).includes(type);
}

/** True for a tool that the caller runs. */
export function isFunctionTool(tool: Tool): tool is FunctionTool {
  return tool.type === 'function';
}

const TYPES = 'must be "function" or a server tool such as "router:web_search"';

const functionToolSchema = looseObject({
  type: literal('function', TYPES),
  function: looseObject({
    name: functionName,
    description: nullish(string()),
    parameters: nullish(jsonObject),
    strict: nullish(boolean),
  }),
  cache_control: nullish(cacheControlSchema),
});

const serverToolType = refine(string({ says: TYPES }), { test: isServerToolType, says: TYPES, decides: true });

const serverToolSchema = looseObject({ type: serverToolType, parameters: nullish(jsonObject) });

/** Schema of one {@link Tool}. The members of a server tool's `parameters` are checked by that tool. */
export const toolSchema = union([functionToolSchema, serverToolSchema]);

const choiceType = refine(string({ says: TYPES }), {
  test: (type) => type === 'function' || isServerToolType(type),
  says: TYPES,
  decides: true,
});

/** Schema of {@link ToolChoice}. */
export const toolChoiceSchema = union([
  enumeration(['none', 'auto', 'required']),
  refine(looseObject({ type: choiceType, function: optional(looseObject({ name: string({ least: 1 }) })) }), {
    test: (choice) => choice.type !== 'function' || choice.function !== undefined,
    path: ['function'],
    says: 'is required and must be an object with a name',
  }),
]);

/**
 * What a vendor requires back with a tool call, as clients of Google's own chat completions layer carry it. Only the
 * vendor that is named gets to see it.
 */
export interface ToolCallExtra {
  readonly google?: {
    /** Opaque; must come back unchanged with its call. */
    readonly thought_signature?: string | undefined;
  };
}
