/** Writes the response object of the Responses API. */
import type { FinishReason } from '../../protocol/chat-result.ts';
import type { JsonObject, JsonValue } from '../../protocol/json.ts';
import type { RouterMetadata } from '../../protocol/metadata.ts';
import type { ApiFormatContext } from '../api-format.ts';
import * as read from '../../platform/json.ts';
import type { Usage } from '../../protocol/usage.ts';

/** How an answer stands. */
export type ResponseStatus =
  | { readonly status: 'in_progress' | 'completed' }
  | {
      readonly status: 'incomplete';
      readonly reason: 'max_output_tokens' | 'content_filter';
      readonly errorType?: string;
    }
  | { readonly status: 'failed'; readonly error: JsonObject; readonly errorType: string };

/** What an answer consists of, besides what its request said. */
interface ResponseFacts {
  readonly state: ResponseStatus;
  readonly model: string;
  readonly provider?: string | undefined;
  /** Unix seconds. */
  readonly created: number;
  readonly output: readonly JsonObject[];
  readonly usage?: Usage | undefined;
  readonly serviceTier?: string | null | undefined;
  readonly metadata?: RouterMetadata | undefined;
}

/** How an answer of the chat form ended, in this shape's words. */
export function responseStatusOf(reason: FinishReason | null): ResponseStatus {
  if (reason === 'length') return { status: 'incomplete', reason: 'max_output_tokens' };
  return reason === 'content_filter' ? { status: 'incomplete', reason: 'content_filter' } : { status: 'completed' };
}

/**
 * The object that answers consist of and that the events of a stream carry (gaps 10). It repeats most of its request;
 * what the request left out is null or has the value that means it.
 */
export function responseObject(context: ApiFormatContext, facts: ResponseFacts): JsonObject {
  const { body, generationId } = context;
  const { state, output, usage, metadata } = facts;
  return {
    id: responseId(generationId),
    object: 'response',
    created_at: facts.created,
    status: state.status,
    error: state.status === 'failed' ? state.error : null,
    ...('errorType' in state && state.errorType !== undefined ? { error_type: state.errorType } : {}),
    incomplete_details: state.status === 'incomplete' ? { reason: state.reason } : null,
    model: facts.model,
    ...(facts.provider === undefined ? {} : { provider: facts.provider }),
    output,
    ...requestEcho(body),
    service_tier: facts.serviceTier ?? null,
    usage: usage === undefined ? null : responsesUsage(usage),
    ...metadataMember(context, metadata),
  };
}

/** The routing metadata under its name in this answer. */
export function metadataMember({ spelling }: ApiFormatContext, metadata: RouterMetadata | undefined): JsonObject {
  if (metadata === undefined) return {};
  return { [spelling.metadataField]: metadata as unknown as JsonValue };
}

/** What an answer repeats of its request, under the same names. */
const REPEATED = [
  'instructions',
  'max_output_tokens',
  'max_tool_calls',
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'prompt_cache_key',
  'safety_identifier',
  'user',
] as const;

/** The part of an answer that its request decides. */
function requestEcho(body: JsonObject): JsonObject {
  const text = read.object(body['text']);
  const reasoning = read.object(body['reasoning']);
  return {
    ...Object.fromEntries(REPEATED.map((name) => [name, body[name] ?? null])),
    background: false,
    store: false,
    previous_response_id: null,
    metadata: body['metadata'] ?? {},
    parallel_tool_calls: body['parallel_tool_calls'] ?? true,
    reasoning: {
      effort: reasoning['effort'] ?? null,
      summary: reasoning['summary'] ?? reasoning['generate_summary'] ?? null,
    },
    text: {
      format: text['format'] ?? { type: 'text' },
      ...(text['verbosity'] == null ? {} : { verbosity: text['verbosity'] }),
    },
    tool_choice: body['tool_choice'] ?? 'auto',
    tools: body['tools'] ?? [],
    top_logprobs: body['top_logprobs'] ?? 0,
    truncation: body['truncation'] ?? 'disabled',
  };
}

/** Kinds of things that have ids of their own in this shape. */
export type IdKind = 'resp' | 'msg' | 'rs' | 'fc' | 'ctc' | 'ig' | 'st';

/** The id of an answer: that of the generation, in this shape's spelling. */
export function responseId(generationId: string): string {
  return `resp_${tailOf(generationId)}`;
}

/** The id of an item, which is the same however often it is requested. */
export function itemId(kind: IdKind, generationId: string, outputIndex: number): string {
  return `${kind}_${tailOf(generationId)}_${outputIndex}`;
}

/** True for an item's id that was made here: nobody else knows it, so it need not go back to a provider. */
export function isOwnItemId(id: string): boolean {
  return /^[a-z]{2,3}_\d+-\w+_\d+$/.test(id);
}

function tailOf(generationId: string): string {
  return generationId.replace(/^gen-/, '');
}

/** Usage under this shape's names, with what it cost (gaps 10). The two details are always there: clients insist. */
function responsesUsage(usage: Usage): JsonObject {
  const { prompt_tokens_details: prompt, completion_tokens_details: completion } = usage;
  return {
    input_tokens: usage.prompt_tokens,
    input_tokens_details: {
      cached_tokens: prompt?.cached_tokens ?? 0,
      cache_write_tokens: prompt?.cache_write_tokens ?? 0,
    },
    output_tokens: usage.completion_tokens,
    output_tokens_details: { reasoning_tokens: completion?.reasoning_tokens ?? 0 },
    total_tokens: usage.total_tokens,
    ...responseCost(usage),
  };
}

/** What a provider's own usage does not say. */
export function responseCost(usage: Usage): JsonObject {
  const { cost, is_byok: byok, estimated, cost_details: details, server_tool_use_details: tools } = usage;
  return {
    ...(cost === undefined ? {} : { cost }),
    ...(byok === undefined ? {} : { is_byok: byok }),
    ...(estimated === undefined ? {} : { estimated }),
    ...(details === undefined ? {} : { cost_details: costDetails(details) }),
    ...(tools === undefined ? {} : { server_tool_use_details: { ...tools } }),
  };
}

function costDetails(details: NonNullable<Usage['cost_details']>): JsonObject {
  const { upstream_inference_prompt_cost: prompt, upstream_inference_completions_cost: completion, ...rest } = details;
  return {
    ...(rest as Readonly<Record<string, JsonValue | undefined>>),
    ...(prompt === undefined ? {} : { upstream_inference_input_cost: prompt }),
    ...(completion === undefined ? {} : { upstream_inference_output_cost: completion }),
  };
}
