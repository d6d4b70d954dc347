/** Finds which provider encrypted or signed the reasoning of a conversation, since no other can read it. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/json.ts';
import type { Message } from '../../protocol/message.ts';
import type { ReasoningDetail } from '../../protocol/reasoning.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';

/**
 * Who made the encrypted or signed reasoning of a conversation, by its seal. Only they can read it: whoever else gets it
 * refuses the request.
 */
export type ReasoningOrigins = ReadonlyMap<string, string>;

/** Who can read what an endpoint encrypts: its provider, with the account's own key where the endpoint is its own. */
export function originOf({ provider, byok, key }: Pick<Endpoint, 'provider' | 'byok' | 'key'>): string {
  return byok === undefined ? (key === undefined ? provider : `${provider}/${key}`) : `${provider}@${byok.account}`;
}

/** What is encrypted or signed in a piece of reasoning; undefined for plain text. */
export function sealOf(detail: ReasoningDetail): string | undefined {
  if (detail.type === 'reasoning.encrypted') return detail.data || undefined;
  return detail.type === 'reasoning.text' ? detail.signature || undefined : undefined;
}

/** The seals of a conversation, the latest last. */
export function sealsIn(messages: readonly Message[]): readonly string[] {
  const seals: string[] = [];
  for (const message of messages) {
    if (message.role !== 'assistant' || !message.reasoning_details?.length) continue;
    for (const detail of message.reasoning_details) {
      const seal = sealOf(detail);
      if (seal !== undefined) seals.push(seal);
    }
  }
  return seals;
}

/** A short name of a seal, to remember it by: its length, and a hash of its beginning and its end. */
export function nameOfSeal(seal: string): string {
  const sample = seal.length <= 2 * SAMPLE ? seal : seal.slice(0, SAMPLE) + seal.slice(-SAMPLE);
  let low = 0x811c9dc5;
  let high = 0x01000193;
  for (let index = 0; index < sample.length; index += 1) {
    const code = sample.charCodeAt(index);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ (code + index), 0x85ebca6b);
  }
  return `${seal.length.toString(36)}.${(low >>> 0).toString(36)}.${(high >>> 0).toString(36)}`;
}

const SAMPLE = 256;

/** Whether an endpoint would get reasoning that another one made. */
export function hasForeignReasoning(origins: ReasoningOrigins, endpoint: Endpoint): boolean {
  const own = originOf(endpoint);
  for (const origin of origins.values()) if (origin !== own) return true;
  return false;
}

/** A request without the reasoning that an endpoint cannot read. What has no known origin stays. */
export function withoutForeignReasoning(
  request: NormalizedRequest,
  endpoint: Endpoint,
  origins: ReasoningOrigins,
): NormalizedRequest {
  if (!hasForeignReasoning(origins, endpoint)) return request;
  const own = originOf(endpoint);
  const isForeign = (seal: unknown): boolean => {
    const origin = typeof seal === 'string' ? origins.get(seal) : undefined;
    return origin !== undefined && origin !== own;
  };
  const { native } = request;
  return {
    ...request,
    messages: request.messages.map((message) => readable(message, isForeign)),
    ...(native === undefined ? {} : { native: { ...native, body: readableBody(native.body, isForeign) } }),
  };
}

/** Plain text that was signed stays without its signature. */
function readable(message: Message, isForeign: (seal: unknown) => boolean): Message {
  if (message.role !== 'assistant' || message.reasoning_details == null) return message;
  const details = message.reasoning_details.flatMap((detail): readonly ReasoningDetail[] => {
    if (!isForeign(sealOf(detail))) return [detail];
    if (detail.type !== 'reasoning.text' || !detail.text) return [];
    const { signature: _, ...unsigned } = detail;
    return [unsigned];
  });
  return { ...message, reasoning_details: details };
}

/** In the words of the API formats: items of `input`, and blocks of `messages`. */
function readableBody(body: JsonObject, isForeign: (seal: unknown) => boolean): JsonObject {
  const { input, messages } = body;
  return {
    ...body,
    ...(Array.isArray(input) ? { input: input.filter((item) => !isSealedBy(item, isForeign)) } : {}),
    ...(Array.isArray(messages) ? { messages: messages.map((message) => readableBlocks(message, isForeign)) } : {}),
  };
}

function readableBlocks(message: JsonValue, isForeign: (seal: unknown) => boolean): JsonValue {
  if (!isJsonObject(message) || !Array.isArray(message['content'])) return message;
  return { ...message, content: message['content'].filter((block) => !isSealedBy(block, isForeign)) };
}

const SEALED_TYPES: ReadonlySet<unknown> = new Set(['reasoning', 'thinking', 'redacted_thinking']);

function isSealedBy(part: JsonValue, isForeign: (seal: unknown) => boolean): boolean {
  if (!isJsonObject(part) || !SEALED_TYPES.has(part['type'])) return false;
  const { encrypted_content: encrypted, signature, data } = part;
  return isForeign(encrypted) || isForeign(signature) || isForeign(data);
}
