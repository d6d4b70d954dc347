import type { Message, UserMessage } from '../../protocol/message.ts';
import type { SearchResult } from '../ports/search-engine.ts';
import { UNTRUSTED_PAGES, quoteResults } from '../search/quote-results.ts';

/** What introduces the results when a request has no `search_prompt` of its own. */
export function usualSearchPrompt(epochMs: number): string {
  const today = new Date(epochMs).toISOString().slice(0, 10);
  return (
    `A web search for this message was made today, ${today}; what it found follows. Use it where it helps to answer, ` +
    'and cite every page that you use as a Markdown link named by its domain, for example ' +
    '[example.org](https://example.org/an/article).'
  );
}

/**
 * Puts results behind the newest user message. They stand in a user's turn and not in a system message, because pages
 * must not speak with the authority of the program.
 */
export function addResults(
  messages: readonly Message[],
  results: readonly SearchResult[],
  searchPrompt: string,
): readonly Message[] {
  const found = results.length === 0 ? 'The search found nothing.' : `${UNTRUSTED_PAGES}\n\n${quoteResults(results)}`;
  const addition = `${searchPrompt}\n\n${found}`;
  const index = messages.findLastIndex((message) => message.role === 'user');
  return messages.map((message, at) => (at === index ? extended(message as UserMessage, addition) : message));
}

function extended(message: UserMessage, addition: string): UserMessage {
  const { content } = message;
  return typeof content === 'string'
    ? { ...message, content: `${content}\n\n${addition}` }
    : { ...message, content: [...content, { type: 'text', text: addition }] };
}
