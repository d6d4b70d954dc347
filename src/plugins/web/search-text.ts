import type { Message } from '../../protocol/message.ts';
import { plainText } from '../pages/plain-text.ts';

/** Characters of a query. Engines shorten it further as they need. */
const MAX_LENGTH = 1_000;

/** What to search for: the text of the newest user message, on one line; undefined when it has none. */
export function searchText(messages: readonly Message[]): string | undefined {
  const newest = messages.findLast((message) => message.role === 'user');
  const { content } = newest ?? {};
  const text =
    typeof content === 'string'
      ? content
      : (content ?? []).flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
  const short = text.trim().length <= MAX_LENGTH ? text : mainParagraph(text);
  return plainText(short.replaceAll(/\s+/g, ' '), MAX_LENGTH) || undefined;
}

/** In a long message, usually a document with a question before or behind it, the question is what counts. */
function mainParagraph(text: string): string {
  const paragraphs = text.split('\n').filter((one) => one.trim() !== '');
  const [first = '', last = ''] = [paragraphs[0], paragraphs.at(-1)];
  const asks = (one: string): boolean => one.trim().endsWith('?') && one.length <= MAX_LENGTH;
  return asks(last) ? last : first;
}
