import type { JsonObject, JsonValue } from '../../../protocol/json.ts';
import type { InputPart } from '../../../protocol/responses/input-content.ts';
import { type InputItem, isTranslatedItem } from '../../../protocol/responses/input-item.ts';
import { type AssistantItem, messagesOfTurn } from './assistant-turn.ts';
import { chatContent, chatText } from './content-parts.ts';

/**
 * The messages that input items stand for. Items that only their own provider understands leave nothing behind: a
 * request with such items does not go to anybody else.
 */
export function messagesOfInput(
  input: string | readonly InputItem[],
  instructions: string | null | undefined,
): readonly JsonObject[] {
  const messages: JsonObject[] = instructions ? [{ role: 'system', content: instructions }] : [];
  if (typeof input === 'string') return [...messages, { role: 'user', content: input }];
  let turn: AssistantItem[] = [];
  const endTurn = (): void => {
    if (turn.length > 0) messages.push(...messagesOfTurn(turn));
    turn = [];
  };
  for (const item of input.filter(isTranslatedItem)) {
    if (isOfAssistant(item)) {
      turn.push(item);
      continue;
    }
    endTurn();
    messages.push(messageOfOther(item));
  }
  endTurn();
  // Nothing is left when all items were of the other kind.
  return messages.some((message) => message['role'] !== 'system')
    ? messages
    : [...messages, { role: 'user', content: '' }];
}

function isOfAssistant(item: InputItem): item is AssistantItem {
  if (item.type == null || item.type === 'message') return item.role === 'assistant';
  return !(
    item.type === 'function_call_output' ||
    item.type === 'custom_tool_call_output' ||
    item.type === 'configuration_update'
  );
}

function messageOfOther(item: Exclude<InputItem, AssistantItem> | AssistantItem): JsonObject {
  switch (item.type) {
    case 'function_call_output':
    case 'custom_tool_call_output':
      return { role: 'tool', tool_call_id: item.call_id, content: chatContent(item.output) as JsonValue };
    case 'configuration_update':
      return {
        role: 'developer',
        content: '',
        ...(item.reasoning == null ? {} : { configuration_update: { reasoning: { ...item.reasoning } } }),
      };
    default: {
      const { role, content } = item as { readonly role: string; readonly content: string | readonly InputPart[] };
      return { role, content: (role === 'user' ? chatContent(content) : chatText(content)) as JsonValue };
    }
  }
}
