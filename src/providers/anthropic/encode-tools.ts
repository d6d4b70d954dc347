import type { ParameterName } from '../../catalog/model.ts';
import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/json.ts';
import type { FunctionTool, ToolChoice } from '../../protocol/tools.ts';
import type { SearchToolDefinition, ToolDefinition, Turn } from './blocks.ts';
import { cacheMark } from './encode-content.ts';
import { strictSchema } from './json-schema.ts';
import type { ModelRules, ThinkingPlan } from './plan-thinking.ts';
import { FORMAT_TOOL, type FormatPlan } from './plan-format.ts';
import { EncodeError } from '../codec.ts';
import * as read from '../../platform/json.ts';

/** Which tools the model has, and which of them it may or must call. */
interface EncodedTools {
  readonly tools: readonly (ToolDefinition | SearchToolDefinition)[];
  readonly choice?: Readonly<Record<string, unknown>> | undefined;
  /** What the model is told where a call cannot be forced. */
  readonly instruction?: string | undefined;
}

/** Tools in one request that answers can be held to. */
const MOST_STRICT = 20;

/** What the tools depend on besides the request. */
interface Plans {
  readonly thinking: ThinkingPlan;
  readonly format: FormatPlan;
  readonly turns: readonly Turn[];
}

/** Writes the tools and the choice among them. */
export function encodeTools(
  request: NormalizedRequest,
  rules: ModelRules,
  plans: Plans,
  takes: (name: ParameterName) => boolean,
): EncodedTools {
  const encoded = encodeFunctions(request, rules, plans, takes);
  // A forced answer in a form leaves no room for a search.
  const search = plans.format.type === 'tool' || !takes('web_search_options') ? undefined : encodeSearch(request);
  if (search === undefined) return encoded;
  const { choice, ...rest } = encoded;
  const tools = [...encoded.tools, search];
  // Where only the history has calls, nothing may be called; but the search may.
  return request.tools.length === 0 ? { ...rest, tools } : { ...rest, choice, tools };
}

function encodeFunctions(
  request: NormalizedRequest,
  rules: ModelRules,
  plans: Plans,
  takes: (name: ParameterName) => boolean,
): EncodedTools {
  const { thinking, format, turns } = plans;
  if (format.type === 'tool') {
    const tool = { name: FORMAT_TOOL, description: 'Gives the answer.', input_schema: format.schema };
    return { tools: [tool], choice: { type: 'tool', name: FORMAT_TOOL, disable_parallel_tool_use: true } };
  }
  if (request.tools.length === 0 || !takes('tools')) return toolsOfHistory(turns);
  const single = request.parameters.parallel_tool_calls === false ? { disable_parallel_tool_use: true } : {};
  const wanted = takes('tool_choice') ? encodeChoice(request.toolChoice) : undefined;
  const tools = encodeDefinitions(request.tools, rules);
  if (wanted?.type === 'none') return { tools, choice: wanted };
  const forced = wanted?.type === 'any' || wanted?.type === 'tool';
  if (forced && (thinking.budgeted || !rules.forcedTools)) {
    const which = wanted.type === 'tool' ? `the tool ${wanted.name}` : 'one of the tools';
    return { tools, choice: { type: 'auto', ...single }, instruction: `Call ${which} now.` };
  }
  if (wanted === undefined && Object.keys(single).length === 0) return { tools };
  return { tools, choice: { ...(wanted ?? { type: 'auto' }), ...single } };
}

type Choice =
  | { readonly type: 'auto' | 'any' | 'none' }
  | {
      readonly type: 'tool';
      readonly name: string;
    };

/** A choice that names a tool of the router means nothing to a provider. */
function encodeChoice(choice: ToolChoice | undefined): Choice | undefined {
  if (choice === undefined) return undefined;
  if (choice === 'required') return { type: 'any' };
  if (typeof choice === 'string') return { type: choice };
  return 'function' in choice ? { type: 'tool', name: choice.function.name } : undefined;
}

function encodeDefinitions(tools: readonly FunctionTool[], { structuredOutputs }: ModelRules): ToolDefinition[] {
  let strict = 0;
  return tools.map(({ cache_control: mark, function: { name, description, parameters, strict: wanted } }) => {
    const schema = (parameters ?? {}) as JsonObject;
    const closed = wanted === true && structuredOutputs && strict < MOST_STRICT ? strictSchema(schema) : undefined;
    if (closed !== undefined) strict += 1;
    return {
      name,
      ...(description == null || description === '' ? {} : { description }),
      input_schema: { ...(closed ?? schema), type: 'object' },
      ...(closed === undefined ? {} : { strict: true as const }),
      ...(mark == null ? {} : { cache_control: cacheMark(mark) }),
    };
  });
}

/** A conversation with calls in it must come with tools, also when the caller wants no more calls. */
function toolsOfHistory(turns: readonly Turn[]): EncodedTools {
  const called = turns.flatMap(({ content }) => content.flatMap((one) => (one.type === 'tool_use' ? [one.name] : [])));
  if (called.length === 0) return { tools: [] };
  const tools = [...new Set(called)].map((name) => ({ name, input_schema: { type: 'object' } }));
  return { tools, choice: { type: 'none' } };
}

/**
 * Anthropic's own search, which is what `web_search_options` ask for; undefined when they do not. How much context a
 * search brings is the model's decision here.
 *
 * @throws {@link EncodeError} when a function of the caller has the name of the search.
 */
function encodeSearch({ parameters, tools }: NormalizedRequest): SearchToolDefinition | undefined {
  const { web_search_options: options } = parameters;
  if (options === undefined) return undefined;
  if (tools.some((tool) => tool.function.name === 'web_search')) {
    throw new EncodeError('A function named web_search cannot stand beside the search of the provider');
  }
  const { user_location: location, max_uses: maxUses } = options;
  const [allowed, blocked] = [texts(options['allowed_domains']), texts(options['blocked_domains'])];
  return {
    type: 'web_search_20250305',
    name: 'web_search',
    ...(typeof maxUses === 'number' ? { max_uses: maxUses } : {}),
    ...(allowed.length > 0 ? { allowed_domains: allowed } : {}),
    ...(blocked.length > 0 ? { blocked_domains: blocked } : {}),
    ...(isJsonObject(location) ? { user_location: flat(location) } : {}),
  };
}

function flat({ approximate, ...rest }: JsonObject): JsonObject {
  return { ...rest, ...read.object(approximate), type: 'approximate' };
}

function texts(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((one: JsonValue) => typeof one === 'string') : [];
}
