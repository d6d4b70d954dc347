/** Reads responses of the Responses API. */
import type { Annotation, FinishReason, Logprobs, ResultMessage, ResultToolCall } from '../../protocol/chat-result.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/json.ts';
import { isError, isErrorBody } from '../error-shape.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import { causeInResponse, withoutComparison } from '../cache-diagnostics.ts';
import type { DecodedResult } from '../codec.ts';
import { callIdPrefix } from '../tool-ids.ts';
import { type ErrorContext, failureInBand, parseJson } from '../upstream-failure.ts';
import { reasoningOfItem } from '../../formats/responses/reasoning-items.ts';
import type { Delta } from '../../protocol/chunk.ts';
import type { ReasoningDetail } from '../../protocol/reasoning.ts';
import type { ReasoningItem } from '../../formats/responses/protocol/input-item.ts';
import { decodeLogprobs } from '../openai-compatible/decode-result.ts';
import { decodeUsage as decodeChatUsage } from '../openai-compatible/decode-usage.ts';
import * as read from '../../platform/json.ts';
import { type AttemptFailure, failure } from '../../contracts/failure.ts';
import type { FactsPiece, ReportedUsage } from '../../contracts/stream-piece.ts';

/** What reading one answer depends on. */
export interface ResponseContext extends ErrorContext {
  /** Whether a custom tool of this name is one of the caller's. */
  readonly isCustomTool: (name: string) => boolean;
  /** Makes an id for a call that came without one. */
  readonly newId: (index: number) => string;
  /** Whether the caller has not asked for what the provider says of its cache. Default false. */
  readonly hidesComparison?: boolean | undefined;
}

/** What an answer to a request is read with. */
export function responseContext(request: NormalizedRequest, context: ErrorContext): ResponseContext {
  const {
    tools,
    prompt,
    previous_response_id: previous,
    conversation,
    prompt_cache_options: options,
  } = request.native?.body ?? {};
  // What is kept at the provider may bring tools of its own.
  const known = prompt == null && previous == null && conversation == null;
  const names = new Set(read.objects(tools).map(({ type, name }) => (type === 'custom' ? name : undefined)));
  return {
    ...context,
    isCustomTool: (name) => !known || names.has(name),
    newId: (index) => `${callIdPrefix(request)}_${index}`,
    hidesComparison: request.cache.compareWith != null && !('comparison_response_id' in read.object(options)),
  };
}

/**
 * Decodes a non-streaming response of the Responses wire, and keeps it as it is. An answer that failed is a failure,
 * although it comes with a good status; so is one that is not over.
 */
export function decodeResponse(body: string, context: ResponseContext): DecodedResult {
  const text = body.trim();
  if (text === '') return bad('The provider sent an empty answer');
  if (text.startsWith('<')) return bad('The provider sent a web page instead of an answer');
  const parsed = parseJson(text);
  if (!isJsonObject(parsed)) return bad('The provider sent an answer that is not valid JSON');
  const problem = failureInResponse(parsed, context);
  if (problem !== undefined) return { ok: false, failure: problem };
  const items = itemsOf(parsed);
  if (items === undefined) return bad('The provider sent an answer without output');
  const { message, logprobs } = decodeItems(items, context);
  if (message.tool_calls?.some((call) => call.function.name === '') === true) return bad(NAMELESS);
  const { reason, native } = finishOf(parsed, message.tool_calls?.length ?? 0);
  const { systemFingerprint, serviceTier, upstreamId, cacheMiss } = responseFacts(parsed);
  return {
    ok: true,
    result: {
      choices: [{ index: 0, finish_reason: reason, native_finish_reason: native, logprobs, message }],
      usage: decodeResponsesUsage(parsed['usage']),
      systemFingerprint,
      serviceTier,
      upstreamId,
      cacheMiss,
      native: context.hidesComparison === true ? withoutComparison(parsed) : parsed,
    },
  };
}

