import { type ChatRequest, chatRequestSchema, chatRequestFields } from './chat-request.ts';
import { type Checked, echo, failed, faultAt, passed, type RequestFault } from './fault.ts';
import { type AnySchema, NOT_ACCEPTED } from '../schema/form.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import { readRefused, valueOf, shownValue } from './issues.ts';
import { DEFAULT_REQUEST_LIMITS, type RequestLimits } from './limits.ts';
import { isFunctionTool, type Tool, type ToolChoice } from './tools.ts';
import type { ReasoningOptions } from './reasoning.ts';
import { type Message, messageSchema, type ToolCall } from './message.ts';
import { isPlainMessage, plainCallsOf } from './chat-result.ts';
import { inspectJson, JsonWalk } from './inspect-json.ts';

/**
 * Checks the body of `POST /chat/completions` (contract: chat request, limits).
 * What is wrong comes back as data: 400 for syntax, shape and range, 422 for a body that contradicts itself.
 */
export function parseChatRequest(body: unknown, limits: RequestLimits = DEFAULT_REQUEST_LIMITS): Checked<ChatRequest> {
  if (!isJsonObject(body)) {
    return failed(faultAt('', `must be a JSON object with a "messages" array, not ${shownValue(body)}`));
  }
  const walk = new JsonWalk(limits);
  const accepted = acceptFields(body, walk);
  const checked = accepted === undefined ? explainFields(body, limits) : passed(accepted);
  if (!checked.ok) return checked;
  const { value: request } = checked;
  const fault =
    checkSizes(request, limits, accepted === undefined ? Infinity : walk.characters) ?? checkConsistency(request);
  return fault === undefined ? checked : failed(fault);
}

/**
 * Finds a user who says nothing (gaps 1.1). Only for bodies that came in this API format: in others an empty string is
 * allowed, and is translated into one.
 */
export function checkSaid(messages: readonly Message[]): RequestFault | undefined {
  for (let index = 0; index < messages.length; index += 1) {
    const { role, content } = messages[index] as Message;
    if (role === 'user' && content === '') return faultAt(`messages[${index}].content`, 'must not be empty');
  }
  return undefined;
}

/** The request if it is one after all, or the problem that helps most. */
function explainFields(body: JsonObject, limits: RequestLimits): Checked<ChatRequest> {
  const inspection = inspectJson(body, limits);
  if (!inspection.ok) return failed(faultAt(inspection.path, inspection.problem));
  const parsed = readRefused(chatRequestSchema, body);
  return parsed.ok ? passed(parsed.value as ChatRequest) : failed(faultAt(parsed.path, parsed.problem));
}

function checkSizes(request: ChatRequest, limits: RequestLimits, characters: number): RequestFault | undefined {
  if (request.messages.length > limits.messages) {
    return faultAt('messages', `must have at most ${limits.messages} items, not ${request.messages.length}`);
  }
  if (!request.tools) return undefined;
  if (request.tools.length > limits.tools) {
    return faultAt('tools', `must have at most ${limits.tools} items, not ${request.tools.length}`);
  }
  // A body that is smaller than the limit as a whole need not be measured in parts.
  if (characters <= limits.toolSchemaLength) return undefined;
  const schemaLength = request.tools.reduce((total, tool) => total + lengthOf(schemaOf(tool)), 0);
  return schemaLength > limits.toolSchemaLength
    ? faultAt('tools', `must not hold schemas of more than ${limits.toolSchemaLength} characters in total`)
    : undefined;
}

function schemaOf(tool: Tool): unknown {
  return isFunctionTool(tool) ? tool.function.parameters : undefined;
}

/** Characters in all keys and strings of a value: what makes a schema large, without serialising it. */
function lengthOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  let length = 0;
  for (const key in value) length += key.length + lengthOf((value as Readonly<Record<string, unknown>>)[key]);
  return length;
}

/** Finds statements of a body that cannot all be true: each is fine by itself, together they are a 422. */
function checkConsistency(request: ChatRequest): RequestFault | undefined {
  const { messages, reasoning, tool_choice: choice, top_logprobs: top } = request;
  return (
    checkMessages(messages) ??
    (reasoning == null ? undefined : checkReasoning(reasoning, request.reasoning_effort)) ??
    (choice == null ? undefined : checkToolChoice(choice, request.tools)) ??
    (top == null ? undefined : checkLogprobs(top, request.logprobs))
  );
}

/** Results of tools that nobody called come before updates that follow each other. */
function checkMessages(messages: readonly Message[]): RequestFault | undefined {
  /** The latest calls, and how many of them have their result: nearly always, results follow in the order of the calls. */
  let calls: readonly ToolCall[] = [];
  let answered = 0;
  let known: Set<string> | undefined;
  let repeated: number | undefined;
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index] as Message;
    if (message.role === 'assistant') {
      if (message.tool_calls == null) continue;
      calls = message.tool_calls;
      answered = 0;
      if (known !== undefined) for (const { id } of calls) known.add(id);
    } else if (message.role === 'tool') {
      const { tool_call_id: id } = message;
      if (calls[answered]?.id === id) answered += 1;
      else if (!(known ??= callsBefore(messages, index)).has(id)) {
        const problem = 'answers a tool call that no earlier assistant message made';
        return faultAt(`messages[${index}].tool_call_id`, problem, 422);
      }
    } else if (message.role !== 'user' && repeated === undefined) {
      if (hasUpdate(message) && hasUpdate(messages[index - 1])) repeated = index;
    }
  }
  if (repeated === undefined) return undefined;
  return faultAt(`messages[${repeated}].configuration_update`, 'must not follow another one directly', 422);
}

