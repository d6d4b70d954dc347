/** Visits every text of a prompt. */
import * as read from '../../platform/json.ts';
import type { AssistantMessage, Message, ToolCall } from '../../protocol/message.ts';

/** Where a text of a prompt stands. */
export interface PromptTextPlace {
  /** For example `messages[2].content[0].text`. */
  readonly path: string;
  readonly role: Message['role'];
}

/** Looks at a text and gives it back, changed or as it was. */
export type TextVisitor = (text: string, place: PromptTextPlace) => string;

/**
 * Shows every text of messages to a visitor: contents, refusals, arguments of tool calls, and what files said that the
 * caller sends back as annotations. What the visitor does not change stays the same object.
 */
export function visitTexts(messages: readonly Message[], visit: TextVisitor): readonly Message[] {
  return visitEach(messages, (message, index) => visitMessage(message, `messages[${index}]`, visit));
}

/** {@link visitTexts} for one message. */
export function visitMessage(message: Message, path: string, visit: TextVisitor): Message {
  const { role } = message;
  const changes: { -readonly [Name in keyof AssistantMessage]?: unknown } = {};
  const content = visitContent(message.content, path, role, visit);
  if (content !== message.content) changes.content = content;
  if (message.role === 'assistant') {
    const { refusal, tool_calls: calls, annotations } = message;
    if (typeof refusal === 'string') {
      const visited = visit(refusal, { path: `${path}.refusal`, role });
      if (visited !== refusal) changes.refusal = visited;
    }
    if (calls != null) {
      const visited = visitEach(calls, (call, index) => visitCall(call, `${path}.tool_calls[${index}]`, role, visit));
      if (visited !== calls) changes.tool_calls = visited;
    }
    if (annotations != null) {
      const visited = visitEach(annotations, (one, index) =>
        visitAnnotation(one, `${path}.annotations[${index}]`, role, visit),
      );
      if (visited !== annotations) changes.annotations = visited;
    }
  }
  return Object.keys(changes).length === 0 ? message : ({ ...message, ...changes } as Message);
}

/** A tool call whose arguments were shown to a visitor, value by value, so that they stay JSON. */
export function visitCall<Call extends Pick<ToolCall, 'function'>>(
  call: Call,
  path: string,
  role: Message['role'],
  visit: TextVisitor,
): Call {
  const { arguments: text } = call.function;
  const visited = visitJson(text, (value) => visit(value, { path: `${path}.function.arguments`, role }));
  return visited === text ? call : { ...call, function: { ...call.function, arguments: visited } };
}

/** Applies a function to each member of a list; the list stays the same object when no member changes. */
export function visitEach<Value>(
  list: readonly Value[],
  change: (value: Value, index: number) => Value,
): readonly Value[] {
  let changed: Value[] | undefined;
  for (const [index, value] of list.entries()) {
    const after = change(value, index);
    if (after !== value) (changed ??= [...list])[index] = after;
  }
  return changed ?? list;
}

function visitContent(content: Message['content'], path: string, role: Message['role'], visit: TextVisitor): unknown {
  if (typeof content === 'string') return visit(content, { path: `${path}.content`, role });
  if (content == null) return content;
  return visitEach<(typeof content)[number]>(content, (part, index) => {
    const where = `${path}.content[${index}]`;
    if (part.type === 'text') {
      const text = visit(part.text, { path: `${where}.text`, role });
      return text === part.text ? part : { ...part, text };
    }
    if (part.type !== 'refusal') return part;
    const refusal = visit(part.refusal, { path: `${where}.refusal`, role });
    return refusal === part.refusal ? part : { ...part, refusal };
  });
}

/** What a file said, as the caller sends it back: it becomes a part of the prompt. */
function visitAnnotation(
  annotation: { readonly type: string },
  path: string,
  role: Message['role'],
  visit: TextVisitor,
): { readonly type: string } {
  const { file } = annotation as { readonly file?: { readonly content?: unknown } | null };
  if (annotation.type !== 'file' || !Array.isArray(file?.content)) return annotation;
  const content = visitEach<unknown>(file.content, (part, index) => {
    const { text } = (part ?? {}) as { readonly text?: unknown };
    if (typeof text !== 'string') return part;
    const visited = visit(text, { path: `${path}.file.content[${index}].text`, role });
    return visited === text ? part : { ...(part as object), text: visited };
  });
  return content === file.content ? annotation : Object.assign({}, annotation, { file: { ...file, content } });
}

/** Visits the texts and numbers in JSON; what does not parse is visited as it is. */
function visitJson(text: string, visit: (value: string) => string): string {
  const parsed = read.parse(text);
  if (parsed === undefined) return visit(text);
  const visited = visitValue(parsed, visit, 0);
  return visited === parsed ? text : JSON.stringify(visited);
}

/** Deeper values are visited as the text that they are: they parse, but walking them would overflow the stack. */
const MAX_DEPTH = 64;

function visitValue(value: unknown, visit: (value: string) => string, depth: number): unknown {
  if (typeof value === 'string') return visit(value);
  if (typeof value === 'number') {
    const text = String(value);
    const visited = visit(text);
    return visited === text ? value : visited;
  }
  if (typeof value !== 'object' || value === null || depth === MAX_DEPTH) return value;
  if (Array.isArray(value)) return visitEach<unknown>(value, (member) => visitValue(member, visit, depth + 1));
  let changed: [string, unknown][] | undefined;
  const entries = Object.entries(value);
  for (const [index, [key, member]] of entries.entries()) {
    const [newKey, newMember] = [visit(key), visitValue(member, visit, depth + 1)];
    if (newKey !== key || newMember !== member) (changed ??= [...entries])[index] = [newKey, newMember];
  }
  return changed === undefined ? value : Object.fromEntries(changed);
}
