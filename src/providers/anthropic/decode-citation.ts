import type { Annotation } from '../../protocol/chat-result.ts';
import { isJsonObject } from '../../protocol/json.ts';

/** Where in the text of the answer the words that a citation belongs to stand. */
export interface CitedSpan {
  readonly start: number;
  readonly end: number;
}

/**
 * A citation of something with an address, as an annotation. Citations of places in documents have no form in chat
 * completions and are left out.
 */
export function decodeCitation(citation: unknown, { start, end }: CitedSpan): readonly Annotation[] {
  if (!isJsonObject(citation)) return [];
  const { url: address, source, title, cited_text: content } = citation;
  const url = [address, source].find((value) => typeof value === 'string' && /^https?:/.test(value));
  if (typeof url !== 'string') return [];
  return [
    {
      type: 'url_citation',
      url_citation: {
        url,
        ...(typeof title === 'string' ? { title } : {}),
        ...(typeof content === 'string' ? { content } : {}),
        start_index: start,
        end_index: end,
      },
    },
  ];
}
