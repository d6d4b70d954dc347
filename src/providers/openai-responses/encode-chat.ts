/**
 * Writes a request of the chat form for OpenAI's Responses API, for models whose tools, or who themselves, are only there.
 * Nothing is stored.
 */
import type { Endpoint } from '../../catalog/endpoint.ts';
import { parametersLackedBy } from '../../catalog/lacked-parameters.ts';
import type { ParameterName } from '../../catalog/model.ts';
import type { Accepts } from '../../core/accepts.ts';
import { shapeConversation } from '../../core/conversation/shape.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { ReasoningEffort } from '../../protocol/reasoning.ts';
import type { ToolChoice } from '../../protocol/tools.ts';
import * as read from '../../platform/json.ts';
import { ChangedSchemas, limited, type Note, UNNOTED } from '../adjustments.ts';
import { comparingResponses } from '../cache-diagnostics.ts';
import { EncodeError } from '../codec.ts';
import { noteLeftOut, parametersTaken, type Takes, takesLimit, takesReasoning } from '../taken-parameters.ts';
import { FORTY_CHARACTERS } from '../openai-compatible/vendor-quirks.ts';
import { ToolIds } from '../tool-ids.ts';
import {
  type EncodedBody,
  encodedEffort,
  encodeParameterSchema,
  encodeTier,
  type ApiVariant,
  heldFormat,
  noteEffort,
  reasonsBy,
  temperatureTaken,
} from '../openai-compatible/encode-request.ts';
import { itemsOf, reasoningItemsOf } from './encode-items.ts';

/** Parameters that this API has no words for. */
const NO_WORDS: ReadonlySet<ParameterName> = new Set(parametersLackedBy('responses'));

/** Fields of chat completions that clients send beside those of the contract, and that this API would refuse. */
const FOREIGN = new Set(['functions', 'function_call', 'stream_options', 'n']);

/** Fewest tokens that the API takes as a limit. */
const LEAST_OUTPUT = 16;

/**
 * Writes a chat request for an endpoint that speaks Responses.
 *
 * @throws {@link EncodeError} for what this API cannot say: sound, and parameters that the request insists on.
 */
export function encodeChat(
  request: NormalizedRequest,
  endpoint: Endpoint,
  { quirks, acceptsOf }: ApiVariant,
  note: Note = UNNOTED,
): EncodedBody {
  const accepts = acceptsOf(endpoint);
  const { parameters, cache, extra, stream, preferences, needs } = request;
  const effort = encodedEffort(request, endpoint, accepts);
  const reasons = reasonsBy(effort, accepts);
  const taken = parametersTaken(request, endpoint, accepts, { reasons, unsupported: quirks.unsupported });
  const takes: Takes = (name) => !NO_WORDS.has(name) && taken(name);
  noteLeftOut(request, takes, note);
  const lacking = preferences.requireParameters ? needs.parameters.find((name) => NO_WORDS.has(name)) : undefined;
  if (lacking !== undefined) throw new EncodeError(`The Responses API has no field for the parameter ${lacking}`);
  if (request.outputModalities?.some((modality) => modality !== 'text') === true) {
    throw new EncodeError('The Responses API returns text only');
  }
  const { max_completion_tokens: limit, temperature, top_p: topP } = parameters;
  const likelihoods = parameters.logprobs === true && takes('logprobs');
  const include = [
    ...(reasons ? ['reasoning.encrypted_content'] : []),
    ...(likelihoods ? ['message.output_text.logprobs'] : []),
  ];
  const body = {
    ...Object.fromEntries(Object.entries(extra).filter(([name]) => !FOREIGN.has(name))),
    model: endpoint.upstreamModel,
    input: inputOf(request, accepts),
    store: false,
    ...(include.length === 0 ? {} : { include }),
    ...(limit !== undefined && takesLimit(takes) ? { max_output_tokens: limitTaken(limit, note) } : {}),
    ...(temperature !== undefined && takes('temperature')
      ? { temperature: temperatureTaken(temperature, accepts, note) }
      : {}),
    ...(topP !== undefined && takes('top_p') ? { top_p: topP } : {}),
    ...(likelihoods && parameters.top_logprobs !== undefined ? { top_logprobs: parameters.top_logprobs } : {}),
    ...encodeTools(request, accepts, takes, note),
    ...encodeReasoning(request, effort, takes, note),
    ...encodeText(request, accepts, takes, note),
    ...(cache.key === undefined ? {} : { prompt_cache_key: cache.key }),
    ...(cache.options === undefined ? {} : { prompt_cache_options: cache.options }),
    ...encodeTier(request, endpoint, quirks),
    ...(quirks.userField === 'none' ? {} : { [quirks.userField ?? 'user']: request.endUser }),
    stream,
    ...(stream && quirks.padsChunks === true ? { stream_options: { include_obfuscation: false } } : {}),
  };
  return comparingResponses(body, request);
}

