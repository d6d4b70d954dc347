import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';

/** A request that an upstream received. */
export interface ReceivedRequest {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Readonly<Record<string, unknown>>;
}

/** Answers one request. */
export type UpstreamHandler = (request: ReceivedRequest, response: ServerResponse, raw: IncomingMessage) => void;

/** A real HTTP server that plays a provider. */
export interface Upstream extends AsyncDisposable {
  /** Base address, ending in `/v1`. */
  readonly baseURL: string;
  readonly requests: ReceivedRequest[];
  /** Connections that are open at this moment. */
  readonly connections: number;
  /** Replaces what it does. */
  handler: UpstreamHandler;
}

/** Starts an upstream on a free port of loopback, with TLS where a certificate is given. */
export async function startUpstream(
  handler: UpstreamHandler = answerWith('Hello there'),
  tls?: { readonly certificate: string; readonly privateKey: string },
): Promise<Upstream> {
  const requests: ReceivedRequest[] = [];
  let connections = 0;
  const listener = (raw: IncomingMessage, response: ServerResponse): void => {
    const chunks: Buffer[] = [];
    raw.on('data', (chunk: Buffer) => chunks.push(chunk));
    raw.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString() || '{}') as Record<string, unknown>;
      const request = { path: raw.url ?? '', headers: raw.headers, body };
      requests.push(request);
      upstream.handler(request, response, raw);
    });
    raw.on('error', () => {});
  };
  const server: Server =
    tls === undefined
      ? createServer(listener)
      : createSecureServer({ cert: tls.certificate, key: tls.privateKey }, listener);
  server.on('connection', (socket) => {
    connections += 1;
    socket.on('close', () => (connections -= 1));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const upstream: Upstream = {
    baseURL: `http://127.0.0.1:${port}/v1`,
    requests,
    handler,
    get connections() {
      return connections;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return upstream;
}

/** Answers whole or streamed, as asked, with the given text and usage. */
export function answerWith(
  text: string,
  usage: object = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
): UpstreamHandler {
  return ({ body }, response) => {
    if (body['stream'] !== true) {
      sendJson(response, 200, {
        id: 'chatcmpl-test',
        object: 'chat.completion',
        created: 1_700_000_000,
        model: body['model'],
        choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
        usage,
      });
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of streamEvents(text, usage)) response.write(event);
    response.end();
  };
}

/** Answers with an error status and body. */
export function failWith(
  status: number,
  body: unknown = { error: { message: `failed with ${status}` } },
  headers: Record<string, string> = {},
): UpstreamHandler {
  return (_request, response) => sendJson(response, status, body, headers);
}

/** Writes a JSON answer. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

/** The events of a stream that says the text word by word. */
export function streamEvents(text: string, usage?: object): string[] {
  const words = text.match(/\S+\s*/g) ?? [];
  return [
    chunkEvent({ role: 'assistant', content: '' }),
    ...words.map((word) => chunkEvent({ content: word })),
    chunkEvent({}, 'stop'),
    ...(usage === undefined ? [] : [dataEvent({ ...CHUNK, choices: [], usage })]),
    'data: [DONE]\n\n',
  ];
}

const CHUNK = { id: 'chatcmpl-test', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'upstream-model' };

/** One chunk of a stream. */
export function chunkEvent(delta: object, finish: string | null = null): string {
  return dataEvent({ ...CHUNK, choices: [{ index: 0, delta, finish_reason: finish }] });
}

/** One event of a stream. */
export function dataEvent(data: unknown): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}
