/** Checks the bodies of chat requests: `parseChatRequest` turns unknown JSON into a request, or says what is wrong with it. */
import { type ChatRequest, chatRequestSchema, chatRequestFields } from './chat-request.ts';
import { type Checked, echo, failed, faultAt, type RequestFault } from './fault.ts';
import { type AnySchema, type Form, NOT_ACCEPTED } from '../schema/form.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import { readRefused, valueOf, shownValue } from './issues.ts';
import { DEFAULT_REQUEST_LIMITS, type RequestLimits } from './limits.ts';
import { isFunctionTool, type Tool, type ToolChoice } from './tools.ts';
import type { ReasoningOptions } from './reasoning.ts';
import { type Message, messageSchema, type ToolCall } from './message.ts';
import { isPlainMessage, plainCallsOf } from './chat-result.ts';
import { hasMoreNames, inspectJson, JsonWalk } from './inspect-json.ts';

/** A request that was checked, or what is wrong with it. */
export type ParsedChat =
  | {
      readonly ok: true;
      readonly value: ChatRequest;
      /**
       * True where some message is more than a role and its text: it has calls, results, parts or marks, or is empty.
       * Absent in most requests, so that nothing has to look through their messages for any of these.
       */
      readonly saysMore?: true | undefined;
    }
  | Extract<Checked<ChatRequest>, { ok: false }>;

/**
 * Checks the body of `POST /chat/completions` (contract: chat request, limits).
 * What is wrong comes back as data: 400 for syntax, shape and range, 422 for a body that contradicts itself.
 */
