/** Finds the session of a request, or recognises its conversation. */
import type { ChatRequest } from '../../protocol/chat-request.ts';
import { type Checked, failed, faultAt, passed } from '../../protocol/fault.ts';
import { MAX_SESSION_ID_LENGTH } from '../../protocol/limits.ts';
import type { Message } from '../../protocol/message.ts';
import { sessionInUser } from './claude-code.ts';
import type { Session } from '../../contracts/request.ts';

/** A request of no session. */
export const NO_SESSION: Checked<Session> & { readonly ok: true } = { ok: true, value: {} };

/**
 * Finds the session of a request (gaps 3.5): `session_id` in the body, then the `x-session-id` header, then
 * `prompt_cache_key`, then the session in Claude Code's name of the user. Where there is none, {@link conversationKey} takes its place.
 */
export function findSession(
  request: Pick<ChatRequest, 'session_id' | 'prompt_cache_key' | 'user'>,
  header: string | undefined,
): Checked<Session> {
  if (header !== undefined && header.length > MAX_SESSION_ID_LENGTH) {
    return failed(faultAt('x-session-id', `must have at most ${MAX_SESSION_ID_LENGTH} characters`));
  }
  const id = request.session_id?.trim() || header?.trim() || undefined;
  if (id !== undefined) return passed({ id, key: `session:${id}` });
  const cacheKey = request.prompt_cache_key?.trim();
  if (cacheKey) return passed({ key: `cache:${cacheKey}` });
  const inUser = request.user == null ? undefined : sessionInUser(request.user);
  return inUser === undefined ? NO_SESSION : passed({ id: inUser, key: `session:${inUser}` });
}

/** Key of a conversation that nobody named: a hash of its first instructions and its first other message. */
export function conversationKey(messages: readonly Message[]): string {
  const instructions = messages.find(isInstruction);
  const opening = messages.find((message) => !isInstruction(message));
  return `prefix:${hashText(sampleOf(instructions))}${hashText(sampleOf(opening))}`;
}

/** Whether a message says how to answer, and not what to. */
export function isInstruction(message: Message): boolean {
  return message.role === 'system' || message.role === 'developer';
}

/** Characters of a message that go into the hash; the length goes in as well. */
const SAMPLE = 512;

function sampleOf(message: Message | undefined): string {
  if (message === undefined) return '';
  const { content } = message;
  const text = typeof content === 'string' ? content : (content ?? []).map(textOf).join('\n');
  if (text.length <= 2 * SAMPLE) return text;
  return `${text.slice(0, SAMPLE)}${text.length}${text.slice(-SAMPLE)}`;
}

function textOf(part: { readonly type: string; readonly text?: string }): string {
  return part.text ?? part.type;
}

/** FNV-1a in two lanes. Two conversations that collide share a preference for an endpoint, nothing more. */
function hashText(text: string): string {
  let low = 0x811c9dc5;
  let high = 0x01000193;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ (code + index), 0x85ebca6b);
  }
  return `${low | 0}.${high | 0}`;
}