function callsBefore(messages: readonly Message[], end: number): Set<string> {
  const ids = new Set<string>();
  for (let index = 0; index < end; index += 1) {
    const message = messages[index] as Message;
    if (message.role === 'assistant') for (const { id } of message.tool_calls ?? []) ids.add(id);
  }
  return ids;
}

function hasUpdate(message: Message | undefined): boolean {
  if (message?.role !== 'system' && message?.role !== 'developer') return false;
  return message.configuration_update != null;
}

function checkReasoning(reasoning: ReasoningOptions, short: ChatRequest['reasoning_effort']): RequestFault | undefined {
  if (short != null && reasoning.effort != null && short !== reasoning.effort) {
    const problem = `must not differ from reasoning.effort ("${short}" and "${reasoning.effort}")`;
    return faultAt('reasoning_effort', problem);
  }
  if (reasoning.max_tokens != null && (reasoning.effort ?? short) != null) {
    return faultAt('reasoning', 'must have either an effort or max_tokens, not both');
  }
  return undefined;
}

function checkToolChoice(choice: ToolChoice, tools: ChatRequest['tools']): RequestFault | undefined {
  if (choice === 'none' || choice === 'auto') return undefined;
  if (!tools?.length) return faultAt('tool_choice', 'asks for a tool call, but the request has no tools', 422);
  if (typeof choice === 'string' || choice.type !== 'function' || !('function' in choice)) return undefined;
  const wanted = choice.function.name;
  const known = tools.some((tool) => isFunctionTool(tool) && tool.function.name === wanted);
  if (known) return undefined;
  return faultAt('tool_choice.function.name', `must be the name of a function in tools, not ${echo(wanted)}`, 422);
}

function checkLogprobs(top: number, logprobs: ChatRequest['logprobs']): RequestFault | undefined {
  return top > 0 && logprobs !== true ? faultAt('top_logprobs', 'needs logprobs: true', 422) : undefined;
}

const FIELDS: ReadonlyMap<string, AnySchema> = new Map(Object.entries(chatRequestFields));

/**
 * The request with the fields that are set, which are few of the many that exist; null and absent mean the same. Each
 * value is looked at once, for what would hurt later and for what is wrong. Undefined when anything is; what exactly is
 * then found out by the whole schema.
 */
export function acceptFields(body: JsonObject, walk: JsonWalk): ChatRequest | undefined {
  if (!Array.isArray(body['messages']) || !walk.passes(1, 0, 0)) return undefined;
  // Copied as a whole, because few bodies have a member that is left out or read as something else.
  const request: Record<string, unknown> = { ...body };
  for (const name in body) {
    const value = body[name];
    const schema = FIELDS.get(name);
    walk.members += 1;
    if (name === 'messages') {
      const messages = acceptMessages(value as readonly unknown[], walk);
      if (messages === undefined) return undefined;
      request[name] = messages;
      continue;
    }
    if (walk.problemOf(value, 1) !== undefined || (schema === undefined && name.includes('\0'))) return undefined;
    if (schema === undefined) {
      if (value === undefined || name === '__proto__') delete request[name];
      continue;
    }
    const accepted = value === null ? undefined : valueOf(schema, value);
    if (accepted === NOT_ACCEPTED) return undefined;
    if (accepted !== value) request[name] = accepted;
  }
  return walk.isWithin(body) ? (request as unknown as ChatRequest) : undefined;
}

function acceptMessages(messages: readonly unknown[], walk: JsonWalk): readonly Message[] | undefined {
  if (messages.length === 0 || !walk.passes(1, 0, 1)) return undefined;
  const accepted: Message[] = [];
  for (const message of messages) {
    if (passesPlain(message, walk)) {
      accepted.push(message as Message);
      continue;
    }
    const one = walk.problemOf(message, 2) === undefined ? valueOf(messageSchema, message) : NOT_ACCEPTED;
    if (one === NOT_ACCEPTED) return undefined;
    accepted.push(one as Message);
  }
  return accepted;
}

/** Counts a message of one of the usual forms, of which nothing needs to be asked; false for any other. */
function passesPlain(message: unknown, walk: JsonWalk): boolean {
  if (isPlainMessage(message)) {
    const texts = (message as Message).role === 'tool' ? 3 : 2;
    return walk.passes(1 + texts, texts, 2);
  }
  const calls = plainCallsOf(message);
  return calls > 0 && walk.passes(4 + 6 * calls, 3 + 5 * calls, 5);
}
