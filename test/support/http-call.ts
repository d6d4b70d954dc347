import { BodyError, type HttpCall, type HttpReply, type Router, handle } from 'signalbox';
import { expectDocumented } from './openapi.ts';

/** How a test calls. Bodies that are neither text nor bytes are written as JSON. */
export interface CallInit {
  readonly method?: string;
  readonly path?: string;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Default: loopback. */
  readonly remoteAddress?: string | undefined;
  readonly httpVersion?: string;
  readonly signal?: AbortSignal;
  /** Called when somebody begins to read the body. */
  readonly onRead?: () => void;
}

/** What came back. */
export class Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Body, or all frames of a stream. */
  readonly text: string;

  constructor(status: number, headers: Readonly<Record<string, string>>, text: string) {
    this.status = status;
    this.headers = headers;
    this.text = text;
  }

  /** Body as JSON. */
  get json(): Readonly<Record<string, unknown>> {
    return JSON.parse(this.text) as Readonly<Record<string, unknown>>;
  }

  /** The error in the body. */
  get error(): {
    readonly code: number;
    readonly message: string;
    readonly metadata: Readonly<Record<string, unknown>>;
  } {
    return this.json['error'] as Answered['error'];
  }
}

/** A call as a mount would hand it on. */
export function httpCall(init: CallInit = {}): HttpCall {
  const { body, onRead } = init;
  const headers = new Map(
    Object.entries({ host: 'localhost:8787', ...init.headers }).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const bytes =
    body instanceof Uint8Array ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body ?? ''));
  return {
    method: init.method ?? 'POST',
    path: init.path ?? '/chat/completions',
    query: init.query ?? '',
    header: (name) => headers.get(name),
    body: {
      type: 'unread',
      collect(maxBytes) {
        onRead?.();
        return bytes.byteLength > maxBytes ? Promise.reject(new BodyError('too_large')) : Promise.resolve(bytes);
      },
    },
    signal: init.signal ?? new AbortController().signal,
    remoteAddress: 'remoteAddress' in init ? init.remoteAddress : '127.0.0.1',
    httpVersion: init.httpVersion ?? '1.1',
  };
}

/** Calls a router and reads the answer to its end. What comes must be what the OpenAPI document says. */
export async function send(router: Router, init: CallInit = {}): Promise<Answered> {
  const call = httpCall(init);
  const reply = await handle(router, call);
  if (reply === undefined) throw new Error('The call is not for the router');
  const answered = await read(reply);
  const { status, headers, text } = answered;
  if (status !== 204) {
    const { method, path } = call;
    const names = Object.keys(headers);
    expectDocumented({ method, path, status, contentType: headers['content-type'], text, headers: names });
  }
  return answered;
}

/** Reads an answer to its end. */
export async function read(reply: HttpReply): Promise<Answered> {
  let text = '';
  if (reply.type === 'whole') text = reply.body;
  else for await (const frame of reply.frames) text += frame;
  return new Answered(reply.status, reply.headers, text);
}

/** A chat body. */
export function chatBody(fields: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> {
  return { model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }], ...fields };
}