/** The failure that an answer tells of itself, if it does. */
export function failureInResponse(response: JsonObject, context: ErrorContext): AttemptFailure | undefined {
  const { error, status } = response;
  if (isErrorBody(response) || isError(error)) return failureInBand({ error: error ?? response }, context);
  if (status === 'failed' || status === 'cancelled')
    return failure('server', 'The provider could not finish its answer');
  if (status === 'queued' || status === 'in_progress') {
    return failure('bad_response', 'The provider sent an answer that is not over');
  }
  return undefined;
}

/** How an answer ended that called tools, or none. */
export function finishOf(
  response: JsonObject,
  calls: number,
): { readonly reason: FinishReason; readonly native: string | null } {
  const { status, incomplete_details: details } = response;
  const word = isJsonObject(details) ? details['reason'] : undefined;
  const native = typeof word === 'string' ? word : typeof status === 'string' ? status : null;
  if (status === 'incomplete') return { reason: word === 'content_filter' ? 'content_filter' : 'length', native };
  return { reason: calls > 0 ? 'tool_calls' : 'stop', native };
}

/** Facts about the answer as a whole. */
export function responseFacts(response: JsonObject): FactsPiece {
  const { id, service_tier: tier } = response;
  return {
    type: 'facts',
    upstreamId: read.string(id),
    serviceTier: read.string(tier),
    cacheMiss: causeInResponse(response),
  };
}

function itemsOf({ output }: JsonObject): readonly JsonObject[] | undefined {
  return Array.isArray(output) ? output.filter(isJsonObject) : undefined;
}

function bad(message: string): DecodedResult {
  return { ok: false, failure: failure('bad_response', message) };
}

/** What the items of an answer say, in the chat form. */
interface DecodedItems {
  readonly message: ResultMessage;
  readonly logprobs: Logprobs | null;
}

