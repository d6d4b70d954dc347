import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import type { ContentPart } from '../../protocol/content-part.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { UserMessage } from '../../protocol/message.ts';
import { textOfMessage } from '../inner-call/message-text.ts';

/** What the panel is told. */
export const PANEL_INSTRUCTIONS =
  'You are one of several independent experts who are given the same question. Answer it as well as you can on your ' +
  'own: complete, concrete and to the point. Say where you are not sure, and why.';

/** The question that the model wants deliberated; its user's last words when it gave none. */
export function questionOf({ prompt }: JsonObject, request: NormalizedRequest): string {
  if (typeof prompt === 'string' && prompt.trim() !== '') return prompt;
  const last = lastUserMessage(request);
  return last === undefined ? '' : textOfMessage(last);
}

/** The question as a message, together with the images, files and so on of the user's last message. */
export function panelMessage(question: string, request: NormalizedRequest): UserMessage {
  const content = lastUserMessage(request)?.content ?? '';
  const media = typeof content === 'string' ? [] : content.filter((part) => part.type !== 'text');
  if (media.length === 0) return { role: 'user', content: question };
  const parts: readonly ContentPart[] = [...media, { type: 'text', text: question }];
  return { role: 'user', content: parts };
}

function lastUserMessage({ messages }: NormalizedRequest): UserMessage | undefined {
  return messages.findLast((message): message is UserMessage => message.role === 'user');
}
