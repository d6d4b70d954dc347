/** Opens sessions with MCP servers, by the optional package of the MCP SDK. */
import type * as ClientModule from '@modelcontextprotocol/sdk/client/index.js';
import type * as ProgramModule from '@modelcontextprotocol/sdk/client/stdio.js';
import type * as HttpModule from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type * as TypesModule from '@modelcontextprotocol/sdk/types.js';
import { OutboundError } from '../../net/outbound-error.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { McpProgramServer, McpServer } from './servers.ts';
import * as read from '../../platform/json.ts';
import type { Outbound, OutboundStream } from '../../net/outbound-request.ts';

/** What went wrong with a server. */
type McpProblem =
  /** The package of the protocol is not installed. */
  | 'not_installed'
  /** No connection, or no program. */
  | 'unreachable'
  /** 401 or 403. */
  | 'credentials'
  /** The server has forgotten the session, and so has not carried out the call. */
  | 'forgotten'
  | 'timeout'
  /** The connection ended while something was under way. */
  | 'closed'
  /** It answered with something that is not MCP. */
  | 'invalid'
  /** It answered with an error of its own. */
  | 'refused';

/** A failed request to an MCP server. */
export class McpFailure extends Error {
  override readonly name = 'McpFailure';
  readonly problem: McpProblem;
  /** What the server says, for the model. */
  readonly said: string | undefined;

  constructor(problem: McpProblem, message: string, said?: string) {
    super(message);
    this.problem = problem;
    this.said = said;
  }
}

