/** Writes requests for chat completions. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { ParameterName } from '../../catalog/model.ts';
import type { NormalizedRequest, ReasoningRequest } from '../../contracts/request.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { Message } from '../../protocol/message.ts';
import type { FunctionTool, ToolChoice } from '../../protocol/tools.ts';
import { heldSchema, toolArgumentsSchema } from '../../core/schema/rewrite-schema.ts';
import type { JsonSchema } from '../../core/schema/schema-parts.ts';
import { isPlainMessage, plainCallsOf } from '../../protocol/chat-result.ts';
import { ToolIds } from '../tool-ids.ts';
import { type VendorQuirks, toolIdRule } from './vendor-quirks.ts';
import { checkConversation, completed, encodeMessage, markLastBlock } from './encode-message.ts';
import type { AcceptedSchemas, Accepts } from '../../core/accepts.ts';
import type { AcceptsOfEndpoint } from '../fold-accepts.ts';
import { ChangedSchemas, leftOut, limited, nearest, type Note, notHeld, rewritten, UNNOTED } from '../adjustments.ts';
import {
  type EncodingRules,
  noteOthersLeftOut,
  parametersTaken,
  type Takes,
  takesLimit,
  takesReasoning,
  untakenParameters,
} from '../taken-parameters.ts';
import { shapeConversation } from '../../core/conversation/shape.ts';
import { tierToAsk } from '../codec.ts';
import { effortOfBudget, effortToAsk, reasoningOnly } from '../accepted-effort.ts';
import type { ReasoningEffort, ResponseFormat } from '../../protocol/reasoning.ts';

/** A request body for a server of the chat completions wire. */
export type EncodedBody = Readonly<Record<string, unknown>>;

/** What a vendor makes of the chat completions or Responses API. */
export interface ApiVariant {
  readonly quirks: VendorQuirks;
  readonly acceptsOf: AcceptsOfEndpoint;
}

/** What requests to one endpoint are written by. Found out once, because most requests need nothing else. */
export interface EndpointRules {
  readonly quirks: VendorQuirks;
  readonly accepts: Accepts;
  /** Parameters that it takes of requests that say nothing of reasoning; undefined where that depends on the others. */
  readonly usuallyTakes: Takes | undefined;
}

/** Finds out what requests to an endpoint are written by. */
export function endpointRules(endpoint: Endpoint, { quirks, acceptsOf }: ApiVariant): EndpointRules {
  const accepts = acceptsOf(endpoint);
  const use = { reasons: accepts.reasoning.byDefault, unsupported: quirks.unsupported };
  const untaken = untakenParameters(endpoint, accepts, use);
  return { quirks, accepts, usuallyTakes: untaken && ((name) => !untaken.has(name)) };
}

/**
 * Writes a request in a variant of the chat completions API. Parameters that the endpoint or the vendor does not
 * take are left out; those the client left out stay out. What only some requests have is looked at only for these.
 *
 * @param note - Is called with what is changed because the model does not take it. Default: nobody is.
 * @throws {@link EncodeError} for content that the server does not take.
 */
export function encodeRequest(
  request: NormalizedRequest,
  endpoint: Endpoint,
  { quirks, accepts, usuallyTakes }: EndpointRules,
  note: Note = UNNOTED,
): EncodedBody {
  const { unsupported } = quirks;
  const { tools, reasoning, responseFormat, cache, outputModalities, audio, imageConfig } = request;
  const effort = reasoning && encodedEffort(request, endpoint, accepts);
  const takes =
    (reasoning === undefined && !request.preferences.requireParameters && usuallyTakes) ||
    parametersTaken(request, endpoint, accepts, { reasons: reasonsBy(effort, accepts), unsupported });
  const rules: EncodingRules = { accepts, takes, note };
  if (tools.length > 0 || (reasoning ?? responseFormat) !== undefined) noteOthersLeftOut(request, takes, note);
  const marked = cache.control === undefined ? request.messages : markedMessages(request, quirks);
  const ordered = tools.length === 0 ? marked : orderedMessages(request, marked, accepts);
  const body: Record<string, unknown> = {
    ...request.extra,
    model: endpoint.upstreamModel,
    messages: encodeMessages(ordered, quirks, accepts),
  };
  encodeParameters(request, quirks, rules, body);
  if (tools.length > 0) Object.assign(body, encodeTools(request, quirks, rules));
  if (responseFormat !== undefined) Object.assign(body, encodeFormat(request, accepts, takes, note));
  if (reasoning !== undefined && takesReasoning(takes)) {
    Object.assign(body, encodeReasoning(reasoning, effort, quirks));
    noteEffort(reasoning, effort, note);
  }
  if ((outputModalities ?? audio ?? imageConfig) !== undefined) encodeOutput(request, body);
  if (quirks.promptCacheFields === true) encodeCache(request, body);
  if (quirks.serviceTiers !== undefined) Object.assign(body, encodeTier(request, endpoint, quirks));
  if (quirks.userField !== 'none') body[quirks.userField ?? 'user'] = request.endUser;
  if (request.stream) Object.assign(body, encodeStream(quirks));
  return body;
}

