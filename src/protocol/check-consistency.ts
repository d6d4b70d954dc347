import type { ChatRequest } from './chat-request.ts';
import { echo } from './echo.ts';
import { type RequestFault, faultAt } from './fault.ts';
import type { Message } from './message.ts';
import { isFunctionTool } from './tools.ts';

/** Finds statements of a body that cannot all be true: each is fine by itself, together they are a 422. */
export function checkConsistency(request: ChatRequest): RequestFault | undefined {
  return (
    checkToolResults(request.messages) ??
    checkConfigurationUpdates(request.messages) ??
    checkReasoning(request) ??
    checkToolChoice(request) ??
    checkLogprobs(request)
  );
}

function checkToolResults(messages: readonly Message[]): RequestFault | undefined {
  const calls = new Set<string>();
  for (const [index, message] of messages.entries()) {
    if (message.role === 'assistant') for (const call of message.tool_calls ?? []) calls.add(call.id);
    if (message.role === 'tool' && !calls.has(message.tool_call_id)) {
      const problem = 'answers a tool call that no earlier assistant message made';
      return faultAt(`messages[${index}].tool_call_id`, problem, 422);
    }
  }
  return undefined;
}

function checkConfigurationUpdates(messages: readonly Message[]): RequestFault | undefined {
  const index = messages.findIndex((message, at) => hasUpdate(message) && hasUpdate(messages[at + 1]));
  if (index < 0) return undefined;
  return faultAt(`messages[${index + 1}].configuration_update`, 'must not follow another one directly', 422);
}

function hasUpdate(message: Message | undefined): boolean {
  if (message?.role !== 'system' && message?.role !== 'developer') return false;
  return message.configuration_update != null;
}

function checkReasoning({ reasoning, reasoning_effort: short }: ChatRequest): RequestFault | undefined {
  if (short != null && reasoning?.effort != null && short !== reasoning.effort) {
    return faultAt('reasoning_effort', `must not differ from reasoning.effort ("${short}" and "${reasoning.effort}")`);
  }
  if (reasoning?.max_tokens != null && (reasoning.effort ?? short) != null) {
    return faultAt('reasoning', 'must have either an effort or max_tokens, not both');
  }
  return undefined;
}

function checkToolChoice({ tools, tool_choice: choice }: ChatRequest): RequestFault | undefined {
  if (choice == null || choice === 'none' || choice === 'auto') return undefined;
  if (!tools?.length) return faultAt('tool_choice', 'asks for a tool call, but the request has no tools', 422);
  if (typeof choice === 'string' || choice.type !== 'function' || !('function' in choice)) return undefined;
  const wanted = choice.function.name;
  const known = tools.some((tool) => isFunctionTool(tool) && tool.function.name === wanted);
  if (known) return undefined;
  return faultAt('tool_choice.function.name', `must be the name of a function in tools, not ${echo(wanted)}`, 422);
}

function checkLogprobs({ logprobs, top_logprobs: top }: ChatRequest): RequestFault | undefined {
  return top != null && top > 0 && logprobs !== true ? faultAt('top_logprobs', 'needs logprobs: true', 422) : undefined;
}
