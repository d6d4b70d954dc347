/** Normalizes messages and reasoning options. */
import type { CacheControl, ContentPart } from '../../protocol/content-part.ts';
import type { AssistantMessage, Message, SystemMessage } from '../../protocol/message.ts';
import type { ChatRequest } from '../../protocol/chat-request.ts';
import { hasBillingLine, withoutBillingLine } from './claude-code.ts';
import type { ReasoningRequest } from '../../contracts/request.ts';

/**
 * Brings messages to one spelling: deprecated part types, the alias `reasoning_content`, cache marks that some
 * clients put on the message instead of on its last text block, and instructions without the line of a client that
 * differs in every request. Messages without any of these are kept as they are.
 */
export function normalizeMessages(messages: readonly Message[]): readonly Message[] {
  return messages.some(needsRewrite) ? messages.flatMap(normalizeMessage) : messages;
}

function needsRewrite(message: Message): boolean {
  if (message.cache_control != null) return true;
  if (message.role === 'system' && hasBilling(message)) return true;
  if (message.role === 'assistant' && message.reasoning_content != null) return true;
  return Array.isArray(message.content) && message.content.some((part) => part.type === 'input_video');
}

function hasBilling({ content }: SystemMessage): boolean {
  return hasBillingLine(typeof content === 'string' ? content : (content[0]?.text ?? ''));
}

function normalizeMessage(message: Message): Message | readonly Message[] {
  if (!needsRewrite(message)) return message;
  const { cache_control: mark, ...rest } = message;
  const said =
    message.role === 'system' ? (withoutBillingLine(message.content) as Message['content']) : message.content;
  if (said?.length === 0 && message.content !== said) return [];
  const content = markLastText(renameParts(said), mark);
  const rewritten = { ...rest, content } as Message;
  return rewritten.role === 'assistant' ? renameReasoning(rewritten) : rewritten;
}

function renameParts(content: AssistantMessage['content']): AssistantMessage['content'] {
  if (!Array.isArray(content)) return content;
  return content.map((part: ContentPart) => (part.type === 'input_video' ? { ...part, type: 'video_url' } : part));
}

function markLastText(content: AssistantMessage['content'], mark: CacheControl | null | undefined): unknown {
  if (mark == null || content == null) return content;
  const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content;
  const last = parts.findLastIndex((part) => part.type === 'text');
  return parts.map((part, index) => (index === last ? { ...part, cache_control: mark } : part));
}

function renameReasoning({ reasoning_content: alias, ...message }: AssistantMessage): AssistantMessage {
  return { ...message, reasoning: message.reasoning ?? alias };
}

/** Brings the spellings of reasoning options to one value, or undefined when the request says nothing of it. */
export function normalizeReasoning(request: ChatRequest): ReasoningRequest | undefined {
  const { reasoning, reasoning_effort: short, include_reasoning: include } = request;
  if (reasoning == null && short == null && include == null) return undefined;
  const maxTokens = reasoning?.max_tokens ?? undefined;
  const requested = reasoning?.effort ?? short ?? undefined;
  return {
    effort: requested ?? effortOfSwitch(reasoning?.enabled, maxTokens),
    maxTokens,
    exclude: reasoning?.exclude ?? include === false,
    summary: reasoning?.summary ?? undefined,
    context: reasoning?.context ?? undefined,
    mode: reasoning?.mode ?? undefined,
  };
}

/** `enabled: true` alone means medium effort, `enabled: false` none. */
function effortOfSwitch(
  enabled: boolean | null | undefined,
  maxTokens: number | undefined,
): ReasoningRequest['effort'] {
  if (enabled === false) return 'none';
  return enabled === true && maxTokens === undefined ? 'medium' : undefined;
}
