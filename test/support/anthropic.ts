import { readFileSync } from 'node:fs';
import type { EndpointDeclaration } from '../../src/catalog/endpoint.ts';
import type { ChatRequest } from '../../src/protocol/chat-request.ts';
import { type EncodedMessages, encodeMessagesRequest } from '../../src/providers/anthropic/encode-request.ts';
import {
  type MessageContext,
  decodeMessagesResult,
  MessagesStreamDecoder,
} from '../../src/providers/anthropic/codec.ts';
import type { DecodedResult } from '../../src/providers/codec.ts';
import { repairConversation } from '../../src/core/conversation/repair.ts';
import { acceptsOf } from '../../src/core/accepts.ts';
import { ANTHROPIC } from '../../src/providers/accepts/anthropic.ts';
import { serving } from './requests.ts';
import { contextOf, piecesOf } from './wire.ts';
import type { StreamPiece, UpstreamResult } from '../../src/contracts/stream-piece.ts';

type Fields = Partial<ChatRequest> & Readonly<Record<string, unknown>>;

/** The body that goes to a model of Anthropic for a request. */
export function encodedFor(upstreamModel: string, fields: Fields, declared: EndpointDeclaration = {}): EncodedMessages {
  const said = serving({ anthropic: { upstreamModel, ...declared } }).request(fields);
  // As the router does before any codec.
  const request = { ...said, messages: repairConversation(said.messages).messages };
  const [endpoint] = request.targets[0]?.endpoints ?? [];
  if (endpoint === undefined) throw new Error('no endpoint');
  // What is written is what counts: members that are undefined do not go out.
  return JSON.parse(
    JSON.stringify(encodeMessagesRequest(request, endpoint, acceptsOf(ANTHROPIC, endpoint.upstreamModel))),
  ) as EncodedMessages;
}

/** The messages that go to a model for a conversation. */
export function turnsFor(upstreamModel: string, messages: ChatRequest['messages'], fields: Fields = {}): unknown {
  return encodedFor(upstreamModel, { messages, ...fields })['messages'];
}

/** What a decoder of this wire is told in tests. */
export function decodeContext(more: Partial<MessageContext> = {}): MessageContext {
  return {
    ...contextOf(),
    native: false,
    formatTool: false,
    detailedUsage: false,
    newId: (index) => `made_${index}`,
    originalId: (id) => id,
    ...more,
  };
}

/** Decodes a body that comes in one read per part. */
export function decodeEvents(
  parts: readonly (Uint8Array | string)[],
  more: Partial<MessageContext> = {},
): Promise<readonly StreamPiece[]> {
  const encoder = new TextEncoder();
  return piecesOf(
    parts.map((part) => [typeof part === 'string' ? encoder.encode(part) : part]),
    new MessagesStreamDecoder(decodeContext(more)),
  );
}

/** Decodes a whole answer. */
export function decodeMessage(message: unknown, more: Partial<MessageContext> = {}): DecodedResult {
  return decodeMessagesResult(typeof message === 'string' ? message : JSON.stringify(message), decodeContext(more));
}

/** Decodes a whole answer that must be fine. */
export function messageResult(message: unknown, more: Partial<MessageContext> = {}): UpstreamResult {
  const decoded = decodeMessage(message, more);
  if (!decoded.ok) throw new Error(`not decoded: ${decoded.failure.message}`);
  return decoded.result;
}

/** Bytes of a file in `test/fixtures/anthropic`. */
export function anthropicFixture(path: string): Uint8Array {
  return readFileSync(new URL(`../fixtures/anthropic/${path}`, import.meta.url));
}

/** One event of a stream. */
export function messageEvent(data: { readonly type: string; readonly [member: string]: unknown }): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
}
