/** Writes requests for the Messages API. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/json.ts';
import type { SearchToolDefinition, RequestTextBlock, ToolDefinition, RequestTurn } from './blocks.ts';
import { cacheMark, textBlocks } from './encode-content.ts';
import { encodeConversation } from './encode-conversation.ts';
import { noteThinking, planThinking, type ThinkingPlan, wireModelName } from './plan-thinking.ts';
import { FORMAT_TOOL, type FormatPlan, planFormat } from './plan-format.ts';
import { heldSchema, type HeldUse, toolArgumentsSchema } from '../../core/schema/rewrite-schema.ts';
import type { JsonSchema } from '../../core/schema/schema-parts.ts';
import type { Accepts } from '../../core/accepts.ts';
import { ChangedSchemas, type Note, UNNOTED } from '../adjustments.ts';
import { type EncodingRules, noteLeftOut, parametersTaken, type Takes, takesReasoning } from '../taken-parameters.ts';
import { EncodeError, tierToAsk } from '../codec.ts';
import { temperatureTaken } from '../openai-compatible/encode-request.ts';
import type { CacheControl } from '../../protocol/content-part.ts';
import * as read from '../../platform/json.ts';
import type { FunctionTool, ToolChoice } from '../../protocol/tools.ts';

/** A request body of the Messages API. */
export type EncodedMessages = Readonly<Record<string, unknown>>;

/**
 * A non-streaming response longer than this may take more than ten minutes, in which nothing is heard and connections
 * are cut, so it is requested as a stream and put together by the router.
 */
const MOST_WHOLE_TOKENS = 21_333;

/** Fields that clients of other APIs send beside those of the contract, and that this API would refuse. */
const FOREIGN = new Set(['store', 'safety_identifier', 'functions', 'function_call']);

/**
 * Writes a request for the Messages API. Parameters that the endpoint or the model does not take are left out; those
 * the client left out stay out, except for the token limit, which the API insists on.
 *
 * @param accepts - The record of the endpoint.
 * @param note - Is called with what is changed because the model does not take it. Default: nobody is.
 * @throws {@link EncodeError} for content that this wire has no form for, and for a parameter that the model does not take
 * and the request requires.
 */
export function encodeMessagesRequest(
  request: NormalizedRequest,
  endpoint: Endpoint,
  accepts: Accepts,
  note: Note = UNNOTED,
): EncodedMessages {
  const conversation = encodeConversation(request, accepts.conversation, {
    withThinking: accepts.reasoning.control !== 'none',
  });
  const { turns } = conversation;
  const requested = withoutUntaken(request, parametersTaken(request, endpoint, accepts, { reasons: false }));
  const thinking = planThinking(requested, endpoint, accepts, turns);
  noteThinking(requested, thinking, accepts, note);
  const takes = parametersTaken(request, endpoint, accepts, { reasons: thinking.on });
  const rules: EncodingRules = { accepts, takes, note };
  noteLeftOut(request, takes, note);
  const format = planFormat(request, thinking, rules);
  const { tools, choice, instruction } = encodeTools(request, { thinking, format, turns }, rules);
  const system = [...conversation.system, ...(format.type === 'instruction' ? textBlocks(format.text) : [])];
  const whole = request.cache.control && cacheMark(request.cache.control);
  const mark = limitCacheMarks(tools, system, turns, whole);
  return {
    ...foreignFree(request.extra),
    model: wireModelName(endpoint.upstreamModel),
    max_tokens: thinking.maxTokens,
    ...(system.length > 0 ? { system } : {}),
    messages: instruction === undefined ? turns : withInstruction(turns, instruction),
    ...(tools.length > 0 ? { tools } : {}),
    ...(choice === undefined ? {} : { tool_choice: choice }),
    ...(thinking.thinking === undefined ? {} : { thinking: thinking.thinking }),
    ...outputConfig(request.extra, thinking, format.type === 'native' ? format.schema : undefined),
    ...sampling(request, rules),
    ...stopSequences(request, takes),
    ...serviceTier(request, endpoint),
    ...(mark === undefined ? {} : { cache_control: mark }),
    metadata: { user_id: request.endUser },
    ...(request.stream || isLong(request, thinking) ? { stream: true } : {}),
  };
}

