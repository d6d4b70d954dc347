import type { Annotation } from '../../protocol/chat-result.ts';
import type { ContentPart, ImagePart, TextPart } from '../../protocol/content-part.ts';
import { isJsonObject } from '../../protocol/json.ts';
import type { Message } from '../../protocol/message.ts';

/** What was read from a file, as the caller gets it and may send it back (gaps 5.6). */
export type FileAnnotation = Extract<Annotation, { readonly type: 'file' }>;

/** Makes the annotation of a file. */
export function fileAnnotation(
  hash: string,
  name: string | undefined,
  text: string,
  images: readonly string[],
): FileAnnotation {
  return {
    type: 'file',
    file: {
      hash,
      ...(name === undefined ? {} : { name }),
      content: [{ type: 'text', text }, ...images.map((url) => ({ type: 'image_url' as const, image_url: { url } }))],
    },
  };
}

/** Annotations that came back on assistant messages, by hash. What is not of the shape is overlooked. */
export function earlierAnnotations(messages: readonly Message[]): ReadonlyMap<string, FileAnnotation> {
  const found = new Map<string, FileAnnotation>();
  for (const message of messages) {
    if (message.role !== 'assistant') continue;
    for (const annotation of message.annotations ?? []) {
      const read = readAnnotation(annotation);
      if (read !== undefined) found.set(read.file.hash, read);
    }
  }
  return found;
}

/** The text of a file as a part of the prompt: quoted, so that it is told apart from what the caller says. */
export function quoted(annotation: FileAnnotation): TextPart {
  const { name = 'document', content } = annotation.file;
  const text = content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
  const safeName = name.replaceAll(/["<>\n\r]/g, ' ');
  const body = text.trim() === '' ? NO_TEXT : text.replaceAll(/<\/(?=file>)/gi, '<\\/');
  return { type: 'text', text: `<file name="${safeName}">\n${body}\n</file>` };
}

const NO_TEXT = '(This file has no text that could be read; its pages may be pictures.)';

/** The pictures of a file as parts of the prompt. */
export function imagesOf(annotation: FileAnnotation): readonly ImagePart[] {
  return annotation.file.content.flatMap((part): ContentPart[] =>
    part.type === 'image_url' ? [{ type: 'image_url', image_url: { url: part.image_url.url } }] : [],
  ) as readonly ImagePart[];
}

function readAnnotation(value: unknown): FileAnnotation | undefined {
  if (!isJsonObject(value) || value['type'] !== 'file' || !isJsonObject(value['file'])) return undefined;
  const { hash, name, content } = value['file'];
  if (typeof hash !== 'string' || !Array.isArray(content)) return undefined;
  const texts = content.flatMap((part) =>
    isJsonObject(part) && part['type'] === 'text' && typeof part['text'] === 'string' ? [part['text']] : [],
  );
  const images = content.flatMap((part) => {
    const image = isJsonObject(part) && part['type'] === 'image_url' ? part['image_url'] : undefined;
    const url = isJsonObject(image) ? image['url'] : undefined;
    // What is sent back is held to the same rule as every other picture of a request.
    return typeof url === 'string' && /^(?:https?:\/\/\S|data:)/i.test(url.slice(0, 16)) ? [url] : [];
  });
  if (texts.length === 0 && images.length === 0) return undefined;
  return fileAnnotation(hash, typeof name === 'string' ? name.slice(0, 512) : undefined, texts.join('\n'), images);
}
