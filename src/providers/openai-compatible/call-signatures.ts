/** Keeps the signatures of tool calls for servers that want them back. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import { isJsonObject } from '../../protocol/json.ts';
import { SignatureMemory } from '../signed-parts.ts';
import type { EncodedBody } from './encode-request.ts';
import type { CallWithExtra } from './tool-call-indexer.ts';
import * as read from '../../platform/json.ts';
import type { ToolCallExtra } from '../../protocol/tools.ts';

/**
 * The signatures of tool calls at a server of chat completions that has models of Google behind it: it wants each back
 * with its call. Servers that never sent one may refuse a member that they do not know, so a call gets its signature only
 * from the server that made it, or where the model is one of Google's.
 */
export class CallSignatures {
  readonly #memory = new SignatureMemory();
  /** True once there was one. */
  areKnown = false;

  /** Keeps the signature of a call, for clients that lose it. */
  remember({ id, name, extra }: CallWithExtra, { account }: NormalizedRequest): void {
    const signature = extra.google?.thought_signature;
    if (typeof signature !== 'string') return;
    this.areKnown = true;
    this.#memory.remember(account.id, keyOf(id, name), signature);
  }

  /** The body of a request, in which calls have their signatures. */
  add(body: EncodedBody, request: NormalizedRequest, endpoint: Endpoint): EncodedBody {
    const given = isOfGoogle(endpoint) ? extrasIn(request) : undefined;
    const { account } = request;
    const extraOf = (id: string, name: string): ToolCallExtra | undefined => {
      const own = given?.get(id);
      if (own !== undefined) return own;
      const signature = this.#memory.recall(account.id, keyOf(id, name));
      return signature === undefined ? undefined : { google: { thought_signature: signature } };
    };
    const messages = read.list(body['messages']).map((message) => withExtras(message, extraOf));
    return { ...body, messages };
  }
}

const GOOGLES = /gemini|gemma/i;

/** Whether the model behind an endpoint is one of Google's. */
export function isOfGoogle({ model, upstreamModel }: Endpoint): boolean {
  return GOOGLES.test(upstreamModel) || GOOGLES.test(model);
}

/** Ids of some servers are counted anew in every answer, so the name belongs to the key. */
function keyOf(id: string, name: string): string {
  return `${id}\n${name}`;
}

/** What the caller sends back with calls, by their ids. */
function extrasIn({ messages }: NormalizedRequest): ReadonlyMap<string, ToolCallExtra> {
  const extras = new Map<string, ToolCallExtra>();
  for (const message of messages) {
    if (message.role !== 'assistant') continue;
    for (const { id, extra_content: extra } of message.tool_calls ?? []) if (extra != null) extras.set(id, extra);
  }
  return extras;
}

function withExtras(message: unknown, extraOf: (id: string, name: string) => ToolCallExtra | undefined): unknown {
  if (!isJsonObject(message) || !Array.isArray(message['tool_calls'])) return message;
  const calls = read.objects(message['tool_calls']).map((call): object => {
    const { id, function: called } = call;
    const extra = extraOf(read.text(id) ?? '', read.text(read.object(called)['name']) ?? '');
    return extra === undefined ? call : { ...call, extra_content: extra };
  });
  return { ...message, tool_calls: calls };
}
