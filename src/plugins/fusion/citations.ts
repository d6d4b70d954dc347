import type { Annotation } from '../../protocol/chat-result.ts';
import type { MemberAnswer } from './panel.ts';

/** Sources of a panel that are handed on at most. */
const MAX_CITATIONS = 50;

/** The pages that a panel cites, each once. Where in a member's text it did says nothing about the final answer. */
export function citationsOf(answers: readonly MemberAnswer[]): readonly Annotation[] {
  const byAddress = new Map<string, Annotation>();
  for (const annotation of answers.flatMap(({ annotations }) => annotations)) {
    if (annotation.type !== 'url_citation' || byAddress.has(annotation.url_citation.url)) continue;
    const { start_index: _, end_index: __, ...citation } = annotation.url_citation;
    byAddress.set(citation.url, { type: 'url_citation', url_citation: citation });
  }
  return [...byAddress.values()].slice(0, MAX_CITATIONS);
}