export function parseChatRequest(body: unknown, limits: RequestLimits = DEFAULT_REQUEST_LIMITS): ParsedChat {
  if (!isJsonObject(body)) {
    return failed(faultAt('', `must be a JSON object with a "messages" array, not ${shownValue(body)}`));
  }
  const read = acceptFields(body, limits) ?? explainFields(body, limits);
  if ('ok' in read) return read;
  const { request, characters, saysMore } = read;
  const fault = checkSizes(request, limits, characters) ?? checkConsistency(request, saysMore);
  if (fault !== undefined) return failed(fault);
  return saysMore ? { ok: true, value: request, saysMore } : { ok: true, value: request };
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

/** Whether messages hold pictures, files, sound or videos, any of which may be an address. */
export function namesMedia(messages: readonly Message[]): boolean {
  return messages.some((message) => {
    const { content } = message;
    if (Array.isArray(content) && content.some((part: { readonly type: string }) => part.type !== 'text')) return true;
    return message.role === 'assistant' && message.images != null && message.images.length > 0;
  });
}

/** The request if it is one after all, or the problem that helps most. */
function explainFields(body: JsonObject, limits: RequestLimits): AcceptedFields | Checked<never> {
  const inspection = inspectJson(body, limits);
  if (!inspection.ok) return failed(faultAt(inspection.path, inspection.problem));
  const parsed = readRefused(chatRequestSchema, body);
  if (!parsed.ok) return failed(faultAt(parsed.path, parsed.problem));
  return { request: parsed.value as ChatRequest, characters: Infinity, saysMore: true };
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
function checkConsistency(request: ChatRequest, saysMore: boolean): RequestFault | undefined {
  const { messages, reasoning, tool_choice: choice, top_logprobs: top } = request;
  return (
    (saysMore ? checkMessages(messages) : undefined) ??
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

/** How a field of the request is read. */
interface Field {
  readonly schema: AnySchema;
  /** What it may hold, without what says that it may be left out. */
  readonly form: Form;
}

const FIELDS: ReadonlyMap<string, Field> = new Map(
  Object.entries(chatRequestFields).map(([name, schema]) => [name, { schema, form: formWithin(schema) }]),
);

function formWithin({ form }: AnySchema): Form {
  return form.kind === 'optional' || form.kind === 'nullable' ? formWithin(form.inner()) : form;
}

/**
 * Whether a value is a text, number, or true or false of which the form alone shows that its schema accepts it, and as it
 * is. Most fields of most requests are, and are then not read by their schemas.
 */
export function isPlainScalar(form: Form, value: unknown): boolean {
  switch (form.kind) {
    case 'boolean':
      return typeof value === 'boolean';
    case 'number': {
      const { isInteger, least = -Infinity, most = Infinity, above = -Infinity } = form;
      if (typeof value !== 'number' || !(isInteger ? Number.isSafeInteger(value) : Number.isFinite(value)))
        return false;
      return value >= least && value <= most && value > above;
    }
    case 'string': {
      const { least = 0, most = Infinity, isTrimmed, pattern, withoutNul } = form;
      if (typeof value !== 'string' || isTrimmed === true || pattern !== undefined) return false;
      // A character has one or two code units.
      if (value.length < 2 * least || value.length > most) return false;
      return withoutNul !== true || !value.includes('\0');
    }
    default:
      return false;
  }
}

/** What reading the fields of a body comes to. */
interface AcceptedFields {
  readonly request: ChatRequest;
  /** Characters in all keys and strings of fields that are objects or lists, without messages of the usual forms. */
  readonly characters: number;
  readonly saysMore: boolean;
}

/**
 * The request with the fields that are set, which are few of the many that exist; null and absent mean the same. Each
 * value is looked at once, for what would hurt later and for what is wrong. Undefined when anything is; what exactly is
 * then found out by the whole schema.
 */
export function acceptFields(body: JsonObject, limits: RequestLimits): AcceptedFields | undefined {
  const reading = new FieldReading(limits);
  const messages = body['messages'];
  if (!Array.isArray(messages) || limits.depth < 1) return undefined;
  // Copied as a whole, because few bodies have a member that is left out or read as something else.
  const request: Record<string, unknown> = { ...body };
  for (const name in body) {
    const value = body[name];
    reading.members += 1;
    if (name === 'messages') {
      const accepted = reading.messages(messages);
      if (accepted === undefined) return undefined;
      request[name] = accepted;
      continue;
    }
    const field = FIELDS.get(name);
    if (field !== undefined && isPlainScalar(field.form, value)) {
      reading.nodes += 1;
      continue;
    }
    if (!reading.passes(value, 1) || (field === undefined && name.includes('\0'))) return undefined;
    if (field === undefined) {
      if (value === undefined || name === '__proto__') delete request[name];
      continue;
    }
    const accepted = value === null ? undefined : valueOf(field.schema, value);
    if (accepted === NOT_ACCEPTED) return undefined;
    if (accepted !== value) request[name] = accepted;
  }
  if (!reading.isWithin(body)) return undefined;
  return { request: request as unknown as ChatRequest, characters: reading.characters, saysMore: reading.saysMore };
}

/** Counts what is in a body while its fields are read. Only what is not of the usual forms is walked. */
class FieldReading {
  readonly #limits: RequestLimits;
  #walk: JsonWalk | undefined;
  /** Values of the usual forms, the body itself counted, and the members among them. */
  nodes = 1;
  members = 0;
  saysMore = false;

  constructor(limits: RequestLimits) {
    this.#limits = limits;
  }

  get characters(): number {
    return this.#walk?.characters ?? 0;
  }

  /** Whether a value holds nothing that would hurt later. */
  passes(value: unknown, depth: number): boolean {
    this.#walk ??= new JsonWalk(this.#limits);
    return this.#walk.problemOf(value, depth) === undefined;
  }

  messages(messages: readonly unknown[]): readonly Message[] | undefined {
    if (messages.length === 0 || this.#limits.depth < 2) return undefined;
    this.nodes += 1;
    const accepted: Message[] = [];
    for (const message of messages) {
      if (this.#isUsual(message)) {
        accepted.push(message as Message);
        continue;
      }
      this.saysMore = true;
      const one = this.passes(message, 2) ? valueOf(messageSchema, message) : NOT_ACCEPTED;
      if (one === NOT_ACCEPTED) return undefined;
      accepted.push(one as Message);
    }
    return accepted;
  }

  /** Counts a message of one of the usual forms, of which nothing needs to be asked; false for any other. */
  #isUsual(message: unknown): boolean {
    const { depth } = this.#limits;
    if (isPlainMessage(message)) {
      const { role, content } = message as Message;
      const texts = role === 'tool' ? 3 : 2;
      this.nodes += 1 + texts;
      this.members += texts;
      if (role === 'tool' || content === '') this.saysMore = true;
      return depth > 2;
    }
    const calls = plainCallsOf(message);
    if (calls === 0) return false;
    this.saysMore = true;
    this.nodes += 4 + 6 * calls;
    this.members += 3 + 5 * calls;
    return depth > 5;
  }

  /** Whether all values together are no more than may be, given the body that holds them all. */
  isWithin(body: JsonObject): boolean {
    const { nodes, names } = this.#limits;
    const walked = this.#walk;
    if (this.nodes + (walked?.nodes ?? 0) > nodes) return false;
    return this.members + (walked?.members ?? 0) <= names || !hasMoreNames(body, names);
  }
}
