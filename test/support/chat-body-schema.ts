import * as z from 'zod';

/** Which of the members that not all servers know may be in a body. */
export interface ChatBodyRules {
  /** What ids of tool calls must look like. Default: something. */
  readonly toolId?: RegExp;
  /** Member in which earlier reasoning goes back. Default: none. */
  readonly reasoning?: 'reasoning' | 'reasoning_content' | 'reasoning_details';
}

/**
 * A request for a chat completion as strict servers check it: a member that is not listed is an error, every call has
 * one result right behind it, and results belong to calls.
 */
export function chatBodySchema({ toolId = /[^]/, reasoning }: ChatBodyRules = {}): z.ZodType {
  const id = z.string().regex(toolId);
  const text = z.strictObject({ type: z.literal('text'), text: z.string() });
  const said = z.union([z.string(), z.array(text).min(1)]);
  const call = z.strictObject({
    id,
    type: z.literal('function'),
    function: z.strictObject({
      name: z.string().min(1),
      arguments: z.string().refine(isJsonObject, 'is no JSON object'),
    }),
  });
  const thought =
    reasoning === undefined
      ? {}
      : reasoning === 'reasoning_details'
        ? {
            reasoning: z.string().optional(),
            reasoning_details: z.array(z.looseObject({ type: z.string() })).optional(),
          }
        : { [reasoning]: z.string().optional() };
  const message = z.discriminatedUnion('role', [
    z.strictObject({ role: z.enum(['system', 'developer']), content: said }),
    z.strictObject({ role: z.literal('user'), content: said }),
    z
      .strictObject({
        role: z.literal('assistant'),
        content: said.nullable(),
        tool_calls: z.array(call).min(1).optional(),
        ...thought,
      })
      .refine(({ content, tool_calls: calls }) => content !== null || calls !== undefined, 'says nothing'),
    z.strictObject({ role: z.literal('tool'), tool_call_id: id, content: said }),
  ]);
  const tool = z.strictObject({
    type: z.literal('function'),
    function: z.strictObject({
      name: z.string().min(1),
      description: z.string().optional(),
      parameters: z.looseObject({}).optional(),
    }),
  });
  return z
    .looseObject({ model: z.string(), messages: z.array(message).min(1), tools: z.array(tool).min(1) })
    .refine(({ messages }) => callsAreAnswered(messages), 'not every call has one result right behind it');
}

interface Said {
  readonly role: string;
  readonly tool_calls?: readonly { readonly id: string }[] | undefined;
  readonly tool_call_id?: string;
}

function callsAreAnswered(messages: readonly object[]): boolean {
  let open = new Set<string>();
  for (const { role, tool_calls: calls = [], tool_call_id: answered } of messages as readonly Said[]) {
    if (role === 'tool') {
      if (!open.delete(answered ?? '')) return false;
      continue;
    }
    if (open.size > 0) return false;
    open = new Set(calls.map(({ id }) => id));
    if (open.size !== calls.length) return false;
  }
  return open.size === 0;
}

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