/** Reasoning that the endpoint does not take is not requested. */
function withoutUntaken(request: NormalizedRequest, takes: Takes): NormalizedRequest {
  const { verbosity, ...parameters } = request.parameters;
  return {
    ...request,
    parameters: verbosity === undefined || !takes('verbosity') ? parameters : request.parameters,
    reasoning: takesReasoning(takes) ? request.reasoning : undefined,
  };
}

function foreignFree(extra: JsonObject): EncodedMessages {
  return Object.fromEntries(Object.entries(extra).filter(([name]) => !FOREIGN.has(name)));
}

/** Effort and schema are in one object; what the caller put there by this API's own name stays. */
function outputConfig(extra: JsonObject, { effort }: ThinkingPlan, schema: JsonSchema | undefined): EncodedMessages {
  if (effort === undefined && schema === undefined) return {};
  const own = extra['output_config'];
  return {
    output_config: {
      ...read.object(own),
      ...(effort === undefined ? {} : { effort }),
      ...(schema === undefined ? {} : { format: { type: 'json_schema', schema } }),
    },
  };
}

function sampling({ parameters }: NormalizedRequest, { accepts, takes, note }: EncodingRules): EncodedMessages {
  const { temperature, top_p: topP, top_k: topK } = parameters;
  return {
    ...(temperature === undefined || !takes('temperature')
      ? {}
      : { temperature: temperatureTaken(temperature, accepts, note) }),
    ...(topP === undefined || !takes('top_p') ? {} : { top_p: topP }),
    // Zero switches it off, which on this wire is said by saying nothing.
    ...(topK === undefined || topK < 1 || !takes('top_k') ? {} : { top_k: topK }),
  };
}

/** The API refuses sequences of nothing but space. */
function stopSequences({ parameters: { stop = [] } }: NormalizedRequest, takes: Takes): EncodedMessages {
  const sequences = stop.filter((sequence) => sequence.trim() !== '');
  return sequences.length === 0 || !takes('stop') ? {} : { stop_sequences: sequences };
}

/** Priority capacity is used where the account has bought some; there is nothing else to choose. */
function serviceTier({ serviceTier: wanted }: NormalizedRequest, endpoint: Endpoint): EncodedMessages {
  const tier = tierToAsk(endpoint, wanted);
  if (tier === 'priority') return { service_tier: 'auto' };
  // What an endpoint does when it is not told is to use priority capacity.
  return tier === 'default' || (wanted === 'priority' && tier === undefined) ? { service_tier: 'standard_only' } : {};
}

function isLong({ parameters }: NormalizedRequest, { maxTokens }: ThinkingPlan): boolean {
  return parameters.max_completion_tokens !== undefined && maxTokens > MOST_WHOLE_TOKENS;
}

/** An instruction at the end leaves everything before it as it was, so that it can be read from the cache. */
function withInstruction(turns: readonly RequestTurn[], instruction: string): readonly RequestTurn[] {
  // Behind a system message at the end nothing may follow but an answer.
  const end = turns.at(-1)?.role === 'system' ? turns.slice(-1) : [];
  const before = end.length === 0 ? turns : turns.slice(0, -1);
  const last = before.at(-1);
  if (last?.role !== 'user') return [...before, { role: 'user', content: textBlocks(instruction) }, ...end];
  return [...before.slice(0, -1), { role: 'user', content: [...last.content, ...textBlocks(instruction)] }, ...end];
}

/** Marks in one request; the one at the top counts too. */
const MOST_MARKS = 4;

type Markable = { cache_control?: CacheControl };

/**
 * Takes away cache marks until the API accepts the rest, in place: at most four, none on the last block beside a mark
 * for the whole request, and none that lives an hour behind one that lives five minutes. Of too many, the first stays,
 * which other conversations share, and the last ones, which this one goes on from.
 *
 * @returns the mark for the whole request, as it may be sent.
 */
function limitCacheMarks(
  tools: readonly Markable[],
  system: readonly RequestTextBlock[],
  turns: readonly RequestTurn[],
  whole: CacheControl | undefined,
): CacheControl | undefined {
  const blocks: readonly Markable[] = [...tools, ...system, ...turns.flatMap(({ content }) => content as Markable[])];
  if (whole !== undefined) delete blocks.at(-1)?.cache_control;
  const marked = blocks.filter(({ cache_control: mark }) => mark !== undefined);
  const most = whole === undefined ? MOST_MARKS : MOST_MARKS - 1;
  for (const block of marked.splice(1, marked.length - most)) delete block.cache_control;
  let isShort = false;
  for (const block of marked) {
    const lasts = block.cache_control?.ttl === '1h';
    if (isShort && lasts) block.cache_control = SHORT;
    isShort ||= !lasts;
  }
  return isShort && whole?.ttl === '1h' ? SHORT : whole;
}

