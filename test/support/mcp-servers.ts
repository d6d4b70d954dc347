import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

/** What the servers of tests have heard. */
export interface Heard {
  /** Calls that were cancelled, by the name of the tool. */
  readonly cancelled: string[];
}

/** A server made with the SDK, as its users write one. */
export function ticketServer(heard: Heard = { cancelled: [] }): McpServer {
  const server = new McpServer({ name: 'tickets', version: '1' });
  server.registerTool('search', { description: 'Finds tickets.', inputSchema: { query: z.string() } }, ({ query }) => ({
    content: [{ type: 'text', text: `2 tickets about ${query}` }],
  }));
  server.registerTool(
    'count.open',
    { description: 'Counts tickets.', inputSchema: {}, outputSchema: { open: z.number() } },
    () => ({ content: [], structuredContent: { open: 7 } }),
  );
  server.registerTool('close', { description: 'Closes all tickets.', inputSchema: {} }, () => ({
    content: [{ type: 'text', text: 'Tickets cannot be closed on Mondays' }],
    isError: true,
  }));
  server.registerTool('picture', { description: 'Draws a ticket.', inputSchema: {} }, () => ({
    content: [
      { type: 'text', text: 'A ticket:' },
      { type: 'image', mimeType: 'image/png', data: 'AAAA' },
      { type: 'resource', resource: { uri: 'file:///ticket.txt', text: 'a text beside it' } },
    ],
  }));
  server.registerTool(
    'wait',
    { description: 'Never ends.', inputSchema: {} },
    (_args, { signal }) =>
      new Promise(() => signal.addEventListener('abort', () => heard.cancelled.push('wait'), { once: true })),
  );
  return server;
}

/** A server made with the SDK that has no tools. */
export function emptyServer(): Server {
  const server = new Server({ name: 'empty', version: '1' }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [] }));
  return server;
}

interface Message {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly name?: string };
}

const HELLO = {
  protocolVersion: '2025-06-18',
  capabilities: { tools: {} },
  serverInfo: { name: 'liar', version: '1' },
};

const OBJECT = { type: 'object', properties: {} };

/** What a server that keeps no promise lists. */
const LIES = [
  { name: 'honest', description: 'Says the truth.', inputSchema: OBJECT },
  { name: 'list', description: 'Takes a list.', inputSchema: { type: 'array', items: {} } },
  { name: 'text', description: 'Its schema is a text.', inputSchema: 'object' },
  { name: 'none', description: 'It has no schema.' },
  { name: 'huge', inputSchema: { ...OBJECT, description: 'x'.repeat(100_000) } },
  {
    name: 'deep',
    inputSchema: { type: 'object', properties: JSON.parse('{"a":'.repeat(60) + '1' + '}'.repeat(60)) as object },
  },
  { name: 'honest', description: 'Listed twice.', inputSchema: OBJECT },
  { name: '', inputSchema: OBJECT },
  'no tool',
  {
    name: 'promises',
    inputSchema: OBJECT,
    outputSchema: { type: 'object', properties: { open: { type: 'number' } }, required: ['open'] },
  },
  { name: 'shapeless', inputSchema: OBJECT },
  { name: 'wordless', inputSchema: OBJECT },
  { name: 'large', inputSchema: OBJECT },
];

const RESULTS: Readonly<Record<string, unknown>> = {
  honest: { content: [{ type: 'text', text: 'the truth' }] },
  promises: { content: [], structuredContent: { open: 'many' } },
  shapeless: { content: 'a text instead of a list' },
  wordless: {},
  large: { content: [{ type: 'text', text: 'x'.repeat(300_000) }] },
};

/** Answers of a server that was written by hand, so that it can say what the SDK would not let it say. */
export function liesOf({ method, params }: Message): unknown {
  if (method === 'initialize') return HELLO;
  if (method === 'tools/list') return { tools: LIES };
  return method === 'tools/call' ? RESULTS[params?.name ?? ''] : undefined;
}

/** A server that says hello, and then nothing. */
export function silenceOf({ method }: Message): unknown {
  return method === 'initialize' ? HELLO : undefined;
}

/** A server of tests, over HTTP. */
export interface HttpMcpServer extends AsyncDisposable {
  readonly url: string;
  /** As `outbound.allowedHosts` has it. */
  readonly host: string;
  /** Requests so far: method, and what of the protocol it was. */
  readonly requests: string[];
  /** Headers of the last request. */
  readonly headers: () => IncomingMessage['headers'];
  /** Sessions that are open. */
  readonly sessions: () => number;
  /** Answers that are under way. */
  readonly open: () => number;
  /** Forgets all sessions, as after a restart. */
  forget(): void;
}

/** Serves a server of the SDK over streamable HTTP, with sessions. */
export async function serveMcp(make: () => McpServer | Server): Promise<HttpMcpServer> {
  const transports = new Map<string, StreamableHTTPServerTransport>();
  return serveHttp(async (request, response, body) => {
    const id = request.headers['mcp-session-id'];
    if (typeof id === 'string') {
      const known = transports.get(id);
      if (known === undefined) return void response.writeHead(404).end();
      return known.handleRequest(request, response, body);
    }
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (session) => void transports.set(session, transport),
      onsessionclosed: (session) => void transports.delete(session),
    });
    await make().connect(transport);
    return transport.handleRequest(request, response, body);
  }, transports);
}

/** Serves answers that were written by hand as JSON; a request without one is never answered. */
export async function serveAnswers(answer: (message: Message) => unknown): Promise<HttpMcpServer> {
  return serveHttp((_request, response, body) => {
    const message = body as Message;
    if (message?.id === undefined) return void response.writeHead(202).end();
    const result = answer(message);
    if (result === undefined) return;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }));
  });
}

/** Serves whatever a handler answers. */
export async function serveHttp(
  handle: (request: IncomingMessage, response: ServerResponse, body: unknown) => unknown,
  sessions = new Map<string, unknown>(),
): Promise<HttpMcpServer> {
  const requests: string[] = [];
  const open = new Set<ServerResponse>();
  let headers: IncomingMessage['headers'] = {};
  const server = createServer((request, response) => {
    ({ headers } = request);
    open.add(response);
    response.on('close', () => open.delete(response));
    void (async () => {
      let text = '';
      for await (const chunk of request) text += String(chunk);
      const body = text === '' ? undefined : (JSON.parse(text) as { readonly method?: string });
      requests.push(`${request.method} ${body?.method ?? ''}`.trim());
      await handle(request, response, body);
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `http://${host}/mcp`,
    host,
    requests,
    headers: () => headers,
    sessions: () => sessions.size,
    open: () => open.size,
    forget: () => sessions.clear(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
