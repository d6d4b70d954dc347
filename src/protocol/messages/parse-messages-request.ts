import { THREAD_PATH } from '../dialect.ts';
import { read } from '../accept/schema.ts';
import { type Checked, echo, failed, faultAt, passed, type RequestFault } from '../fault.ts';
import { inspectJson, isJsonObject } from '../json.ts';
import { nameOf } from '../issues.ts';
import { DEFAULT_REQUEST_LIMITS, type RequestLimits } from '../limits.ts';
import { type MessagesRequest, messagesRequestSchema, type MessagesTurn } from './messages-request.ts';

const NO_THREADS =
  'is not supported here: the next request may go to another provider, so send the whole conversation each time';

/**
 * Checks the body of `POST /messages`. What is wrong comes back as data, with the path in the caller's own body.
 * Fields that it shares with the chat request, such as `provider`, are checked there.
 */
export function parseMessagesRequest(
  body: unknown,
  limits: RequestLimits = DEFAULT_REQUEST_LIMITS,
): Checked<MessagesRequest> {
  if (!isJsonObject(body)) {
    return failed(faultAt('', `must be a JSON object with "messages" and "max_tokens", not ${nameOf(body)}`));
  }
  const inspection = inspectJson(body, limits);
  if (!inspection.ok) return failed(faultAt(inspection.path, inspection.problem));
  if (body['thread'] != null) return failed(faultAt(THREAD_PATH, NO_THREADS));
  const parsed = read(messagesRequestSchema, body);
  if (!parsed.ok) return failed(faultAt(parsed.path, parsed.problem));
  // What passed is given back as it came: members that no schema names stay where they are.
  const request = body as unknown as MessagesRequest;
  const fault = checkMessages(request);
  return fault === undefined ? passed(request) : failed(fault);
}

/** Finds statements of a request that cannot all be true. Anthropic answers them with a 400, and so do we. */
function checkMessages(request: MessagesRequest): RequestFault | undefined {
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
