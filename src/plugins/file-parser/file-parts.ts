/** Finds the files of a conversation, and puts their text in their place. */
import type { ContentPart, FilePart, ImagePart, TextPart } from '../../protocol/content-part.ts';
import type { Message } from '../../protocol/message.ts';
import { RouterError } from '../../protocol/router-error.ts';
import type { Annotation } from '../../protocol/chat-result.ts';
import { isJsonObject } from '../../protocol/json.ts';

/** A file part of a conversation, and where it stands. */
export interface FoundFile {
  readonly part: FilePart;
  /** For errors: `messages[0].content[1].file`. */
  readonly path: string;
}

/** The file parts of a conversation in their order. */
export function fileParts(messages: readonly Message[]): readonly FoundFile[] {
  return messages.flatMap(({ content }, message) =>
    typeof content === 'string' || content == null
      ? []
      : content.flatMap((part, index) =>
          part.type === 'file' ? [{ part, path: `messages[${message}].content[${index}].file` }] : [],
        ),
  );
}

/** Puts other parts in the place of some; what holds no such part stays the same object. */
export function replaceParts(
  messages: readonly Message[],
  replacement: (part: ContentPart) => readonly ContentPart[] | undefined,
): readonly Message[] {
  const changedMessages = messages.map((message) => {
    const { content } = message;
    if (typeof content === 'string' || content == null) return message;
    const parts = content.map((part) => (part.type === 'refusal' ? undefined : replacement(part)));
    if (parts.every((one) => one === undefined)) return message;
    const changed: readonly object[] = content.flatMap((part, index): readonly object[] => parts[index] ?? [part]);
    return { ...message, content: changed } as Message;
  });
  return changedMessages.every((message, index) => message === messages[index]) ? messages : changedMessages;
}

/** The error for a file that cannot be used: 400, or 413 for one that is too large. */
export function fileProblem(path: string, problem: string, status: 400 | 413 = 400): RouterError {
  return new RouterError({
    status,
    errorType: status === 413 ? 'payload_too_large' : 'invalid_request',
    message: `${path} ${problem}`,
    metadata: { path },
  });
}

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

/** The text of a file as a part of the prompt: quoted, so that it is distinguished from what the caller says. */
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