type JsonSchemaFormat = Extract<ResponseFormat, { type: 'json_schema' }>;

/** Whether a model must be called by Responses: it is only there, or it takes no tools elsewhere while it reasons. */
export function wantsResponses(request: NormalizedRequest, endpoint: Endpoint, accepts: Accepts): boolean {
  const { wire, toolsWire } = accepts.parameters;
  if (wire === 'responses') return true;
  if (toolsWire === 'chat' || request.tools.length === 0) return false;
  return reasonsBy(encodedEffort(request, endpoint, accepts), accepts);
}

/** Whether a model reasons when it is told this much of it. */
export function reasonsBy(effort: ReasoningEffort | undefined, { reasoning }: Accepts): boolean {
  return effort === undefined ? reasoning.byDefault : effort !== 'none';
}

/**
 * Notes an effort that is not the one that was requested. Budgets are shares of a limit, so any effort stands for one.
 */
export function noteEffort({ effort: wanted }: ReasoningRequest, sent: ReasoningEffort | undefined, note: Note): void {
  if (wanted !== undefined && wanted !== sent) note(nearest('reasoning_effort', sent));
}

function encodeParameters(
  { parameters, tools }: NormalizedRequest,
  quirks: VendorQuirks,
  { accepts, takes, note }: EncodingRules,
  encoded: Record<string, unknown>,
): void {
  for (const name in parameters) {
    const value = parameters[name as keyof typeof parameters];
    if (name === 'max_completion_tokens') {
      if (takesLimit(takes)) encoded[quirks.maxTokensField ?? 'max_tokens'] = value;
      else note(leftOut(name));
    } else if (!takes(name as ParameterName)) note(leftOut(name));
    // Servers refuse to be told how to call tools that they were not given.
    else if (name === 'parallel_tool_calls' && (tools.length === 0 || !takes('tools'))) continue;
    else if (name === 'seed') encoded[quirks.seedField ?? 'seed'] = value;
    else if (name === 'temperature') encoded[name] = temperatureTaken(Number(value), accepts, note);
    else if (name === 'web_search_options') encoded[name] = encodeSearch(value as JsonObject);
    else encoded[name] = value;
  }
}

/** A temperature, lowered to the highest that the model takes. */
export function temperatureTaken(requested: number, { parameters: { maxTemperature } }: Accepts, note: Note): number {
  if (requested <= maxTemperature) return requested;
  note(limited('temperature', maxTemperature));
  return maxTemperature;
}

/** This wire has no words for domains and counts, which codecs of others take from the same place. */
function encodeSearch(options: JsonObject): JsonObject {
  const { allowed_domains: _, blocked_domains: __, max_uses: ___, ...known } = options;
  return known;
}

function encodeTools(
  { tools, toolChoice }: NormalizedRequest,
  quirks: VendorQuirks,
  { accepts, takes, note }: EncodingRules,
): EncodedBody {
  const { schemas } = accepts;
  const { forcedTools } = accepts.parameters;
  if (tools.length === 0 || !takes('tools')) return {};
  const isFree = forcedTools !== 'never' || toolChoice === undefined || toolChoice === 'auto';
  if (!isFree && toolChoice === 'none') {
    note('tools were left out, because the model cannot be kept from calling them');
    return {};
  }
  if (!isFree) note('tool_choice became an instruction, because the model cannot be forced to call a tool');
  const choice = takes('tool_choice') && isFree ? encodeChoice(toolChoice, quirks) : undefined;
  const changed = new ChangedSchemas(note);
  const written = tools.map(({ cache_control: mark, function: { name, description, parameters, strict } }, index) => ({
    type: 'function',
    ...(mark != null && quirks.cacheMarks === 'cache_control' ? { cache_control: mark } : {}),
    function: {
      name,
      ...(description == null ? {} : { description }),
      ...changed.seen(index, parameters, strict, encodeParameterSchema(parameters, strict, schemas)),
    },
  }));
  changed.end();
  return {
    tools: written,
    ...(choice === undefined ? {} : { tool_choice: choice }),
  };
}

