import { chatRequestSchema } from './chat-request.ts';
import { FIRST_PROBLEM } from './fields.ts';
import { describeIssues } from './issues.ts';
import type { JsonObject } from './json.ts';

/** Every field of a chat request that has a meaning here. */
export const CHAT_FIELDS: readonly string[] = Object.keys(chatRequestSchema.shape);

/** What is wrong with some fields of a chat request, the first of them that is; undefined when nothing is. */
export function chatFieldsProblem(fields: JsonObject): { readonly path: string; readonly problem: string } | undefined {
  const parsed = chatRequestSchema.partial().safeParse(fields, FIRST_PROBLEM);
  return parsed.success ? undefined : describeIssues(parsed.error.issues, fields);
}
