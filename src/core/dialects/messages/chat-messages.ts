import type { JsonObject } from '../../../protocol/json.ts';
import {
  type MessagesBlock,
  SERVER_TOOL_RESULTS,
  type ServerToolResultBlock,
  type ServerToolUseBlock,
  type ToolResultBlock,
  type ToolUseBlock,
} from '../../../protocol/messages/block.ts';
import type { MessagesRequest, MessagesTurn } from '../../../protocol/messages/messages-request.ts';
import type { ReasoningDetail } from '../../../protocol/reasoning.ts';
import { chatContent } from './chat-parts.ts';
import { detailOfBlock } from './thinking-blocks.ts';
import { chatToolName } from './tool-names.ts';

/** The conversation as chat messages, with `system` as the first of them. */
export function chatMessages({ system, messages }: MessagesRequest): readonly JsonObject[] {
  const instructions = system == null || system.length === 0 ? [] : [{ role: 'system', content: chatContent(system) }];
  return [...instructions, ...messages.flatMap(messagesOfTurn)];
}

function messagesOfTurn({ role, content }: MessagesTurn): readonly JsonObject[] {
  if (typeof content === 'string' || role === 'system') return [{ role, content: chatContent(content) }];
  return role === 'assistant' ? [assistantMessage(content)] : userMessages(content);
}

/** Results of tools are messages of their own in the chat form, and come before what the user says with them. */
function userMessages(blocks: readonly MessagesBlock[]): readonly JsonObject[] {
  const said = blocks.filter((block) => block.type !== 'tool_result');
  return [
    ...blocks.filter((block) => block.type === 'tool_result').map(toolMessage),
    ...(said.length === 0 ? [] : [{ role: 'user', content: chatContent(said) }]),
  ];
}

function toolMessage({ tool_use_id: id, content, is_error: failed, cache_control: mark }: ToolResultBlock): JsonObject {
  const said = chatContent(content ?? '');
  return {
    role: 'tool',
    tool_call_id: id,
    content: failed === true ? failedContent(said) : said,
    ...(mark == null ? {} : { cache_control: { ...mark } }),
  };
}

/** The chat form has no mark for a tool that failed, so the text says it, unless it does so already. */
function failedContent(content: string | readonly JsonObject[]): string | readonly JsonObject[] {
  if (typeof content !== 'string') {
    const first = content.find((part) => part['type'] === 'text')?.['text'];
    return saysError(first) ? content : [{ type: 'text', text: 'Error:' }, ...content];
  }
  return saysError(content) ? content : `Error: ${content}`;
}

function saysError(text: unknown): boolean {
  return typeof text === 'string' && /^\s*(?:\w+)?error\b/i.test(text);
}

function assistantMessage(blocks: readonly MessagesBlock[]): JsonObject {
  const details = reasoningDetails(blocks);
  const thoughts = blocks.flatMap((block) =>
    block.type === 'thinking' && block.thinking !== '' ? [block.thinking] : [],
  );
  const calls = blocks.filter((block) => block.type === 'tool_use').map(toolCall);
  const said = blocks.filter((block) => !isApart(block));
  return {
    role: 'assistant',
    content: said.length === 0 ? null : chatContent(said),
    ...(thoughts.length === 0 ? {} : { reasoning: thoughts.join('\n\n') }),
    ...(details.length === 0 ? {} : { reasoning_details: details as unknown as readonly JsonObject[] }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

/** Blocks that the chat form keeps beside the content. */
function isApart({ type }: MessagesBlock): boolean {
  return (
    type === 'thinking' ||
    type === 'redacted_thinking' ||
    type === 'tool_use' ||
    type === 'server_tool_use' ||
    type === 'mcp_tool_use' ||
    (SERVER_TOOL_RESULTS as readonly string[]).includes(type)
  );
}

function toolCall({ id, name, input }: ToolUseBlock): JsonObject {
  return { id, type: 'function', function: { name: chatToolName(name), arguments: JSON.stringify(input) } };
}

/**
 * Reasoning and the calls of tools that a provider ran itself, in their order. Their numbers are places in the turn:
 * every thinking block and every call has one of its own, and all text has one together.
 */
function reasoningDetails(blocks: readonly MessagesBlock[]): readonly ReasoningDetail[] {
  const details: ReasoningDetail[] = [];
  let place = 0;
  let hasText = false;
  for (const block of blocks) {
    if (block.type === 'thinking' || block.type === 'redacted_thinking') {
      details.push(detailOfBlock(block, place));
      place += 1;
    } else if (block.type === 'server_tool_use' || block.type === 'mcp_tool_use') {
      details.push(serverToolCall(block, resultOf(block, blocks), place));
    } else if (block.type === 'tool_use') {
      place += 1;
    } else if (block.type === 'text' && !hasText) {
      hasText = true;
      place += 1;
    }
  }
  return details;
}

function resultOf({ id }: ServerToolUseBlock, blocks: readonly MessagesBlock[]): ServerToolResultBlock | undefined {
  return blocks.find(
    (block): block is ServerToolResultBlock =>
      (SERVER_TOOL_RESULTS as readonly string[]).includes(block.type) &&
      (block as ServerToolResultBlock).tool_use_id === id,
  );
}

function serverToolCall(
  { id, name, input }: ServerToolUseBlock,
  result: ServerToolResultBlock | undefined,
  index: number,
): ReasoningDetail {
  return {
    type: 'reasoning.server_tool_call',
    tool_name: name,
    arguments: JSON.stringify(input ?? {}),
    result: JSON.stringify(result?.content ?? null),
    tool_call_id: id,
    format: 'anthropic-claude-v1',
    index,
  };
}