/** The messages, with the order to call a tool behind them where the model can be told in no other way. */
function orderedMessages(
  { tools, toolChoice }: NormalizedRequest,
  messages: readonly Message[],
  { parameters: { forcedTools } }: Accepts,
): readonly Message[] {
  if (forcedTools !== 'never' || tools.length === 0) return messages;
  const isNamed = typeof toolChoice === 'object' && 'function' in toolChoice;
  if (!isNamed && toolChoice !== 'required') return messages;
  const which = isNamed ? `the tool ${toolChoice.function.name}` : 'one of the tools';
  return [...messages, { role: 'user', content: `Call ${which} now.` }];
}

/** The schema of a function's arguments, and whether calls are held to it, where they can be. */
export function encodeParameterSchema(
  parameters: FunctionTool['function']['parameters'],
  strict: boolean | null | undefined,
  { tools, strictTools: held }: AcceptedSchemas,
): { readonly parameters?: JsonSchema; readonly strict?: boolean } {
  if (parameters == null) return strict == null ? NOTHING : { strict };
  const closed = strict === true && held !== undefined ? heldSchema(parameters, held) : undefined;
  if (closed !== undefined) return { parameters: closed, strict: true };
  const schema = toolArgumentsSchema(parameters, tools);
  if (strict == null) return { parameters: schema };
  return { parameters: schema, strict: strict && held === undefined };
}

/** A choice that names a tool of the router means nothing to a provider. */
function encodeChoice(choice: ToolChoice | undefined, quirks: VendorQuirks): unknown {
  if (choice === 'required') return quirks.forcedTool ?? 'required';
  if (typeof choice !== 'object') return choice;
  return 'function' in choice ? { type: 'function', function: { name: choice.function.name } } : undefined;
}

function encodeFormat(
  { responseFormat: format }: NormalizedRequest,
  { schemas }: Accepts,
  takes: Takes,
  note: Note,
): EncodedBody {
  if (format === undefined || format.type === 'text') return {};
  if (format.type === 'json_schema') {
    if (takes('structured_outputs')) {
      return { response_format: heldFormat(format, schemas, note) };
    }
    if (!takes('response_format')) return {};
    note('The schema of response_format was left out, because the model cannot be held to one');
    return { response_format: { type: 'json_object' } };
  }
  return takes('response_format') ? { response_format: format } : {};
}

/** A form of the answer with a schema that the server takes; without `strict` where it cannot hold answers to it. */
export function heldFormat(
  format: JsonSchemaFormat,
  { formats: held, looseFormats }: AcceptedSchemas,
  note: Note,
): JsonSchemaFormat {
  const { schema, strict } = format.json_schema;
  if (schema == null) return format;
  const isChecked = strict === true && held !== undefined && held !== 'none';
  const closed = isChecked ? heldSchema(schema, held) : undefined;
  const written = closed ?? toolArgumentsSchema(schema, looseFormats);
  if (isChecked && closed === undefined) note(notHeld('response_format'));
  if (written !== schema) note(rewritten(['response_format']));
  if (written === schema && (closed !== undefined || !isChecked)) return format;
  const changes = { schema: written, ...(isChecked && closed === undefined ? { strict: false } : {}) };
  return { ...format, json_schema: { ...format.json_schema, ...changes } };
}

function encodeOutput(
  { outputModalities, audio, imageConfig }: NormalizedRequest,
  body: Record<string, unknown>,
): void {
  // Text alone is what everybody answers with, and strict servers do not know the field.
  if (outputModalities?.some((modality) => modality !== 'text')) body['modalities'] = outputModalities;
  if (audio !== undefined) body['audio'] = audio;
  if (imageConfig !== undefined) body['image_config'] = imageConfig;
}

function encodeCache({ cache }: NormalizedRequest, body: Record<string, unknown>): void {
  if (cache.key !== undefined) body['prompt_cache_key'] = cache.key;
  if (cache.options !== undefined) body['prompt_cache_options'] = cache.options;
}

function markedMessages({ messages, cache }: NormalizedRequest, { cacheMarks }: VendorQuirks): readonly Message[] {
  return cache.control === undefined || cacheMarks === undefined ? messages : markLastBlock(messages, cache.control);
}

/**
 * Writes messages as a server of this variant accepts them. Those that need no change are passed on as they are, and
 * nearly all do: a plain message is the same everywhere, unless its role or its tool call id has another spelling.
 *
 * @throws {@link EncodeError} for media that the server does not take.
 */
