/** A provider in the process of a test, behind the transport of a codec: what is sent and answered are texts. */
import type { Transport, TransportRequest } from '../../src/net/transport.ts';

/** What such a provider answers. */
export interface MemoryAnswer {
  readonly status: number;
  /** JSON, or the text of a stream. */
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A call that it received. */
export interface MemoryCall {
  readonly url: URL;
  /** As it was sent, byte for byte. */
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: readonly string[];
  readonly signal: AbortSignal;
}

/** Makes a transport that answers every call by a function. */
export function memoryTransport(answer: (call: MemoryCall) => MemoryAnswer | Promise<MemoryAnswer>): Transport {
  return {
    async send(request: TransportRequest) {
      const text = request.bodyParts?.join('') ?? request.body ?? '';
      const { url, headers, signal } = request;
      const body = text.startsWith('{') ? (JSON.parse(text) as MemoryCall['body']) : {};
      const { status, body: said, headers: more } = await answer({ url, text, body, headers, signal });
      const isText = typeof said === 'string';
      const type = isText && status === 200 ? 'text/event-stream' : 'application/json';
      const named: Readonly<Record<string, string>> = { 'content-type': type, ...more };
      let rest: readonly Uint8Array[] | undefined = [new TextEncoder().encode(isText ? said : JSON.stringify(said))];
      return {
        status,
        header: (name: string) => named[name],
        read() {
          const bytes = rest;
          rest = undefined;
          return bytes;
        },
        cancel() {
          rest = undefined;
        },
      };
    },
    close: () => Promise.resolve(),
  };
}

/** A complete answer of the chat completions API, or the same as a stream. */
export function memoryReply(
  body: Readonly<Record<string, unknown>>,
  content = 'Fine.',
  usage = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
): MemoryAnswer {
  const head = { id: 'a', created: 1, model: 'm' };
  if (body['stream'] !== true) {
    const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }];
    return { status: 200, body: { ...head, object: 'chat.completion', choices, usage } };
  }
  const chunks = [
    { choices: [{ index: 0, delta: { role: 'assistant', content }, finish_reason: null }] },
    { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage },
  ];
  const events = chunks.map(
    (chunk) => `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...chunk })}\n\n`,
  );
  return { status: 200, body: `${events.join('')}data: [DONE]\n\n` };
}

/** An error of the chat completions API. */
export function memoryError(status: number, message: string, more: object = {}): MemoryAnswer {
  return { status, body: { error: { message, type: 'invalid_request_error', param: null, code: null, ...more } } };
}
