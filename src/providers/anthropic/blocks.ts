/** The content blocks of the Messages API, as requests carry them. */
import type { RedactedThinkingBlock, ThinkingBlock } from '../../formats/messages/protocol/block.ts';
import type { CacheControl } from '../../protocol/content-part.ts';
import type { FinishReason } from '../../protocol/chat-result.ts';

/** A mark for the prompt cache; taken away again where there are more than the API accepts. */
interface Marked {
  cache_control?: CacheControl;
}

/** Text. Never blank: the API refuses that. */
export interface RequestTextBlock extends Marked {
  readonly type: 'text';
  readonly text: string;
}

/** Where an image or a document comes from. */
type MediaSource =
  | { readonly type: 'url'; readonly url: string }
  | { readonly type: 'base64'; readonly media_type: string; readonly data: string }
  | { readonly type: 'text'; readonly media_type: 'text/plain'; readonly data: string }
  | { readonly type: 'file'; readonly file_id: string };

/** An image. */
export interface ImageBlock extends Marked {
  readonly type: 'image';
  readonly source: MediaSource;
}

/** A PDF or a plain text. */
export interface RequestDocumentBlock extends Marked {
  readonly type: 'document';
  readonly source: MediaSource;
  readonly title?: string;
}

/** A call that the model made. */
export interface RequestToolUseBlock extends Marked {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  readonly input: object;
}

/** The result of a call. */
export interface RequestToolResultBlock extends Marked {
  readonly type: 'tool_result';
  readonly tool_use_id: string;
  readonly content?: string | readonly (RequestTextBlock | ImageBlock | RequestDocumentBlock)[];
  readonly is_error?: true;
}

/** What users send. */
export type ContentBlock = RequestTextBlock | ImageBlock | RequestDocumentBlock;

/** One block of a message. */
export type Block = ContentBlock | ThinkingBlock | RedactedThinkingBlock | RequestToolUseBlock | RequestToolResultBlock;

/** One message of the wire; the roles of `user` and `assistant` take turns. */
export interface RequestTurn {
  readonly role: 'user' | 'assistant' | 'system';
  readonly content: Block[];
}

/** A tool of the caller's. */
export interface ToolDefinition extends Marked {
  readonly name: string;
  readonly description?: string;
  readonly input_schema: object;
  readonly strict?: true;
}

/** The search that Anthropic runs itself. */
export interface SearchToolDefinition extends Marked {
  readonly type: 'web_search_20250305';
  readonly name: 'web_search';
  readonly max_uses?: number;
  readonly allowed_domains?: readonly string[];
  readonly blocked_domains?: readonly string[];
  readonly user_location?: object;
}

const KNOWN: Readonly<Record<string, FinishReason>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  // The provider's own tools want to go on; none of ours are waited for.
  pause_turn: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
};

/** The finish reason for a stop reason; an unknown one counts as a normal end. */
export function mapStopReason(native: string): FinishReason {
  return Object.hasOwn(KNOWN, native) ? (KNOWN[native] ?? 'stop') : 'stop';
}
