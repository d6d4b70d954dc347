/** Reads bodies of the chat completions API as the rules of strict upstreams need them. */
import type { JsonObject } from '../../protocol/json.ts';
import * as read from '../../platform/json.ts';
import { type Finding, type StrictRequest, shown } from './rule.ts';

/** A call in an assistant's message. */
export interface ChatCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: unknown;
}

/** A message of a conversation. */
export interface ChatMessage {
  /** Place in `messages`, from 0. */
  readonly at: number;
  readonly role: string;
  /** All members. */
  readonly fields: JsonObject;
  readonly content: unknown;
  /** Its parts where content is a list; none where it is a text. */
  readonly parts: readonly JsonObject[];
  readonly calls: readonly ChatCall[];
  /** For results: the call that they answer. */
  readonly answers: string | undefined;
}

/** A function that a request offers. */
export interface ChatTool {
  /** Place in `tools`, from 0. */
  readonly at: number;
  readonly name: string;
  readonly fields: JsonObject;
  /** Its schema; undefined where it has none. */
  readonly parameters: JsonObject | undefined;
  readonly strict: boolean;
}

/** Messages of a body. */
export function messagesOf({ body }: Pick<StrictRequest, 'body'>): readonly ChatMessage[] {
  return read.list(body['messages']).map((one, at) => {
    const fields = read.object(one);
    return {
      at,
      role: read.string(fields['role']) ?? '',
      fields,
      content: fields['content'],
      parts: read.objects(fields['content']),
      calls: read.objects(fields['tool_calls']).map((call) => {
        const { name, arguments: input } = read.object(call['function']);
        return { id: read.string(call['id']) ?? '', name: read.string(name) ?? '', arguments: input };
      }),
      answers: read.string(fields['tool_call_id']),
    };
  });
}

/** Functions of a body. */
export function toolsOf({ body }: Pick<StrictRequest, 'body'>): readonly ChatTool[] {
  return read.objects(body['tools']).flatMap((tool, at) => {
    if (tool['type'] !== 'function') return [];
    const fields = read.object(tool['function']);
    const { parameters } = fields;
    return [
      {
        at,
        name: read.string(fields['name']) ?? '',
        fields,
        parameters: parameters === undefined || parameters === null ? undefined : read.object(parameters),
        strict: fields['strict'] === true,
      },
    ];
  });
}

/** Schema of the response format, its name, and whether it is strict; undefined without one. */
export function formatOf({
  body,
}: Pick<StrictRequest, 'body'>):
  | { readonly name: string; readonly schema: JsonObject; readonly strict: boolean }
  | undefined {
  const format = read.object(body['response_format']);
  if (format['type'] !== 'json_schema') return undefined;
  const { name, schema, strict } = read.object(format['json_schema']);
  return { name: read.string(name) ?? '', schema: read.object(schema), strict: strict === true };
}

/** Type of the response format; `text` without one. */
export function formatTypeOf({ body }: Pick<StrictRequest, 'body'>): string {
  return read.string(read.object(body['response_format'])['type']) ?? 'text';
}

/** The first result that answers no call of the assistant's turn right before it. */
export function strayResult(messages: readonly ChatMessage[]): Finding | undefined {
  let open = new Set<string>();
  for (const { at, role, calls, answers } of messages) {
    if (role === 'tool') {
      if (!open.has(answers ?? '')) return { at, id: answers ?? '' };
    } else open = new Set(calls.map(({ id }) => id));
  }
  return undefined;
}

/** The first result for a call that another result answers already. */
export function repeatedResult(messages: readonly ChatMessage[]): Finding | undefined {
  let seen = new Set<string>();
  for (const { at, role, answers = '' } of messages) {
    if (role !== 'tool') seen = new Set();
    else if (seen.has(answers)) return { at, id: answers };
    else seen.add(answers);
  }
  return undefined;
}

/** The first turn whose calls are not all answered right behind it, with the ids that have no result. */
export function unansweredCalls(messages: readonly ChatMessage[]): Finding | undefined {
  for (const { at, role, calls } of messages) {
    if (role !== 'assistant' || calls.length === 0) continue;
    const behind = messages.slice(at + 1);
    const end = behind.findIndex((one) => one.role !== 'tool');
    const answered = new Set((end < 0 ? behind : behind.slice(0, end)).map(({ answers }) => answers));
    const missing = calls.filter(({ id }) => !answered.has(id)).map(({ id }) => id);
    if (missing.length > 0) return { at, next: at + 1, ids: missing.join(', ') };
  }
  return undefined;
}

/** The first part of a type in a message of a role. */
export function partOf(
  messages: readonly ChatMessage[],
  holds: (part: JsonObject, message: ChatMessage) => boolean,
): Finding | undefined {
  for (const message of messages) {
    const index = message.parts.findIndex((part) => holds(part, message));
    if (index < 0) continue;
    return { at: message.at, part: index, role: message.role, type: shown(message.parts[index]?.['type']) };
  }
  return undefined;
}

/** The first member of an object that a list does not name. */
export function memberOutside(fields: JsonObject, known: ReadonlySet<string>): string | undefined {
  return Object.keys(fields).find((name) => !known.has(name));
}

/** All text of a conversation. */
export function textOf(messages: readonly ChatMessage[]): string {
  return messages
    .flatMap(({ content, parts }) =>
      typeof content === 'string' ? [content] : parts.map((part) => read.string(part['text']) ?? ''),
    )
    .join('\n');
}

/** Tokens of a request, as coarse as a context window needs them: four characters each. */
export function tokensOf({ length }: Pick<StrictRequest, 'length'>): number {
  return Math.ceil(length / 4);
}

/** What is left of a list of texts: the first one that is not in another list. */
export function outside(values: readonly string[], known: readonly string[]): string | undefined {
  return values.find((value) => !known.includes(value));
}
