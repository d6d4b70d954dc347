import * as read from '../../platform/json.ts';
import type { Message, ToolCall } from '../../protocol/message.ts';

/**
 * Whether a conversation may need `repairConversation`: calls and results that do not follow each other one by one, a
 * history that begins with a call, a call whose arguments are no JSON object or with the id of another one in its turn, or a turn or a
 * part that is empty. One look at each message, because every request passes here; the repair itself is loaded for those
 * that need it.
 */
export function needsRepair(messages: readonly Message[]): boolean {
  let calls: readonly ToolCall[] = NO_CALLS;
  let answered = 0;
  let hasBegun = false;
  for (const message of messages) {
    const { role, content } = message;
    if (role === 'tool') {
      if (calls[answered]?.id !== message.tool_call_id) return true;
      answered += 1;
      continue;
    }
    if (answered < calls.length) return true;
    calls = NO_CALLS;
    answered = 0;
    if (role === 'assistant' && message.tool_calls?.length) {
      if (!hasBegun || !message.tool_calls.every(isGoodCall)) return true;
      calls = message.tool_calls;
    } else if ((content == null || content.length === 0) && !changesConfiguration(message)) return true;
    hasBegun ||= role === 'user';
    if (typeof content !== 'string' && content?.some(isEmptyText)) return true;
  }
  return answered < calls.length;
}

const NO_CALLS: readonly ToolCall[] = [];

/** True for a call whose arguments are a JSON object, and whose id no call before it in the turn has. */
function isGoodCall(
  { id, function: { arguments: input } }: ToolCall,
  index: number,
  all: readonly ToolCall[],
): boolean {
  if (!isObjectText(input)) return false;
  for (let other = 0; other < index; other += 1) if (all[other]?.id === id) return false;
  return true;
}

/** True for the text of a JSON object. */
export function isObjectText(text: string): boolean {
  // Arguments that were cut off are the usual fault: those need not be parsed.
  const last = text.charCodeAt(text.length - 1);
  return (last === CLOSING || last <= SPACE) && read.parseObject(text) !== undefined;
}

const CLOSING = 0x7d;
const SPACE = 0x20;

/** True for instructions that are there for something else than their text. */
export function changesConfiguration(message: Message): boolean {
  return 'configuration_update' in message && message.configuration_update != null;
}

/** True for a part of no text. */
export function isEmptyText(part: { readonly type: string; readonly text?: string }): boolean {
  return part.type === 'text' && part.text === '';
}
