/** Keeps the signatures of texts and images in reasoning details. */
import type { Message, ToolCall } from '../protocol/message.ts';

/** Which part of an answer a signature came with. */
type SignedPart =
  /** A stretch of the content, in UTF-16 units. */
  | { readonly type: 'text'; readonly start: number; readonly end: number }
  /** An image, counted from 0. */
  | { readonly type: 'image'; readonly position: number };

/** Id of the reasoning detail that carries the signature of a stretch of the content, in UTF-16 units. */
export function textId(start: number, end: number): string {
  return `text:${start}-${end}`;
}

/** Id of the reasoning detail that carries the signature of an image, counted from 0. */
export function imageId(position: number): string {
  return `image:${position}`;
}

/** What {@link textId} or {@link imageId} wrote; undefined for the id of a tool call. */
export function readSignedPart(id: string): SignedPart | undefined {
  const [, kind, first = '', last = ''] = PART_ID.exec(id) ?? [];
  if (kind === 'image') return { type: 'image', position: Number(first) };
  return kind === 'text' ? { type: 'text', start: Number(first), end: Number(last) } : undefined;
}

const PART_ID = /^(text|image):(\d{1,10})(?:-(\d{1,10}))?$/;

/**
 * A conversation whose calls have the signatures that are remembered of them.
 *
 * @param keepsOthers - Whether signatures of which nothing is remembered stay.
 */
export function withSignatures(
  messages: readonly Message[],
  recall: (id: string, name: string) => string | undefined,
  { keepsOthers }: { readonly keepsOthers: boolean },
): readonly Message[] {
  let changed = false;
  const signed = messages.map((message): Message => {
    if (message.role !== 'assistant' || !message.tool_calls?.length) return message;
    const calls = message.tool_calls.map((call): ToolCall => {
      const known = recall(call.id, call.function.name);
      if (known === undefined && (keepsOthers || call.extra_content == null)) return call;
      changed = true;
      return { ...call, extra_content: known === undefined ? undefined : { google: { thought_signature: known } } };
    });
    return { ...message, tool_calls: calls };
  });
  return changed ? signed : messages;
}

/** Calls whose signatures are remembered at most. */
const MAX_CALLS = 10_000;
/** Characters of all remembered signatures together: they are up to some hundred thousand long. */
const MAX_CHARACTERS = 16_000_000;

/**
 * Remembers the thought signatures of tool calls, because many clients send back a call without the fields that they
 * do not know. Lives as long as the process; where a signature is not known any more, the model goes without its
 * thoughts.
 */
export class SignatureMemory {
  readonly #signatures = new Map<string, string>();
  #characters = 0;

  /** Keeps the signature of a call. What was kept longest makes room. */
  remember(account: string, callId: string, signature: string): void {
    if (signature.length > MAX_CHARACTERS / 16) return;
    const key = keyOf(account, callId);
    this.#forget(key);
    this.#signatures.set(key, signature);
    this.#characters += signature.length;
    for (const oldest of this.#signatures.keys()) {
      if (this.#signatures.size <= MAX_CALLS && this.#characters <= MAX_CHARACTERS) return;
      this.#forget(oldest);
    }
  }

  /** The signature of a call that this account's model made. */
  recall(account: string, callId: string): string | undefined {
    return this.#signatures.get(keyOf(account, callId));
  }

  #forget(key: string): void {
    this.#characters -= this.#signatures.get(key)?.length ?? 0;
    this.#signatures.delete(key);
  }
}

function keyOf(account: string, callId: string): string {
  return `${account}\n${callId}`;
}
