/** The response and the stream events of Anthropic's Messages. */
import type { Availability, ErrorMetadata, ErrorType } from '../../../protocol/error.ts';
import type { RouterMetadata } from '../../../protocol/metadata.ts';
import type { RedactedThinkingBlock, ThinkingBlock } from './block.ts';
import type { CostDetails } from '../../../protocol/usage.ts';

/** A source on the web that a text cites. */
export interface WebCitation {
  readonly type: 'web_search_result_location';
  readonly url: string;
  readonly title: string | null;
  readonly cited_text: string;
  /** Only the provider's own search fills this. */
  readonly encrypted_index: string;
}

/** One block of an answer. Images are an extension: this wire has no images in answers. */
export type ResultBlock =
  | { readonly type: 'text'; readonly text: string; readonly citations?: readonly WebCitation[] }
  | ThinkingBlock
  | RedactedThinkingBlock
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly input: unknown }
  | {
      readonly type: 'image';
      readonly source:
        | { readonly type: 'base64'; readonly media_type: string; readonly data: string }
        | { readonly type: 'url'; readonly url: string };
    };

/** What a block is extended by in a stream. */
export type BlockDelta =
  | { readonly type: 'text_delta'; readonly text: string }
  | { readonly type: 'citations_delta'; readonly citation: WebCitation }
  | { readonly type: 'thinking_delta'; readonly thinking: string }
  | { readonly type: 'signature_delta'; readonly signature: string }
  | { readonly type: 'input_json_delta'; readonly partial_json: string };

/** Why an answer ended, in the words of this wire. */
export type StopReason =
  | 'end_turn'
  | 'max_tokens'
  | 'stop_sequence'
  | 'tool_use'
  | 'pause_turn'
  | 'refusal'
  | 'model_context_window_exceeded';

/** What is said about a refusal. */
export interface StopDetails {
  readonly type: 'refusal';
  readonly category: null;
  readonly explanation: string | null;
}

/** What an answer used. `input_tokens` leaves out what was read from a cache or written to one. */
export interface MessagesUsage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** Null when the provider did not say. */
  readonly cache_read_input_tokens: number | null;
  readonly cache_creation_input_tokens: number | null;
  readonly cache_creation: {
    readonly ephemeral_5m_input_tokens: number;
    readonly ephemeral_1h_input_tokens: number;
  } | null;
  readonly output_tokens_details: { readonly thinking_tokens: number } | null;
  readonly server_tool_use: { readonly web_search_requests: number; readonly web_fetch_requests: number } | null;
  readonly service_tier: string | null;
  /** US dollars charged; an extension. Absent when it is not known. */
  readonly cost?: number;
  readonly cost_details?: CostDetails;
  readonly is_byok?: boolean;
  /** True when the provider reported nothing and the counts are ours. */
  readonly estimated?: boolean;
}

/** Body of a non-streaming response to `POST /messages`. */
export interface MessagesResult {
  /** Generation id; a provider of this wire gives its own. */
  readonly id: string;
  readonly type: 'message';
  readonly role: 'assistant';
  readonly model: string;
  readonly content: readonly ResultBlock[];
  readonly stop_reason: StopReason | null;
  readonly stop_sequence: string | null;
  readonly stop_details: StopDetails | null;
  readonly container: null;
  readonly usage: MessagesUsage;
  /** Display name of the provider that answered; an extension. */
  readonly provider?: string;
  readonly router_metadata?: RouterMetadata;
}

/** Type of an error, in the words of this wire. */
export type MessagesErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'billing_error'
  | 'permission_error'
  | 'not_found_error'
  | 'conflict_error'
  | 'request_too_large'
  | 'rate_limit_error'
  | 'timeout_error'
  | 'overloaded_error'
  | 'api_error';

/** Body of an error answer to `POST /messages`, and data of an error event. */
export interface MessagesErrorBody {
  readonly type: 'error';
  readonly error: {
    readonly type: MessagesErrorType;
    readonly message: string;
    /** What clients of this wire react to by themselves. */
    readonly details?: { readonly error_code: 'thread_unsupported_request'; readonly unsupported: readonly string[] };
    /** Cause in this router's own words (gaps 7.3). */
    readonly error_type?: ErrorType;
    readonly availability?: Availability;
    readonly metadata?: ErrorMetadata;
  };
  readonly request_id: string | null;
  readonly router_metadata?: RouterMetadata;
}
