/** Removes blank texts from conversations for providers that refuse them. */
import type { Message } from '../../protocol/message.ts';
import { FILLER } from '../../core/conversation/repair.ts';

/** A text of nothing but space. */
export function isBlank(text: string): boolean {
  return text.trim() === '';
}

/**
 * A conversation without texts of nothing but space, for providers that refuse them: a part or a turn of the model is
 * left out, a user who said nothing else says the usual filler. The same messages where there is none.
 */
export function withoutBlanks(messages: readonly Message[]): readonly Message[] {
  return messages.flatMap((message): readonly Message[] => {
    const { content } = message;
    if (content == null || content.length === 0) return [message];
    const parts: readonly { readonly type: string }[] | undefined = typeof content === 'string' ? undefined : content;
    const kept = parts?.filter((part) => !('text' in part) || !isBlank(String(part.text)));
    if (kept === undefined ? !isBlank(content as string) : kept.length === parts?.length) return [message];
    if (kept !== undefined && kept.length > 0) return [{ ...message, content: kept } as unknown as Message];
    switch (message.role) {
      case 'user':
        return [{ ...message, content: FILLER }];
      case 'assistant':
        return message.tool_calls?.length ? [{ ...message, content: null }] : [];
      case 'tool':
        return [{ ...message, content: '' }];
      default:
        return [];
    }
  });
}
