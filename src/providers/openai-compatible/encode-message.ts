/** Writes messages for chat completions. */
import type { CacheControl, ContentPart } from '../../protocol/content-part.ts';
import type { AcceptedConversation } from '../../core/accepts.ts';
import { mediaKind } from '../../core/conversation/shape.ts';
import type { AssistantMessage, Message, ToolCall } from '../../protocol/message.ts';
import { EncodeError } from '../codec.ts';
import type { ToolIds } from '../tool-ids.ts';
import type { VendorQuirks } from './vendor-quirks.ts';

/**
 * Puts a mark for the whole request on its last block that can be cached: servers of this wire know marks on blocks
 * only (contract: `cache_control`). A block that is marked already keeps its own.
 */
export function markLastBlock(messages: readonly Message[], control: CacheControl): readonly Message[] {
  const index = messages.findLastIndex(({ content }) => lastTextOf(content) >= 0);
  const message = messages[index];
  if (message === undefined) return messages;
  const { content } = message;
  const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : (content ?? []);
  const last = lastTextOf(content);
  const marked = parts.map((part, position) =>
    position === last && part.type === 'text' ? { cache_control: control, ...part } : part,
  );
  return messages.with(index, { ...message, content: marked } as Message);
}

/** Position of the last text that is not empty, or -1. */
function lastTextOf(content: Message['content']): number {
  if (typeof content === 'string') return content === '' ? -1 : 0;
  const parts: readonly { readonly type: string; readonly text?: string }[] = content ?? [];
  return parts.findLastIndex(({ type, text }) => type === 'text' && text !== '');
}

/**
 * Writes a message as a server of this variant accepts it. Members that only this contract knows are taken out:
 * strict servers refuse unknown members.
 */
export function encodeMessage(message: Message, quirks: VendorQuirks, ids: ToolIds | undefined): unknown {
  switch (message.role) {
    case 'system':
    case 'developer':
      return {
        role: message.role === 'developer' && quirks.developerRole !== true ? 'system' : message.role,
        content: encodeContent(message.content, quirks),
        ...nameOf(message, quirks),
      };
    case 'user':
      return {
        role: 'user',
        content: encodeContent(quirks.messageNames === false ? namedContent(message) : message.content, quirks),
        ...nameOf(message, quirks),
      };
    case 'assistant':
      return encodeAssistant(message, quirks, ids);
    case 'tool':
      return {
        role: 'tool',
        tool_call_id: ids?.result(message.tool_call_id) ?? message.tool_call_id,
        content: encodeContent(message.content, quirks),
      };
  }
}

/** What a turn of the model needs besides its content. */
interface Completion {
  readonly quirks: VendorQuirks;
  /** Whether the server refuses turns of a conversation with calls that have no reasoning. */
  readonly wantsReasoning: boolean;
  /** Whether it is the last message, which the model goes on with. */
  readonly isLast: boolean;
}

/** Reasoning of a turn that another model made, or whose reasoning its client did not keep. */
const NO_REASONING = 'The reasoning of this turn was not kept.';

/** Completes a turn of the model: with the reasoning that the server demands, and with the mark of a prefill. */
export function completed(encoded: unknown, message: Message, completion: Completion): unknown {
  const { quirks, wantsReasoning, isLast } = completion;
  const { reasoning, tool_calls: calls } = message as AssistantMessage;
  const field = quirks.reasoningHistory ?? 'reasoning_content';
  return {
    ...(encoded as object),
    ...(wantsReasoning ? { [field]: reasoning || NO_REASONING } : {}),
    ...(isLast && !calls?.length ? { prefix: true } : {}),
  };
}

/**
 * Finds what cannot be said to a server in any way: media that it takes neither where they are nor from users, who show
 * what other roles cannot, and a turn of the model that it does not go on with.
 *
 * @throws {@link EncodeError} with the path of the first.
 */
