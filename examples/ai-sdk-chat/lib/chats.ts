import type { UIMessage } from 'ai';

/** A conversation, and the stream of the answer that is being given. */
export interface Chat {
  readonly messages: readonly UIMessage[];
  readonly streamId?: string | undefined;
}

/** In memory, where a real app has a database. */
const kept = globalThis as { chats?: Map<string, Chat> };
const chats = (kept.chats ??= new Map());

export function readChat(id: string): Chat {
  return chats.get(id) ?? { messages: [] };
}

export function saveChat(id: string, chat: Chat): void {
  chats.set(id, chat);
}
