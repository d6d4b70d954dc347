import type { ContentPart, FilePart } from '../../protocol/content-part.ts';
import type { Message } from '../../protocol/message.ts';

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
