import type { Endpoint } from '../../catalog/endpoint.ts';
import type { ResultMessage, ResultToolCall } from '../../protocol/chat-result.ts';
import type { Message } from '../../protocol/message.ts';
import type { NormalizedRequest } from '../normalize/normalized-request.ts';

/** A call of a server tool and the text that the model gets for it. */
export interface AnsweredCall {
  readonly call: ResultToolCall;
  readonly result: string;
}

/**
 * The request for the turn after some calls: what the model said, and the results. What it was forced to call, it has
 * called; forcing it again would never end.
 */
export function nextTurn(
  request: NormalizedRequest,
  message: ResultMessage,
  answered: readonly AnsweredCall[],
  serverNames: ReadonlySet<string>,
): NormalizedRequest {
  const { content, reasoning, reasoning_details: details } = message;
  const said: Message = {
    role: 'assistant',
    content: content === '' ? null : content,
    ...(reasoning === null ? {} : { reasoning }),
    ...(details === undefined ? {} : { reasoning_details: details }),
    tool_calls: answered.map(({ call: { id, function: called, extra_content: extra } }) => ({
      id,
      type: 'function',
      function: called,
      ...(extra === undefined ? {} : { extra_content: extra }),
    })),
  };
  const results = answered.map(({ call, result }): Message => ({
    role: 'tool',
    tool_call_id: call.id,
    content: result,
  }));
  return {
    ...request,
    messages: [...request.messages, said, ...results],
    toolChoice: isSpent(request.toolChoice, serverNames) ? 'auto' : request.toolChoice,
  };
}

function isSpent(choice: NormalizedRequest['toolChoice'], serverNames: ReadonlySet<string>): boolean {
  if (typeof choice !== 'object') return choice === 'required';
  return 'function' in choice && serverNames.has(choice.function.name);
}

/** The request for the last turn, in which no tool may be called any more, as an endpoint understands that. */
export function withToolsOff(request: NormalizedRequest, { parameters, toolChoices }: Endpoint): NormalizedRequest {
  const canBeTold = parameters?.has('tool_choice') !== false && toolChoices?.has('none') !== false;
  // Tools stay where they can: a conversation with calls in it is refused by some providers without them.
  return canBeTold ? { ...request, toolChoice: 'none' } : { ...request, tools: [], toolChoice: undefined };
}