export function checkConversation(messages: readonly Message[], { media, prefill }: AcceptedConversation): void {
  const last = messages.at(-1);
  if (prefill === 'refused' && last?.role === 'assistant' && !last.tool_calls?.length) {
    throw new EncodeError(
      `messages[${messages.length - 1}] is an assistant message for the model to go on with, which this model does not ` +
        'do: end with a user message',
    );
  }
  for (let index = 0; index < messages.length; index += 1) {
    const { role, content } = messages[index] as Message;
    if (typeof content === 'string' || content == null || role === 'system' || role === 'developer') continue;
    for (const [position, part] of content.entries()) {
      const kind = mediaKind(part);
      if (kind === undefined || media.user.includes(kind) || media[role].includes(kind)) continue;
      const path = `messages[${index}].content[${position}]`;
      throw new EncodeError(`${path} is of the kind ${kind}, which this provider does not take`);
    }
  }
}

function encodeAssistant(message: AssistantMessage, quirks: VendorQuirks, ids: ToolIds | undefined): unknown {
  const { content, refusal, audio, tool_calls: calls } = message;
  // Null is only allowed beside something else that was said.
  const none = calls?.length || refusal != null || audio?.id !== undefined ? null : '';
  return {
    role: 'assistant',
    content: content == null ? none : encodeContent(content, quirks),
    ...nameOf(message, quirks),
    ...(refusal == null ? {} : { refusal }),
    ...(audio?.id === undefined ? {} : { audio: { id: audio.id } }),
    ...reasoningOf(message, quirks),
    ...(calls?.length ? { tool_calls: calls.map((call) => encodeToolCall(call, ids)) } : {}),
  };
}

function encodeToolCall({ id, function: { name, arguments: text } }: ToolCall, ids: ToolIds | undefined): unknown {
  return { id: ids?.call(id) ?? id, type: 'function', function: { name, arguments: text } };
}

function reasoningOf(message: AssistantMessage, { reasoningHistory }: VendorQuirks): object {
  if (reasoningHistory === undefined) return {};
  if (reasoningHistory === 'reasoning_details') {
    return {
      ...(message.reasoning == null ? {} : { reasoning: message.reasoning }),
      ...(message.reasoning_details == null ? {} : { reasoning_details: message.reasoning_details }),
    };
  }
  return message.reasoning == null ? {} : { [reasoningHistory]: message.reasoning };
}

function nameOf({ name }: { readonly name?: string | null | undefined }, { messageNames }: VendorQuirks): object {
  return name == null || messageNames === false ? {} : { name };
}

/** Where names are not known, the text says who speaks. */
function namedContent({
  name,
  content,
}: {
  readonly name?: string | null | undefined;
  readonly content: string | readonly ContentPart[];
}): string | readonly ContentPart[] {
  if (name == null) return content;
  if (typeof content === 'string') return `${name}: ${content}`;
  return [{ type: 'text', text: `${name}:` }, ...content];
}

function encodeContent(content: AssistantMessage['content'], quirks: VendorQuirks): unknown {
  return typeof content === 'string' || content == null ? content : content.map((part) => encodePart(part, quirks));
}

function encodePart(
  part: ContentPart | { readonly type: 'refusal'; readonly refusal: string },
  quirks: VendorQuirks,
): unknown {
  if (part.type === 'refusal') return part;
  const { cache_control: mark, prompt_cache_breakpoint: breakpoint, ...plain } = part;
  const encoded = plain.type === 'image_url' && quirks.originalImages !== true ? lowerDetail(plain) : plain;
  const marked = mark != null || breakpoint != null;
  if (!marked || quirks.cacheMarks === undefined) return encoded;
  if (quirks.cacheMarks === 'prompt_cache_breakpoint')
    return { ...encoded, prompt_cache_breakpoint: { mode: 'explicit' } };
  return { ...encoded, cache_control: mark ?? { type: 'ephemeral' } };
}

/** Most servers know no detail above `high`. */
function lowerDetail<
  Part extends { readonly image_url: { readonly url: string; readonly detail?: string | undefined } },
>(part: Part): Part {
  return part.image_url.detail === 'original' ? { ...part, image_url: { ...part.image_url, detail: 'high' } } : part;
}
