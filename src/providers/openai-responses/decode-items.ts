import { reasoningOfItem } from '../../core/dialects/responses/reasoning-items.ts';
import type { Annotation, Logprobs, ResultMessage, ResultToolCall } from '../../protocol/chat-result.ts';
import type { Delta } from '../../protocol/chunk.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import type { ReasoningDetail } from '../../protocol/reasoning.ts';
import type { ReasoningItem } from '../../protocol/responses/input-item.ts';
import { decodeLogprobs } from '../openai-compatible/decode-content.ts';

/** What the items of an answer say, in the chat form. */
export interface DecodedItems {
  readonly message: ResultMessage;
  readonly logprobs: Logprobs | null;
}

/** Reads the items of a whole answer. */
export function decodeItems(items: readonly JsonObject[]): DecodedItems {
  const parts = items.filter(({ type }) => type === 'message').flatMap(({ content }) => objectsOf(content));
  const texts = parts.filter(({ type }) => type === 'output_text');
  const refusals = parts.filter(({ type }) => type === 'refusal').map(({ refusal }) => textOf(refusal));
  const thoughts = items.filter(({ type }) => type === 'reasoning').map((item, index) => thoughtOf(item, index));
  const calls = items.flatMap((item) => callOf(item) ?? []).map((call, index): ResultToolCall => ({ ...call, index }));
  const others = items.map(otherDelta);
  const details = [
    ...thoughts.flatMap((thought) => thought.details),
    ...others.flatMap((delta) => delta.reasoning_details ?? []),
  ];
  const reasoning = thoughts.map(({ text }) => text).join('\n\n');
  const annotations = texts.flatMap((part) => objectsOf(part['annotations']).flatMap(annotationOf));
  const images = others.flatMap((delta) => delta.images ?? []);
  const said = texts.map(({ text }) => textOf(text)).join('');
  return {
    logprobs: decodeLogprobs({ content: texts.flatMap((part) => objectsOf(part['logprobs'])) }) ?? null,
    message: {
      role: 'assistant',
      content: texts.length > 0 || (calls.length === 0 && refusals.length === 0) ? said : null,
      refusal: refusals.length === 0 ? null : refusals.join(''),
      reasoning: reasoning === '' ? null : reasoning,
      ...(details.length === 0 ? {} : { reasoning_details: details }),
      ...(annotations.length === 0 ? {} : { annotations }),
      ...(images.length === 0 ? {} : { images }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
  };
}

/** A call of the caller's tools, if the item is one; free text stands in its one argument. */
export function callOf(item: JsonObject): Omit<ResultToolCall, 'index'> | undefined {
  const { type, call_id: id, name } = item;
  if (type !== 'function_call' && type !== 'custom_tool_call') return undefined;
  const text = type === 'function_call' ? textOf(item['arguments']) : JSON.stringify({ input: textOf(item['input']) });
  return { id: textOf(id), type: 'function', function: { name: textOf(name), arguments: text } };
}

/** What a finished item says that is neither a message nor a call: images, reasoning, and what the provider did. */
export function otherDelta(item: JsonObject): Delta {
  const { type, result, output_format: format } = item;
  if (type === 'image_generation_call') {
    if (typeof result !== 'string' || result === '') return {};
    const url = `data:image/${typeof format === 'string' ? format : 'png'};base64,${result}`;
    return { images: [{ type: 'image_url', image_url: { url } }] };
  }
  return typeof type === 'string' && !OWN_KINDS.has(type) ? { reasoning_details: [hostedCall(type, item)] } : {};
}

/** The pieces of a finished reasoning item. */
export function thoughtOf(item: JsonObject, index: number): ReturnType<typeof reasoningOfItem> {
  const thought = {
    id: textOf(item['id']),
    summary: objectsOf(item['summary']),
    content: objectsOf(item['content']),
    encrypted_content: typeof item['encrypted_content'] === 'string' ? item['encrypted_content'] : undefined,
    format: typeof item['format'] === 'string' ? item['format'] : undefined,
    signature: typeof item['signature'] === 'string' ? item['signature'] : undefined,
  };
  return reasoningOfItem({ type: 'reasoning', ...thought } as unknown as ReasoningItem, index);
}

const OWN_KINDS: ReadonlySet<string> = new Set(['message', 'reasoning', 'function_call', 'custom_tool_call']);

function hostedCall(type: string, item: JsonObject): ReasoningDetail {
  const name = type.replace(/_call$/, '');
  return {
    type: 'reasoning.server_tool_call',
    tool_name: name,
    arguments: '',
    result: '',
    tool_call_id: textOf(item['id']),
  };
}

function annotationOf({ type, ...members }: JsonObject): readonly Annotation[] {
  return type === 'url_citation' ? [{ type, url_citation: members } as unknown as Annotation] : [];
}

function objectsOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
