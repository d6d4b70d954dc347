import type { Message } from '../../protocol/message.ts';

/** The text of a message, without media. */
export function textOfMessage({ content }: Message): string {
  if (content == null) return '';
  if (typeof content === 'string') return content;
  return content.flatMap((part) => (part.type === 'text' ? part.text : [])).join('\n');
}
