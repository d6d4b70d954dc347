import { optional, read } from './accept/schema.ts';
import { loose } from './accept/object.ts';
import { chatRequestFields } from './chat-request.ts';
import type { JsonObject } from './json.ts';

/** Every field of a chat request that has a meaning here. */
export const CHAT_FIELDS: readonly string[] = Object.keys(chatRequestFields);

const someFields = loose({ ...chatRequestFields, messages: optional(chatRequestFields.messages) });

/** What is wrong with some fields of a chat request, the first of them that is; undefined when nothing is. */
export function chatFieldsProblem(fields: JsonObject): { readonly path: string; readonly problem: string } | undefined {
  const parsed = read(someFields, fields);
  return parsed.ok ? undefined : { path: parsed.path, problem: parsed.problem };
}
