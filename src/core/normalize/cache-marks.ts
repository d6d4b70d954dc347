/** Finds the repeated beginning of a prompt, and marks it for the prompt cache of the provider. */
import type { CacheControl } from '../../protocol/content-part.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/json.ts';
import type { Message } from '../../protocol/message.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import { conversationKey, isInstruction } from './session.ts';

/** How much of a prompt was sent before: its instructions, or all but the end of the conversation. */
export type RepeatedPrefix = 'instructions' | 'conversation';

/** Keys of what may be repeated of a prompt; the conversation's includes the instructions. */
interface PrefixKeys {
  /** Absent where there are none. */
  readonly instructions?: string | undefined;
  readonly conversation: string;
}

const MARK: CacheControl = { type: 'ephemeral' };

/** Whether the caller says itself what is to be cached. */
export function marksItsCache({ cache, tools, messages, native }: NormalizedRequest): boolean {
  if (native !== undefined && isMarked(native.body)) return true;
  if (cache.control !== undefined || tools.some(({ cache_control: mark }) => mark != null)) return true;
  return messages.some(
    ({ content }) =>
      Array.isArray(content) &&
      (content as readonly MarkedPart[]).some(
        (part) => part.cache_control != null || part.prompt_cache_breakpoint != null,
      ),
  );
}

/** Whether a body in the words of an API format has a mark: at the top, on a tool, or on a block of content. */
function isMarked(value: JsonValue | undefined): boolean {
  if (Array.isArray(value)) return value.some(isMarked);
  if (!isJsonObject(value)) return false;
  const { cache_control: mark, system, tools, messages, content } = value;
  return mark != null || [system, tools, messages, content].some(isMarked);
}

interface MarkedPart {
  readonly cache_control?: unknown;
  readonly prompt_cache_breakpoint?: unknown;
}

/** By what a prompt is recognised when it comes again. */
export function prefixKeysOf({ account, targets, messages }: NormalizedRequest): PrefixKeys {
  const owner = `${account.id}\n${targets[0]?.model ?? ''}\n`;
  const instructions = messages.find(isInstruction);
  return {
    ...(instructions === undefined ? {} : { instructions: owner + conversationKey([instructions]) }),
    conversation: owner + conversationKey(messages),
  };
}

/**
 * A request with marks that tell a provider to keep what is repeated of its prompt in its cache: at the end of the
 * instructions, and for a conversation also at its end, from where the next turn goes on.
 */
export function withCacheMarks(request: NormalizedRequest, repeated: RepeatedPrefix): NormalizedRequest {
  const { messages } = request;
  const instructions = messages.findLastIndex(isInstruction);
  const marked = instructions < 0 ? messages : markedAt(messages, instructions);
  return {
    ...request,
    messages: repeated === 'conversation' ? markedAt(marked, lastWithText(marked)) : marked,
    ...(request.native?.apiFormat !== 'messages'
      ? {}
      : { native: { ...request.native, body: markedBody(request.native.body, repeated) } }),
  };
}

/** Marks in the words of the Messages API; other API formats have none. */
function markedBody(body: JsonObject, repeated: RepeatedPrefix): JsonObject {
  const { system, messages } = body;
  const last = Array.isArray(messages) ? messages.at(-1) : undefined;
  return {
    ...body,
    ...(system === undefined ? {} : { system: markedContent(system) }),
    ...(repeated === 'conversation' && Array.isArray(messages) && isJsonObject(last) && last['role'] === 'user'
      ? { messages: messages.with(-1, { ...last, content: markedContent(last['content']) }) }
      : {}),
  };
}

/** Content with a mark on its last block, if that can have one. */
function markedContent(content: JsonValue | undefined): JsonValue {
  const blocks: JsonValue | undefined = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  const last = Array.isArray(blocks) ? blocks.at(-1) : undefined;
  if (!Array.isArray(blocks) || !isJsonObject(last) || !MARKABLE.has(last['type']) || last['text'] === '') {
    return content ?? null;
  }
  return blocks.with(-1, { ...last, cache_control: { type: 'ephemeral' } });
}

const MARKABLE: ReadonlySet<unknown> = new Set(['text', 'image', 'document', 'tool_result']);

function lastWithText(messages: readonly Message[]): number {
  return messages.findLastIndex(({ content }) => lastTextIn(content) >= 0);
}

function markedAt(messages: readonly Message[], index: number): readonly Message[] {
  const message = messages[index];
  const last = lastTextIn(message?.content);
  if (message === undefined || last < 0) return messages;
  const { content } = message;
  const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : (content ?? []);
  const marked = parts.map((part, position) => (position === last ? { ...part, cache_control: MARK } : part));
  return messages.with(index, { ...message, content: marked } as Message);
}

/** Position of the last text that is not blank, or -1. */
function lastTextIn(content: Message['content']): number {
  if (typeof content === 'string') return content.trim() === '' ? -1 : 0;
  const parts: readonly { readonly type: string; readonly text?: string }[] = content ?? [];
  return parts.findLastIndex(({ type, text = '' }) => type === 'text' && text.trim() !== '');
}
