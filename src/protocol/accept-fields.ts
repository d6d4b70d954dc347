import * as z from 'zod';
import { type ChatRequest, chatRequestSchema } from './chat-request.ts';
import { FIRST_PROBLEM } from './fields.ts';
import type { JsonObject } from './json.ts';
import { messageSchema } from './message.ts';
import { isPlainMessage } from './chat-result.ts';

/** Schemas by field, without the layers that only accept null and absence. */
const FIELDS: ReadonlyMap<string, z.ZodType> = new Map(
  Object.entries(chatRequestSchema.shape).map(([name, schema]) => [name, coreOf(schema)]),
);

function coreOf(schema: z.ZodType): z.ZodType {
  const wrapped = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable;
  return wrapped ? coreOf(schema.unwrap() as z.ZodType) : schema;
}

/**
 * Checks only the fields that are there, which are few of the many that exist. Undefined when one of them is wrong;
 * what exactly is wrong is then found out by the whole schema.
 */
export function acceptFields(body: JsonObject): ChatRequest | undefined {
  if (!Array.isArray(body.messages)) return undefined;
  const request: Record<string, unknown> = {};
  for (const name in body) {
    const value = body[name];
    const schema = FIELDS.get(name);
    if (value === undefined || name === '__proto__' || (value === null && schema !== undefined)) continue;
    const accepted = name === 'messages' ? acceptMessages(value as readonly unknown[]) : accept(schema, value);
    if (accepted === undefined) return undefined;
    request[name] = accepted;
  }
  return request as unknown as ChatRequest;
}

function acceptMessages(messages: readonly unknown[]): readonly unknown[] | undefined {
  if (messages.length === 0) return undefined;
  const accepted: unknown[] = [];
  for (const message of messages) {
    const one = isPlainMessage(message) ? message : accept(messageSchema, message);
    if (one === undefined) return undefined;
    accepted.push(one);
  }
  return accepted;
}

/** The value as its schema gives it back; fields without a schema are not ours to check. */
function accept(schema: z.ZodType | undefined, value: unknown): unknown {
  if (schema === undefined) return value;
  const parsed = schema.safeParse(value, FIRST_PROBLEM);
  return parsed.success ? parsed.data : undefined;
}
