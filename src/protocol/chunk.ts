/** The chunks of a chat completions stream. */
import type { Annotation, FinishReason, Logprobs, OutputAudio, OutputImage } from './chat-result.ts';
import type { ErrorDetail } from './error.ts';
import type { JsonValue } from './json.ts';
import type { RouterMetadata } from './metadata.ts';
import type { ReasoningDetail } from './reasoning.ts';
import type { ToolCallExtra } from './tools.ts';
import type { Usage } from './usage.ts';

/** A fragment of a tool call. `id`, `type` and the name come with the first fragment of an index. */
export interface ToolCallDelta {
  readonly index: number;
  readonly id?: string;
  readonly type?: 'function';
  readonly function?: { readonly name?: string; readonly arguments?: string };
  /** What the vendor whose model made the call requires back with it. */
  readonly extra_content?: ToolCallExtra;
}

/** What a chunk adds to the message. */
export interface Delta {
  readonly role?: 'assistant';
  readonly content?: string | null;
  readonly refusal?: string | null;
  readonly reasoning?: string | null;
  readonly reasoning_details?: readonly ReasoningDetail[];
  readonly tool_calls?: readonly ToolCallDelta[];
  readonly audio?: OutputAudio;
  readonly images?: readonly OutputImage[];
  readonly annotations?: readonly Annotation[];
}

/** One choice of a chunk. `finish_reason` is null until that choice ends. */
export interface ChunkChoice {
  readonly index: number;
  readonly delta: Delta;
  readonly finish_reason: FinishReason | null;
  readonly native_finish_reason: string | null;
  readonly logprobs: Logprobs | null;
}

/**
 * Data of one server-sent event of a stream (contract: stream chunk; gaps 4.3, 6.3). `id`, `created`, `model` and
 * `provider` stay the same through a stream. The usage chunk, the last before `[DONE]`, has no choices and carries
 * `router_metadata` when the request enabled it.
 */
export interface ChatChunk {
  readonly id: string;
  readonly object: 'chat.completion.chunk';
  /** Unix seconds. */
  readonly created: number;
  readonly model: string;
  readonly provider?: string;
  readonly choices: readonly ChunkChoice[];
  /** Never null in chunks: clients refuse that. */
  readonly system_fingerprint?: string;
  readonly service_tier?: string | null;
  readonly usage?: Usage;
  readonly error?: ErrorDetail;
  readonly router_metadata?: RouterMetadata;
  /** The body that went to a provider, when `debug.echo_upstream_body` requested it. */
  readonly debug?: { readonly echo_upstream_body: JsonValue };
}