/** Reads the items of a non-streaming response. */
function decodeItems(items: readonly JsonObject[], context: ResponseContext): DecodedItems {
  const parts = items.filter(({ type }) => type === 'message').flatMap(({ content }) => read.objects(content));
  const texts = parts.filter(({ type }) => type === 'output_text');
  const refusals = parts.filter(({ type }) => type === 'refusal').map(({ refusal }) => read.text(refusal) ?? '');
  const thoughts = items.filter(({ type }) => type === 'reasoning').map((item, index) => thoughtOf(item, index));
  const calls = items
    .flatMap((item) => callOf(item, context) ?? [])
    .map((call, index): ResultToolCall => ({ ...call, id: call.id || context.newId(index), index }));
  const others = items.map((item) => otherDelta(item, context));
  const details = [
    ...thoughts.flatMap((thought) => thought.details),
    ...others.flatMap((delta) => delta.reasoning_details ?? []),
  ];
  const reasoning = thoughts.map(({ text }) => text).join('\n\n');
  const annotations = texts.flatMap((part) => read.objects(part['annotations']).flatMap(annotation));
  const images = others.flatMap((delta) => delta.images ?? []);
  const said = texts.map(({ text }) => read.text(text) ?? '').join('');
  return {
    logprobs: decodeLogprobs({ content: texts.flatMap((part) => read.objects(part['logprobs'])) }) ?? null,
    message: {
      role: 'assistant',
      content: texts.length > 0 || (calls.length === 0 && refusals.length === 0) ? said : null,
      refusal: refusals.length === 0 ? null : refusals.join(''),
      reasoning: reasoning === '' ? null : reasoning,
      ...(details.length === 0 ? {} : { reasoning_details: details }),
      ...(annotations.length === 0 ? {} : { annotations }),
      ...(images.length === 0 ? {} : { images }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
  };
}

/** Why an answer with such a call is none. */
export const NAMELESS = 'The provider sent a tool call without a name';

/** A call of the caller's tools, if the item is one; free text is in its one argument. An id or a name may be empty. */
export function callOf(item: JsonObject, context: ResponseContext): Omit<ResultToolCall, 'index'> | undefined {
  const { type, call_id: id, name } = item;
  if (type !== 'function_call' && !(type === 'custom_tool_call' && context.isCustomTool(read.text(name) ?? ''))) {
    return undefined;
  }
  const text =
    type === 'function_call'
      ? (read.text(item['arguments']) ?? '')
      : JSON.stringify({ input: read.text(item['input']) ?? '' });
  const known = read.text(id) ?? read.text(item['id']) ?? '';
  return { id: known, type: 'function', function: { name: read.text(name) ?? '', arguments: text } };
}

/** What a finished item says that is neither a message nor a call: images, reasoning, and what the provider did. */
export function otherDelta(item: JsonObject, context: ResponseContext): Delta {
  const { type, result, output_format: format } = item;
  if (type === 'image_generation_call') {
    if (typeof result !== 'string' || result === '') return {};
    const url = `data:image/${typeof format === 'string' ? format : 'png'};base64,${result}`;
    return { images: [{ type: 'image_url', image_url: { url } }] };
  }
  if (typeof type !== 'string' || OWN_KINDS.has(type) || callOf(item, context) !== undefined) return {};
  return { reasoning_details: [hostedCall(type, item)] };
}

/** The text of a message item. */
export function responseText(item: JsonObject): string {
  const parts = read.objects(item['content']).filter(({ type }) => type === 'output_text');
  return parts.map(({ text }) => read.text(text) ?? '').join('');
}

/** The sources that a message item cites. */
export function responseSources(item: JsonObject): readonly Annotation[] {
  return read.objects(item['content']).flatMap((part) => read.objects(part['annotations']).flatMap(annotation));
}

/** The pieces of a finished reasoning item. */
export function thoughtOf(item: JsonObject, index: number): ReturnType<typeof reasoningOfItem> {
  const thought = {
    id: read.text(item['id']) ?? '',
    summary: read.objects(item['summary']),
    content: read.objects(item['content']),
    encrypted_content: read.string(item['encrypted_content']),
    format: read.string(item['format']),
    signature: read.string(item['signature']),
  };
  return reasoningOfItem({ type: 'reasoning', ...thought } as unknown as ReasoningItem, index);
}

const OWN_KINDS: ReadonlySet<string> = new Set(['message', 'reasoning', 'function_call']);

function hostedCall(type: string, item: JsonObject): ReasoningDetail {
  // A provider's own tool may come as a call of a custom one, under its name.
  const name = type === 'custom_tool_call' ? (read.text(item['name']) ?? 'custom_tool') : type.replace(/_call$/, '');
  return {
    type: 'reasoning.server_tool_call',
    tool_name: name,
    arguments: '',
    result: '',
    tool_call_id: read.text(item['id']) ?? '',
  };
}

function annotation({ type, ...members }: JsonObject): readonly Annotation[] {
  return type === 'url_citation' ? [{ type, url_citation: members } as unknown as Annotation] : [];
}

/** Names of this wire by those of chat completions. */
const COSTS: Readonly<Record<string, string>> = {
  upstream_inference_input_cost: 'upstream_inference_prompt_cost',
  upstream_inference_output_cost: 'upstream_inference_completions_cost',
};

/** Reads a usage object of this wire, or undefined when it holds no counts. */
export function decodeResponsesUsage(value: unknown): ReportedUsage | undefined {
  if (!isJsonObject(value)) return undefined;
  const { input_tokens: prompt, output_tokens: completion, cost_details: costs, ...rest } = value;
  return decodeChatUsage(
    {
      ...rest,
      prompt_tokens: prompt,
      completion_tokens: completion,
      prompt_tokens_details: value['input_tokens_details'],
      completion_tokens_details: value['output_tokens_details'],
      ...(isJsonObject(costs) ? { cost_details: renamed(costs) } : {}),
    },
    {},
  );
}

function renamed(costs: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(costs).map(([name, cost]): [string, JsonValue | undefined] => [COSTS[name] ?? name, cost]),
  );
}
