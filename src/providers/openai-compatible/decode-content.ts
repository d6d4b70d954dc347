import type { Annotation, Logprobs, OutputAudio, OutputImage, TokenLogprob } from '../../protocol/chat-result.ts';
import type { Delta } from '../../protocol/chunk.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import type { ReasoningDetail } from '../../protocol/reasoning.ts';

/**
 * Reads what a delta or a message says, apart from tool calls. Servers differ in how they write text (a string, null,
 * or a list of parts) and reasoning (three names, sometimes two of them at once).
 */
export function decodeContent(source: JsonObject): Omit<Delta, 'role' | 'tool_calls'> {
  const { text, thinking } = readText(source['content']);
  const reasoning = textOf(source['reasoning']) ?? textOf(source['reasoning_content']) ?? thinking;
  const refusal = textOf(source['refusal']);
  const images = listOf(source['images']).flatMap(readImage);
  const annotations = listOf(source['annotations']).filter(isJsonObject) as unknown as Annotation[];
  const details = listOf(source['reasoning_details']).filter(isJsonObject) as unknown as ReasoningDetail[];
  const audio = readAudio(source['audio']);
  return {
    ...(text === undefined ? {} : { content: text }),
    ...(refusal === undefined ? {} : { refusal }),
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(details.length > 0 ? { reasoning_details: details } : {}),
    ...(images.length > 0 ? { images } : {}),
    ...(annotations.length > 0 ? { annotations } : {}),
    ...(audio === undefined ? {} : { audio }),
  };
}

/** Reads log probabilities; a token without `bytes` gets null, because clients insist on the member. */
export function decodeLogprobs(value: unknown): Logprobs | undefined {
  if (!isJsonObject(value)) return undefined;
  const content = listOf(value['content']).flatMap(readToken);
  const refusal = listOf(value['refusal']).flatMap(readToken);
  if (content.length === 0 && refusal.length === 0) return undefined;
  return { content: content.length > 0 ? content : null, ...(refusal.length > 0 ? { refusal } : {}) };
}

/** Citations that stand at the top of an answer, as a list of addresses. */
export function decodeCitations(value: unknown): readonly Annotation[] {
  return listOf(value).flatMap((url) =>
    typeof url === 'string' ? [{ type: 'url_citation' as const, url_citation: { url } }] : [],
  );
}

function readText(content: unknown): { text?: string; thinking?: string } {
  if (typeof content === 'string') return content === '' ? {} : { text: content };
  if (!Array.isArray(content)) return {};
  let text = '';
  let thinking = '';
  for (const part of content) {
    if (typeof part === 'string') text += part;
    if (!isJsonObject(part)) continue;
    if (part['type'] === 'thinking') thinking += readText(part['thinking']).text ?? '';
    else text += textOf(part['text']) ?? '';
  }
  return { ...(text === '' ? {} : { text }), ...(thinking === '' ? {} : { thinking }) };
}

function readImage(value: unknown): OutputImage[] {
  if (!isJsonObject(value) || !isJsonObject(value['image_url'])) return [];
  const { url } = value['image_url'];
  return typeof url === 'string' ? [{ type: 'image_url', image_url: { url } }] : [];
}

function readAudio(value: unknown): OutputAudio | undefined {
  if (!isJsonObject(value)) return undefined;
  const { id, data, transcript, expires_at: expiresAt } = value;
  return {
    ...(typeof id === 'string' ? { id } : {}),
    ...(typeof data === 'string' ? { data } : {}),
    ...(typeof transcript === 'string' ? { transcript } : {}),
    ...(typeof expiresAt === 'number' ? { expires_at: Math.floor(expiresAt) } : {}),
  };
}

function readToken(value: unknown): TokenLogprob[] {
  const others = isJsonObject(value) ? listOf(value['top_logprobs']).flatMap(readLikelihood) : [];
  return readLikelihood(value).map((token) => ({ ...token, top_logprobs: others }));
}

function readLikelihood(value: unknown): Omit<TokenLogprob, 'top_logprobs'>[] {
  if (!isJsonObject(value) || typeof value['token'] !== 'string' || typeof value['logprob'] !== 'number') return [];
  const { token, logprob, bytes } = value;
  return [{ token, logprob, bytes: Array.isArray(bytes) ? (bytes as number[]) : null }];
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
