import { echo } from '../echo.ts';
import { type RequestFault, faultAt } from '../fault.ts';
import type { MessagesRequest, MessagesTurn } from './messages-request.ts';

/** Finds statements of a request that cannot all be true. Anthropic answers them with a 400, and so do we. */
export function checkMessages(request: MessagesRequest): RequestFault | undefined {
  return checkToolResults(request.messages) ?? checkToolChoice(request) ?? checkFallbacks(request);
}

function checkToolResults(messages: readonly MessagesTurn[]): RequestFault | undefined {
  const calls = new Set<string>();
  for (const [turn, { content }] of messages.entries()) {
    if (typeof content === 'string') continue;
    for (const [index, block] of content.entries()) {
      if (block.type === 'tool_use') calls.add(block.id);
      if (block.type !== 'tool_result' || calls.has(block.tool_use_id)) continue;
      const path = `messages[${turn}].content[${index}].tool_use_id`;
      return faultAt(path, 'answers a tool call that no earlier assistant message made');
    }
  }
  return undefined;
}

function checkToolChoice({ tools, tool_choice: choice }: MessagesRequest): RequestFault | undefined {
  if (choice == null || choice.type === 'none' || choice.type === 'auto') return undefined;
  if (!tools?.length) return faultAt('tool_choice', 'asks for a tool call, but the request has no tools');
  if (choice.type !== 'tool' || tools.some((tool) => tool.name === choice.name)) return undefined;
  return faultAt('tool_choice.name', `must be the name of one of the tools, not ${echo(choice.name)}`);
}

function checkFallbacks({ fallbacks, models }: MessagesRequest): RequestFault | undefined {
  if (fallbacks == null || fallbacks === 'default' || models == null) return undefined;
  return faultAt('fallbacks', 'and models mean the same: send one of them');
}
