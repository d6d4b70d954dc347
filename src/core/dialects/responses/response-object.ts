import type { FinishReason } from '../../../protocol/chat-result.ts';
import { type JsonObject, type JsonValue, isJsonObject } from '../../../protocol/json.ts';
import type { RouterMetadata } from '../../../protocol/metadata.ts';
import type { Usage } from '../../../protocol/usage.ts';
import type { DialectContext } from '../dialect.ts';
import { responseId } from './ids.ts';
import { responsesUsage } from './usage.ts';

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
export interface ResponseFacts {
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
export function stateOf(reason: FinishReason | null): ResponseStatus {
  if (reason === 'length') return { status: 'incomplete', reason: 'max_output_tokens' };
  return reason === 'content_filter' ? { status: 'incomplete', reason: 'content_filter' } : { status: 'completed' };
}

/**
 * The object that answers consist of and that the events of a stream carry (gaps 10). It repeats most of its request;
 * what the request left out is null or has the value that means it.
 */
export function responseObject(context: DialectContext, facts: ResponseFacts): JsonObject {
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
export function metadataMember({ spelling }: DialectContext, metadata: RouterMetadata | undefined): JsonObject {
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
export function requestEcho(body: JsonObject): JsonObject {
  const text = isJsonObject(body['text']) ? body['text'] : {};
  const reasoning = isJsonObject(body['reasoning']) ? body['reasoning'] : {};
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