export function encodeMessages(
  said: readonly Message[],
  quirks: VendorQuirks,
  { conversation, reasoning }: Accepts,
): readonly unknown[] {
  if (isTakenEverywhere(said, conversation)) return said;
  checkConversation(said, conversation);
  const messages = shapeConversation(said, conversation);
  const rule = toolIdRule(conversation.toolIds);
  const ids = rule && new ToolIds(rule);
  const wantsReasoning = reasoning.history === 'required' && messages.some(hasCalls);
  const last = conversation.prefill === 'prefix' ? messages.length - 1 : -1;
  let changed: unknown[] | undefined;
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index] as Message;
    const { role } = message;
    const isRespelled = role === 'developer' ? quirks.developerRole !== true : role === 'tool' && ids !== undefined;
    const isCompleted = role === 'assistant' && (wantsReasoning || index === last);
    const isSame = isPlainMessage(message) || (ids === undefined && plainCallsOf(message) > 0);
    if (!isRespelled && !isCompleted && isSame) changed?.push(message);
    else {
      const encoded = encodeMessage(message, quirks, ids);
      (changed ??= messages.slice(0, index)).push(
        isCompleted ? completed(encoded, message, { quirks, wantsReasoning, isLast: index === last }) : encoded,
      );
    }
  }
  return changed ?? messages;
}

/**
 * Whether a conversation is one that servers take as it is: plain texts, at most one instruction and that first, then the
 * user and the model in turn, the user last. Nearly all are like that, and nothing else is looked at for them.
 */
function isTakenEverywhere(messages: readonly Message[], { systemTurns }: Accepts['conversation']): boolean {
  const begin = messages[0]?.role === 'system' ? 1 : 0;
  if (begin === 1 && systemTurns !== 'anywhere' && systemTurns !== 'first') return false;
  if ((messages.length - begin) % 2 === 0) return false;
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index] as Message;
    if (index >= begin && message.role !== ((index - begin) % 2 === 0 ? 'user' : 'assistant')) return false;
    if (!isPlainMessage(message)) return false;
  }
  return true;
}

function hasCalls(message: Message): boolean {
  return message.role === 'assistant' && (message.tool_calls?.length ?? 0) > 0;
}

/** A tier endpoint requires its own tier; where nobody declared tiers, the provider decides about the wanted one. */
export function encodeTier(
  { serviceTier }: NormalizedRequest,
  endpoint: Endpoint,
  { serviceTiers = [] }: VendorQuirks,
): EncodedBody {
  if (serviceTiers.length === 0) return NOTHING;
  const tier = tierToAsk(endpoint, mayTakeUndeclared(endpoint, serviceTier) ? serviceTier : undefined);
  return tier !== undefined && serviceTiers.includes(tier) ? { service_tier: tier } : NOTHING;
}

const NOTHING = {};

/** Tiers that a source knows are endpoints of their own; others may be there without anybody knowing. */
function mayTakeUndeclared(
  { parameters, unknownParameters, price, origins }: Endpoint,
  tier: NormalizedRequest['serviceTier'],
): boolean {
  const isKnown = (tier === 'priority' || tier === 'flex') && price?.serviceTiers?.[tier] !== undefined;
  if (isKnown && origins?.price !== undefined) return false;
  return parameters === undefined || unknownParameters !== undefined;
}

function encodeStream({ streamOptions, padsChunks }: VendorQuirks): EncodedBody {
  if (streamOptions === false) return { stream: true };
  return {
    stream: true,
    stream_options: { include_usage: true, ...(padsChunks === true ? { include_obfuscation: false } : {}) },
  };
}

/** The effort to request: the nearest that the model takes; undefined where there is nothing to say. */
export function encodedEffort(
  { reasoning, parameters }: NormalizedRequest,
  endpoint: Endpoint,
  accepts: Accepts,
): ReasoningEffort | undefined {
  if (reasoning === undefined) return undefined;
  const wanted = reasoning.effort ?? effortOfBudget(reasoning.maxTokens, parameters.max_completion_tokens);
  const known = endpoint.reasoning?.efforts ?? accepts.reasoning.efforts;
  return wanted && effortToAsk(wanted, endpoint.reasoning?.mandatory === true ? reasoningOnly(known) : known);
}

/** Writes the reasoning options in the way of the variant. */
function encodeReasoning(
  reasoning: ReasoningRequest,
  effort: ReasoningEffort | undefined,
  quirks: VendorQuirks,
): object {
  switch (quirks.reasoning ?? 'reasoning_effort') {
    case 'reasoning':
      return {
        reasoning: {
          ...(reasoning.maxTokens === undefined ? effort && { effort } : { max_tokens: reasoning.maxTokens }),
          ...(reasoning.exclude ? { exclude: true } : {}),
          ...(reasoning.summary === undefined ? {} : { summary: reasoning.summary }),
          ...(reasoning.context === undefined ? {} : { context: reasoning.context }),
          ...(reasoning.mode === undefined ? {} : { mode: reasoning.mode }),
        },
      };
    case 'thinking':
      if (effort === undefined) return {};
      if (reasoning.effort === 'none') return { thinking: { type: 'disabled' } };
      return { thinking: { type: 'enabled' }, reasoning_effort: effort };
    case 'reasoning_effort':
      return effort === undefined ? {} : { reasoning_effort: effort };
  }
}
