/**
 * Prompts, answers and tools in the JSON of the semantic conventions for generative AI (opentelemetry.io, `gen-ai-input-
 * messages.json`, `gen-ai-output-messages.json`, `gen-ai-system-instructions.json`, `gen-ai-tool-definitions.json`, read in
 * 2026-11). Loaded by those who record content only.
 */
import type { Attributes } from './api.ts';
import type { ContentEvent, RequestFacts } from '../../contracts/events.ts';
import { parseDataUrl } from '../../platform/data-url.ts';
import type { Choice } from '../../protocol/chat-result.ts';
import type { ContentPart, RefusalPart } from '../../protocol/content-part.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { Message } from '../../protocol/message.ts';
import type { FunctionTool, ServerTool } from '../../protocol/tools.ts';

/** A part of a message in the form of the conventions, such as `{ type: 'text', content: 'Hello' }`. */
export interface SpanContentPart {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** A message in the form of the conventions. */
export interface SpanMessage {
  readonly role: string;
  readonly parts: readonly SpanContentPart[];
  readonly name?: string | undefined;
  /** Why an answer ended; absent from messages of a prompt. */
  readonly finish_reason?: string | undefined;
}

/** What is about to be recorded on a span, in the form of the conventions: a prompt, an answer, or a call of a tool. */
export interface SpanContent {
  /** `gen_ai.system_instructions`: instructions at the beginning of the prompt. */
  readonly systemInstructions?: readonly SpanContentPart[] | undefined;
  /** `gen_ai.input.messages`: all other messages of the prompt. */
  readonly inputMessages?: readonly SpanMessage[] | undefined;
  /** `gen_ai.tool.definitions`: tools that are offered. */
  readonly toolDefinitions?: readonly JsonObject[] | undefined;
  /** `gen_ai.output.messages`: the answer. */
  readonly outputMessages?: readonly SpanMessage[] | undefined;
  /** `gen_ai.tool.call.arguments`: what a server tool was called with. */
  readonly toolCallArguments?: JsonObject | undefined;
  /** `gen_ai.tool.call.result`: what the model was told. */
  readonly toolCallResult?: string | undefined;
}

/**
 * Takes out of content what must not be recorded, before it is on any span; undefined records nothing of it. What it throws
 * records nothing either. Not a promise: the span ends at once.
 */
export type RedactSpanContent = (content: SpanContent, request: RequestFacts) => SpanContent | undefined;

/** Names of the conventions. */
const ATTRIBUTES: Readonly<Record<keyof SpanContent, string>> = {
  systemInstructions: 'gen_ai.system_instructions',
  inputMessages: 'gen_ai.input.messages',
  toolDefinitions: 'gen_ai.tool.definitions',
  outputMessages: 'gen_ai.output.messages',
  toolCallArguments: 'gen_ai.tool.call.arguments',
  toolCallResult: 'gen_ai.tool.call.result',
};

/**
 * What a span gets of content. Spans of JavaScript hold no objects, so each attribute is JSON in a text, as the conventions
 * say for such a case.
 *
 * @param most - Bytes that each attribute may have.
 */
export function contentAttributes(
  event: ContentEvent,
  redact: RedactSpanContent | undefined,
  most: number,
): Attributes | undefined {
  const content = redacted(contentOf(event), event.request, redact);
  if (content === undefined) return undefined;
  const attributes: Attributes = {};
  for (const [name, attribute] of Object.entries(ATTRIBUTES)) {
    const value = content[name as keyof SpanContent];
    if (value === undefined || (Array.isArray(value) && value.length === 0)) continue;
    attributes[attribute] = typeof value === 'string' ? cutText(value, most) : jsonWithin(value, most);
    if (name === 'toolCallArguments') attributes['gen_ai.tool.call.id'] = event.type === 'tool' ? event.id : undefined;
  }
  return attributes;
}

function redacted(
  content: SpanContent,
  request: RequestFacts,
  redact: RedactSpanContent | undefined,
): SpanContent | undefined {
  if (redact === undefined) return content;
  try {
    return redact(content, request);
  } catch {
    return undefined;
  }
}

function contentOf(event: ContentEvent): SpanContent {
  switch (event.type) {
    case 'request': {
      const { messages, tools } = event;
      const others = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer');
      const first = others < 0 ? messages.length : others;
      return {
        systemInstructions: messages.slice(0, first).flatMap(partsOf),
        inputMessages: messages.slice(first).map(messageOf),
        toolDefinitions: tools.map(definitionOf),
      };
    }
    case 'answer':
      return { outputMessages: event.choices.map(answerOf) };
    case 'tool':
      return { toolCallArguments: event.arguments, toolCallResult: event.result };
  }
}

function messageOf(message: Message): SpanMessage {
  const role = message.role === 'developer' ? 'system' : message.role;
  const { name } = message;
  return { role, parts: partsOf(message), ...(typeof name === 'string' ? { name } : {}) };
}

function partsOf(message: Message): readonly SpanContentPart[] {
  const said = contentParts(message.content);
  switch (message.role) {
    case 'tool': {
      const [only] = said;
      const response = said.length === 1 && only?.type === 'text' ? only['content'] : said;
      return [{ type: 'tool_call_response', id: message.tool_call_id, response }];
    }
    case 'assistant': {
      const { reasoning, reasoning_content: alias, refusal, tool_calls: calls, images, audio } = message;
      return [...reasoningParts(reasoning ?? alias), ...said, ...otherParts({ refusal, calls, images, audio })];
    }
    default:
      return said;
  }
}

function answerOf({ message, finish_reason: reason }: Choice): SpanMessage {
  const { content, reasoning, refusal, tool_calls: calls, images, audio } = message;
  return {
    role: 'assistant',
    parts: [...reasoningParts(reasoning), ...contentParts(content), ...otherParts({ refusal, calls, images, audio })],
    // The conventions have the singular.
    finish_reason: reason === 'tool_calls' ? 'tool_call' : (reason ?? 'error'),
  };
}

/** What turns of a model hold besides text and reasoning. */
interface TurnExtras {
  readonly refusal?: string | null | undefined;
  readonly calls?:
    | readonly { readonly id: string; readonly function: { readonly name: string; readonly arguments: string } }[]
    | null
    | undefined;
  readonly images?: readonly { readonly image_url: { readonly url: string } }[] | null | undefined;
  readonly audio?: { readonly data?: string | undefined } | null | undefined;
}

function otherParts({ refusal, calls, images, audio }: TurnExtras): readonly SpanContentPart[] {
  return [
    ...(refusal == null ? [] : [{ type: 'refusal', content: refusal }]),
    ...(calls ?? []).map(({ id, function: { name, arguments: text } }) => ({
      type: 'tool_call',
      id,
      name,
      arguments: parsed(text),
    })),
    ...(images ?? []).map(({ image_url: { url } }) => mediaPart('image', url)),
    ...(audio?.data === undefined ? [] : [bytesPart('audio', undefined, audio.data)]),
  ];
}

function reasoningParts(text: string | null | undefined): readonly SpanContentPart[] {
  return text == null || text === '' ? [] : [{ type: 'reasoning', content: text }];
}

function contentParts(
  content: string | readonly (ContentPart | RefusalPart)[] | null | undefined,
): readonly SpanContentPart[] {
  if (content == null || content === '') return [];
  return typeof content === 'string' ? [{ type: 'text', content }] : content.map(partOf);
}

function partOf(part: ContentPart | RefusalPart): SpanContentPart {
  switch (part.type) {
    case 'text':
      return { type: 'text', content: part.text };
    case 'refusal':
      return { type: 'refusal', content: part.refusal };
    case 'image_url':
      return mediaPart('image', part.image_url.url);
    case 'input_audio':
      return bytesPart('audio', `audio/${part.input_audio.format}`, part.input_audio.data);
    case 'video_url':
    case 'input_video':
      return mediaPart('video', part.video_url.url);
    case 'file': {
      const { file_data: data, file_id: id } = part.file;
      return data === undefined
        ? { type: 'file', modality: 'document', file_id: id ?? '' }
        : mediaPart('document', data);
    }
  }
}

/** Media by address, or the place where its bytes were. The query of an address may be a credential: it is left out. */
function mediaPart(modality: string, url: string): SpanContentPart {
  if (/^data:/i.test(url.slice(0, 5))) {
    const data = parseDataUrl(url);
    return bytesPart(modality, data?.mediaType, data?.data ?? '');
  }
  const { origin = '', pathname = '' } = URL.canParse(url) ? new URL(url) : {};
  return { type: 'uri', modality, uri: `${origin}${pathname}` };
}

/** Bytes themselves are not recorded, only how many there were. */
function bytesPart(modality: string, mediaType: string | undefined, base64: string): SpanContentPart {
  const bytes = Math.floor((base64.length * 3) / 4);
  return { type: 'blob', modality, mime_type: mediaType ?? null, content: '', bytes };
}

function definitionOf(tool: FunctionTool | ServerTool): JsonObject {
  if (!isFunction(tool)) return { type: tool.type, name: tool.type, description: '' };
  const { name, description, parameters } = tool.function;
  return { type: 'function', name, description: description ?? '', parameters: parameters ?? null } as JsonObject;
}

function isFunction(tool: FunctionTool | ServerTool): tool is FunctionTool {
  return tool.type === 'function';
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const encoder = new TextEncoder();
const bytesOf = (text: string): number => encoder.encode(text).length;

/** Shorter texts are not cut: messages are left out instead. */
const SHORTEST = 64;

/**
 * A value as JSON of so many bytes at most, still valid: long texts are cut, and where that is not enough, the oldest
 * members of a list are left out.
 */
function jsonWithin(value: object, most: number): string {
  for (let length = most; length >= SHORTEST; length = Math.floor(length / 2)) {
    const json = jsonWithCuts(value, length);
    if (bytesOf(json) <= most) return json;
  }
  let kept: readonly unknown[] = Array.isArray(value) ? value.slice(Math.ceil(value.length / 2)) : [];
  for (; kept.length > 0; kept = kept.slice(Math.ceil(kept.length / 2))) {
    const json = jsonWithCuts(kept, SHORTEST);
    if (bytesOf(json) <= most) return json;
  }
  return Array.isArray(value) ? '[]' : '{}';
}

function jsonWithCuts(value: object, length: number): string {
  return JSON.stringify(value, (_, one: unknown) => (typeof one === 'string' ? cutText(one, length) : one));
}

/** The beginning of a text, of so many bytes at most, and how much was left out. */
function cutText(text: string, most: number): string {
  // A character has at most three bytes for each of its units.
  if (text.length * 3 <= most || bytesOf(text) <= most) return text;
  const note = ` [${text.length} characters]`;
  const room = Math.max(0, most - note.length);
  const buffer = new Uint8Array(room);
  const { read } = encoder.encodeInto(text, buffer);
  return `${text.slice(0, read)}${note}`;
}