/** The results of tools may hold media here, whatever chat completions demand. */
function inputOf({ messages }: NormalizedRequest, { conversation }: Accepts): readonly object[] {
  const { user } = conversation.media;
  const media = { ...conversation.media, tool: user.filter((kind) => kind === 'image' || kind === 'file') };
  const shaped = shapeConversation(messages, { ...conversation, media, fileAddresses: true });
  const ids = new ToolIds(FORTY_CHARACTERS);
  return shaped.flatMap((message, index) => [
    ...(message.role === 'assistant' ? reasoningItemsOf(message) : []),
    ...itemsOf(message, `messages[${index}]`, ids),
  ]);
}

function limitTaken(requested: number, note: Note): number {
  if (requested < LEAST_OUTPUT) note(limited('max_tokens', LEAST_OUTPUT));
  return Math.max(requested, LEAST_OUTPUT);
}

function encodeTools(
  { tools, toolChoice, parameters }: NormalizedRequest,
  { schemas }: Accepts,
  takes: Takes,
  note: Note,
): EncodedBody {
  const search = takes('web_search_options') ? encodeSearch(parameters.web_search_options) : [];
  const functions = takes('tools') ? tools : [];
  if (functions.length + search.length === 0) return {};
  const choice = functions.length > 0 && takes('tool_choice') ? encodeChoice(toolChoice) : undefined;
  const parallel = parameters.parallel_tool_calls;
  const changed = new ChangedSchemas(note);
  // Calls would be held to their schema here if nothing were said of it.
  const written = functions.map(({ function: { name, description, parameters: schema, strict } }, index) => ({
    type: 'function',
    name,
    ...(description == null ? {} : { description }),
    ...changed.seen(index, schema, strict, encodeParameterSchema(schema ?? NO_ARGUMENTS, strict ?? false, schemas)),
  }));
  changed.end();
  return {
    tools: [...written, ...search],
    ...(choice === undefined ? {} : { tool_choice: choice }),
    ...(parallel === undefined || functions.length === 0 || !takes('parallel_tool_calls')
      ? {}
      : { parallel_tool_calls: parallel }),
  };
}

const NO_ARGUMENTS = { type: 'object', properties: {} };

/** A choice that names a tool of the router means nothing to a provider. */
function encodeChoice(choice: ToolChoice | undefined): unknown {
  if (typeof choice !== 'object') return choice;
  return 'function' in choice ? { type: 'function', name: choice.function.name } : undefined;
}

function encodeSearch(options: JsonObject | undefined): readonly object[] {
  if (options === undefined) return [];
  const { search_context_size: size, user_location: location, allowed_domains: domains } = options;
  const { approximate, ...place } = read.object(location);
  return [
    {
      type: 'web_search',
      ...(size == null ? {} : { search_context_size: size }),
      ...(location == null ? {} : { user_location: { ...place, ...read.object(approximate), type: 'approximate' } }),
      ...(Array.isArray(domains) ? { filters: { allowed_domains: domains } } : {}),
    },
  ];
}

function encodeReasoning(
  { reasoning }: NormalizedRequest,
  effort: ReasoningEffort | undefined,
  takes: Takes,
  note: Note,
): EncodedBody {
  if (reasoning === undefined || !takesReasoning(takes)) return {};
  noteEffort(reasoning, effort, note);
  const { summary, context, mode } = reasoning;
  const said = {
    ...(effort === undefined ? {} : { effort }),
    ...(summary === undefined ? {} : { summary }),
    ...(context === undefined ? {} : { context }),
    ...(mode === undefined ? {} : { mode }),
  };
  return Object.keys(said).length === 0 ? {} : { reasoning: said };
}

function encodeText(
  { responseFormat: format, parameters: { verbosity } }: NormalizedRequest,
  { schemas }: Accepts,
  takes: Takes,
  note: Note,
): EncodedBody {
  const said = {
    ...(verbosity === undefined || !takes('verbosity') ? {} : { verbosity }),
    ...(format?.type === 'json_schema' && takes('structured_outputs')
      ? { format: { type: 'json_schema', ...heldFormat(format, schemas, note).json_schema } }
      : {}),
    ...(format?.type === 'json_object' && takes('response_format') ? { format: { type: 'json_object' } } : {}),
  };
  return Object.keys(said).length === 0 ? {} : { text: said };
}
