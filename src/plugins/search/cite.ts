import type { Annotation } from '../../protocol/chat-result.ts';
import type { SearchResult } from '../ports/search-engine.ts';

/**
 * Citations of results (gaps 5.4), each with the place in the answer where it is linked. A result that the answer does
 * not link is cited too, as something the model has read: its place is empty, from 0 to 0, because clients expect
 * numbers there.
 *
 * @param answer - Text of the answer, as far as it is known.
 */
export function citationsOf(results: readonly SearchResult[], answer = ''): readonly Annotation[] {
  return results.map(({ url, title, content }) => {
    const [start, end] = placeOf(url, answer);
    return {
      type: 'url_citation',
      url_citation: { url, title: title ?? new URL(url).hostname, content, start_index: start, end_index: end },
    };
  });
}

/** From the first to behind the last character of the first link to an address, or of the bare address. */
function placeOf(url: string, answer: string): readonly [number, number] {
  const link = `](${url})`;
  const linked = answer.indexOf(link);
  const opened = linked < 0 ? -1 : answer.lastIndexOf('[', linked);
  if (opened >= 0) return [opened, linked + link.length];
  for (let at = answer.indexOf(url); at >= 0; at = answer.indexOf(url, at + 1)) {
    // The beginning of a longer address is another address.
    if (!/^[\w/?#&=%~-]/.test(answer.slice(at + url.length, at + url.length + 1))) return [at, at + url.length];
  }
  return [0, 0];
}
