import type { AnySchema } from './accept/form.ts';
import { valueOf } from './accept/read.ts';
import { REFUSED } from './accept/schema.ts';
import { type ChatRequest, chatRequestFields } from './chat-request.ts';
import type { JsonObject } from './json.ts';
import { type Message, messageSchema } from './message.ts';
import { isPlainMessage } from './chat-result.ts';

const FIELDS: ReadonlyMap<string, AnySchema> = new Map(Object.entries(chatRequestFields));

/**
 * The request with the fields that are set, which are few of the many that exist; null and absent mean the same.
 * Undefined when one of them is wrong; what exactly is wrong is then found out by the whole schema.
 */
export function acceptFields(body: JsonObject): ChatRequest | undefined {
  if (!Array.isArray(body['messages'])) return undefined;
  const request: Record<string, unknown> = {};
  for (const name in body) {
    const value = body[name];
    const schema = FIELDS.get(name);
    if (value === undefined || name === '__proto__' || (value === null && schema !== undefined)) continue;
    const accepted =
      name === 'messages'
        ? acceptMessages(value as readonly unknown[])
        : schema === undefined
          ? value
          : valueOf(schema, value);
    if (accepted === REFUSED) return undefined;
    request[name] = accepted;
  }
  return request as unknown as ChatRequest;
}

function acceptMessages(messages: readonly unknown[]): readonly Message[] | typeof REFUSED {
  if (messages.length === 0) return REFUSED;
  const accepted: Message[] = [];
  for (const message of messages) {
    const one = isPlainMessage(message) ? (message as Message) : valueOf(messageSchema, message);
    if (one === REFUSED) return REFUSED;
    accepted.push(one as Message);
  }
  return accepted;
}
