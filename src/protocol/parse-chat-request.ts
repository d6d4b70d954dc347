import { type ChatRequest, chatRequestSchema, chatRequestFields } from './chat-request.ts';
import { type Checked, echo, failed, faultAt, passed, type RequestFault } from './fault.ts';
import { readRefused, valueOf, REFUSED } from './accept/schema.ts';
import { inspectJson, isJsonObject, type JsonObject } from './json.ts';
import { nameOf } from './issues.ts';
import { DEFAULT_REQUEST_LIMITS, type RequestLimits } from './limits.ts';
import { isFunctionTool, type Tool } from './tools.ts';
import { type Message, messageSchema } from './message.ts';
import type { AnySchema } from './accept/form.ts';
import { isPlainMessage } from './chat-result.ts';

/**
 * Checks the body of `POST /chat/completions` (contract: chat request, limits).
 * What is wrong comes back as data: 400 for syntax, shape and range, 422 for a body that contradicts itself.
 */
export function parseChatRequest(body: unknown, limits: RequestLimits = DEFAULT_REQUEST_LIMITS): Checked<ChatRequest> {
  if (!isJsonObject(body)) {
    return failed(faultAt('', `must be a JSON object with a "messages" array, not ${nameOf(body)}`));
  }
  const inspection = inspectJson(body, limits);
  if (!inspection.ok) return failed(faultAt(inspection.path, inspection.problem));
  const request = acceptFields(body) ?? explainFields(body);
  if ('message' in request) return failed(request);
  const fault = checkSizes(request, limits, inspection.characters) ?? checkConsistency(request);
  return fault === undefined ? passed(request) : failed(fault);
}

/**
 * Finds a user who says nothing (gaps 1.1). Only for bodies that came in this API format: in others an empty text is
 * allowed, and is translated into one.
 */
export function checkSaid(messages: readonly Message[]): RequestFault | undefined {
  for (let index = 0; index < messages.length; index += 1) {
    const { role, content } = messages[index] as Message;
    if (role === 'user' && content === '') return faultAt(`messages[${index}].content`, 'must not be empty');
  }
  return undefined;
}

/** The request if the whole schema accepts it after all, or the problem that helps most. */
function explainFields(body: JsonObject): ChatRequest | RequestFault {
  const parsed = readRefused(chatRequestSchema, body);
  return parsed.ok ? (parsed.value as ChatRequest) : faultAt(parsed.path, parsed.problem);
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
  return (
    checkToolResults(request.messages) ??
    checkConfigurationUpdates(request.messages) ??
    checkReasoning(request) ??
    checkToolChoice(request) ??
    checkLogprobs(request)
  );
}

function checkToolResults(messages: readonly Message[]): RequestFault | undefined {
  let calls: Set<string> | undefined;
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index] as Message;
    if (message.role === 'assistant' && message.tool_calls != null) {
      calls ??= new Set();
      for (const call of message.tool_calls) calls.add(call.id);
    } else if (message.role === 'tool' && calls?.has(message.tool_call_id) !== true) {
      const problem = 'answers a tool call that no earlier assistant message made';
      return faultAt(`messages[${index}].tool_call_id`, problem, 422);
    }
  }
  return undefined;
}

function checkConfigurationUpdates(messages: readonly Message[]): RequestFault | undefined {
  const index = messages.findIndex((message, at) => hasUpdate(message) && hasUpdate(messages[at + 1]));
  if (index < 0) return undefined;
  return faultAt(`messages[${index + 1}].configuration_update`, 'must not follow another one directly', 422);
}

function hasUpdate(message: Message | undefined): boolean {
  if (message?.role !== 'system' && message?.role !== 'developer') return false;
  return message.configuration_update != null;
}

function checkReasoning({ reasoning, reasoning_effort: short }: ChatRequest): RequestFault | undefined {
  if (short != null && reasoning?.effort != null && short !== reasoning.effort) {
    const problem = `must not differ from reasoning.effort ("${short}" and "${reasoning.effort}")`;
    return faultAt('reasoning_effort', problem, 422);
  }
  if (reasoning?.max_tokens != null && (reasoning.effort ?? short) != null) {
    return faultAt('reasoning', 'must have either an effort or max_tokens, not both');
  }
  return undefined;
}

function checkToolChoice({ tools, tool_choice: choice }: ChatRequest): RequestFault | undefined {
  if (choice == null || choice === 'none' || choice === 'auto') return undefined;
  if (!tools?.length) return faultAt('tool_choice', 'asks for a tool call, but the request has no tools', 422);
  if (typeof choice === 'string' || choice.type !== 'function' || !('function' in choice)) return undefined;
  const wanted = choice.function.name;
  const known = tools.some((tool) => isFunctionTool(tool) && tool.function.name === wanted);
  if (known) return undefined;
  return faultAt('tool_choice.function.name', `must be the name of a function in tools, not ${echo(wanted)}`, 422);
}

function checkLogprobs({ logprobs, top_logprobs: top }: ChatRequest): RequestFault | undefined {
  return top != null && top > 0 && logprobs !== true ? faultAt('top_logprobs', 'needs logprobs: true', 422) : undefined;
}

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