const SHORT: CacheControl = { type: 'ephemeral' };

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
  readonly turns: readonly RequestTurn[];
}

/** Writes the tools and the choice among them. */
function encodeTools(request: NormalizedRequest, plans: Plans, rules: EncodingRules): EncodedTools {
  const encoded = encodeFunctions(request, plans, rules);
  // A forced answer in a form leaves no room for a search.
  const search = plans.format.type === 'tool' || !rules.takes('web_search_options') ? undefined : encodeSearch(request);
  if (search === undefined) return encoded;
  const { choice, ...rest } = encoded;
  const tools = [...encoded.tools, search];
  // Where only the history has calls, nothing may be called; but the search may.
  return request.tools.length === 0 ? { ...rest, tools } : { ...rest, choice, tools };
}

function encodeFunctions(
  request: NormalizedRequest,
  { thinking, format, turns }: Plans,
  { accepts, takes, note }: EncodingRules,
): EncodedTools {
  if (format.type === 'tool') {
    const tool = { name: FORMAT_TOOL, description: 'Gives the answer.', input_schema: format.schema };
    return { tools: [tool], choice: { type: 'tool', name: FORMAT_TOOL, disable_parallel_tool_use: true } };
  }
  if (request.tools.length === 0 || !takes('tools')) return toolsOfHistory(turns);
  const single = request.parameters.parallel_tool_calls === false ? { disable_parallel_tool_use: true } : {};
  const wanted = takes('tool_choice') ? encodeChoice(request.toolChoice) : undefined;
  const tools = encodeDefinitions(request.tools, accepts, note);
  if (wanted?.type === 'none') return { tools, choice: wanted };
  const forced = wanted?.type === 'any' || wanted?.type === 'tool';
  const { forcedTools } = accepts.parameters;
  if (forced && (forcedTools === 'never' || (thinking.budgeted && forcedTools === 'without-budget'))) {
    note('tool_choice became an instruction, because the model cannot be forced to call a tool');
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

function encodeDefinitions(tools: readonly FunctionTool[], { schemas }: Accepts, note: Note): ToolDefinition[] {
  const { strictTools } = schemas;
  const changed = new ChangedSchemas(note);
  let strict = 0;
  const used: HeldUse = { optional: 0, unions: 0 };
  const written = tools.map(
    ({ cache_control: mark, function: { name, description, parameters, strict: wanted } }, index) => {
      const schema = parameters ?? {};
      const mayHold = wanted === true && strictTools !== undefined && strict < MOST_STRICT;
      const closed = mayHold ? heldSchema(schema, strictTools, used) : undefined;
      if (closed !== undefined) strict += 1;
      const sent = { parameters: closed ?? toolArgumentsSchema(schema, schemas.tools), strict: closed !== undefined };
      changed.seen(index, parameters, wanted, sent);
      return {
        name,
        ...(description == null || description === '' ? {} : { description }),
        input_schema: sent.parameters,
        ...(closed === undefined ? {} : { strict: true as const }),
        ...(mark == null ? {} : { cache_control: cacheMark(mark) }),
      };
    },
  );
  changed.end();
  return written;
}

/** A conversation with calls in it must come with tools, also when the caller wants no more calls. */
function toolsOfHistory(turns: readonly RequestTurn[]): EncodedTools {
  const called = turns.flatMap(({ content }) => content.flatMap((one) => (one.type === 'tool_use' ? [one.name] : [])));
  if (called.length === 0) return { tools: [] };
  const tools = [...new Set(called)].map((name) => ({ name, input_schema: { type: 'object' } }));
  return { tools, choice: { type: 'none' } };
}

/**
 * Anthropic's own search, which is what `web_search_options` require; undefined when they do not. How much context a
 * search brings is the model's decision here.
 *
 * @throws {@link EncodeError} when a function of the caller has the name of the search.
 */
function encodeSearch({ parameters, tools }: NormalizedRequest): SearchToolDefinition | undefined {
  const { web_search_options: options } = parameters;
  if (options === undefined) return undefined;
  if (tools.some((tool) => tool.function.name === 'web_search')) {
    throw new EncodeError('A function named web_search cannot be used together with the search of the provider');
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