/** An initialised connection to an MCP server. */
export interface McpSession {
  /**
   * @param signal - The server gets a cancellation when it is aborted.
   * @throws {@link McpFailure}
   */
  request(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject>;
  close(): Promise<void>;
}

/** What a session is opened with. */
export interface SessionOptions {
  readonly server: McpServer;
  readonly outbound: () => Outbound;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /** The connection has ended, whoever ended it. */
  readonly onClosed: () => void;
  /** The server says that it has other tools now. */
  readonly onToolsChanged: () => void;
}

const CLIENT = { name: 'signalbox', version: '1' } as const;

/** Characters of a server's error that a model reads. */
const MAX_SAID = 1_000;

/**
 * Connects to a server with the optional package `@modelcontextprotocol/sdk`, which is loaded here.
 *
 * @throws {@link McpFailure}
 */
export async function openSession(options: SessionOptions): Promise<McpSession> {
  const { server, timeoutMs, signal } = options;
  const { Client, ResultSchema } = await loadSdk();
  const client = new Client(CLIENT, { capabilities: {} });
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a client has no other way to be heard.
  client.onclose = options.onClosed;
  client.fallbackNotificationHandler = ({ method }) => {
    if (method === 'notifications/tools/list_changed') options.onToolsChanged();
    return Promise.resolve();
  };
  const close = async (): Promise<void> => client.close();
  const transport =
    'url' in server ? await httpTransport(server, options, close) : await programTransport(server, options);
  try {
    await client.connect(transport, { timeout: timeoutMs, signal });
  } catch (error) {
    throw failureOf(error);
  }
  return {
    async request(method, params, caller) {
      // The SDK tells the server of every abort, also of one that comes when everything is over.
      const own = new AbortController();
      const leave = (): void => own.abort('The client has disconnected');
      caller.addEventListener('abort', leave);
      try {
        caller.throwIfAborted();
        const result = await client.request({ method, params }, ResultSchema, {
          signal: own.signal,
          timeout: timeoutMs,
        });
        return read.object(result);
      } catch (error) {
        throw failureOf(error);
      } finally {
        caller.removeEventListener('abort', leave);
      }
    },
    async close() {
      // A server that keeps sessions may forget this one; nobody waits for it longer than for anything else.
      if ('terminateSession' in transport) await transport.terminateSession().catch(ignore);
      await close().catch(ignore);
    },
  };
}

async function httpTransport(
  { url, headers }: Extract<McpServer, { readonly url: string }>,
  { outbound, timeoutMs, maxBytes }: SessionOptions,
  onBroken: () => Promise<void>,
): Promise<HttpModule.StreamableHTTPClientTransport> {
  const { StreamableHTTPClientTransport } = await loadHttpTransport();
  return new StreamableHTTPClientTransport(new URL(url), {
    fetch: guardedFetch({ outbound: outbound(), timeoutMs, maxBytes, onBroken: () => void onBroken().catch(ignore) }),
    ...(headers === undefined ? {} : { requestInit: { headers: { ...headers } } }),
  });
}

async function programTransport({ command, args = [], env, cwd }: McpProgramServer, { maxBytes }: SessionOptions) {
  const { StdioClientTransport } = await loadProgramTransport();
  return new StdioClientTransport({
    command,
    args: [...args],
    ...(env === undefined ? {} : { env: { ...env } }),
    ...(cwd === undefined ? {} : { cwd }),
    // What a program complains of may hold what it was asked.
    stderr: 'ignore',
    maxBufferSize: maxBytes,
  });
}

async function loadSdk(): Promise<Pick<typeof ClientModule, 'Client'> & Pick<typeof TypesModule, 'ResultSchema'>> {
  try {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const { ResultSchema } = await import('@modelcontextprotocol/sdk/types.js');
    return { Client, ResultSchema };
  } catch {
    throw notInstalled();
  }
}

async function loadHttpTransport(): Promise<typeof HttpModule> {
  try {
    return await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
  } catch {
    throw notInstalled();
  }
}

async function loadProgramTransport(): Promise<typeof ProgramModule> {
  try {
    return await import('@modelcontextprotocol/sdk/client/stdio.js');
  } catch {
    throw notInstalled();
  }
}

function notInstalled(): McpFailure {
  const message = 'need the package @modelcontextprotocol/sdk; install it with "npm install @modelcontextprotocol/sdk"';
  return new McpFailure('not_installed', message);
}

/** Codes of JSON-RPC that the SDK itself gives to errors. */
const CLOSED = -32_000;
const TIMED_OUT = -32_001;

/** What is thrown here comes from the SDK, from Node or from us; texts of theirs may hold addresses and keys. */
function failureOf(error: unknown): McpFailure {
  if (error instanceof McpFailure) return error;
  if (error instanceof OutboundError) {
    if (error.problem === 'too_large') return new McpFailure('invalid', 'answered with more than is read');
    const isLate = error.problem === 'timeout' || error.problem === 'aborted';
    return new McpFailure(isLate ? 'timeout' : 'unreachable', isLate ? 'did not answer in time' : 'cannot be reached');
  }
  const { code, name, message } = Object(error) as { code?: unknown; name?: unknown; message?: unknown };
  if (typeof code === 'string') return new McpFailure('unreachable', `cannot be started (${code})`);
  if (name !== 'McpError' && typeof code === 'number') return answered(code);
  if (code === CLOSED) return new McpFailure('closed', 'ended the connection');
  if (code === TIMED_OUT) return new McpFailure('timeout', 'did not answer in time');
  if (name === 'McpError') {
    const said = String(message).replace(/^MCP error -?\d+: /, '');
    return new McpFailure('refused', `answered with an error (${String(code)})`, said.slice(0, MAX_SAID));
  }
  return new McpFailure('invalid', 'answered with something that is not MCP');
}

function answered(status: number): McpFailure {
  if (status === 401 || status === 403) {
    return new McpFailure('credentials', `does not accept the credentials that are configured here (${status})`);
  }
  if (status === 404) return new McpFailure('forgotten', 'is not at its address, or has ended the session (404)');
  const isHttp = status >= 300 && status < 600;
  return isHttp
    ? new McpFailure('unreachable', `answered ${status}`)
    : new McpFailure('invalid', 'answered with something that is not MCP');
}

function ignore(): void {}

/** How requests to an MCP server are bounded. */
interface GuardedFetchOptions {
  readonly outbound: Outbound;
  /** Milliseconds for a request, up to the end of its response. */
  readonly timeoutMs: number;
  /** Bytes of an answer. */
  readonly maxBytes: number;
  /** Called when a response ends early or is too large: whoever waits for what was in it would wait for nothing. */
  readonly onBroken: () => void;
}

/** Headers of answers that the protocol has a meaning for. */
const HEADERS = ['content-type', 'location', 'mcp-session-id', 'www-authenticate'] as const;

/** A `fetch` for the SDK of MCP that goes through the guarded connection. */
function guardedFetch({ outbound, onBroken, ...bounds }: GuardedFetchOptions): typeof globalThis.fetch {
  return async (input, init = {}) => {
    const headers = new Headers(init.headers);
    // The stream for what servers say unasked would hold a connection for every server; lists are asked for again.
    if (init.method === 'GET' && !headers.has('last-event-id')) return new Response(null, { status: 405 });
    const stream = await outbound.open({
      url: input instanceof Request ? input.url : String(input),
      method: methodOf(init.method),
      headers: [...headers].flat(),
      body: typeof init.body === 'string' ? init.body : undefined,
      signal: init.signal ?? undefined,
      ...bounds,
    });
    const { status } = stream;
    const shown = new Headers();
    for (const name of HEADERS) {
      const value = stream.header(name);
      if (value !== undefined) shown.set(name, value);
    }
    if (EMPTY.has(status)) {
      stream.cancel();
      return new Response(null, { status, headers: shown });
    }
    return new Response(bodyOf(stream, onBroken), { status: status < 200 ? 502 : status, headers: shown });
  };
}

/** Statuses whose answers have no body. */
const EMPTY: ReadonlySet<number> = new Set([204, 205, 304]);

function methodOf(method: string | undefined): 'GET' | 'POST' | 'DELETE' {
  return method === 'POST' || method === 'DELETE' ? method : 'GET';
}

function bodyOf(stream: OutboundStream, onBroken: () => void): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    async pull(controller) {
      try {
        const chunks = await stream.read();
        if (chunks === undefined) controller.close();
        for (const chunk of chunks ?? []) controller.enqueue(new Uint8Array(chunk));
      } catch (error) {
        controller.error(error);
        if (error instanceof OutboundError && BROKEN.has(error.problem)) onBroken();
      }
    },
    cancel: () => stream.cancel(),
  });
}

const BROKEN: ReadonlySet<OutboundError['problem']> = new Set(['unreachable', 'too_large']);
