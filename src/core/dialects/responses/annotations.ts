import type { Annotation } from '../../../protocol/chat-result.ts';
import type { JsonObject } from '../../../protocol/json.ts';
import type { MessagePart } from '../../../protocol/responses/input-content.ts';

/** A citation, with its members beside the type; undefined for annotations that are no citations. */
export function citationOf(annotation: Annotation): JsonObject | undefined {
  if (annotation.type !== 'url_citation') return undefined;
  const { url, title, content, start_index: start, end_index: end } = annotation.url_citation;
  return {
    type: 'url_citation',
    url,
    title: title ?? '',
    start_index: start ?? 0,
    end_index: end ?? 0,
    ...(content === undefined ? {} : { content }),
  };
}

/** The citations of an earlier answer in the chat form. */
export function chatAnnotations(parts: readonly MessagePart[]): readonly JsonObject[] {
  const annotations = parts.flatMap((part) => (part.type === 'output_text' ? (part.annotations ?? []) : []));
  return annotations.flatMap(({ type, ...citation }) =>
    type === 'url_citation' ? [{ type, url_citation: citation } as JsonObject] : [],
  );
}
