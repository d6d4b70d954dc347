import { type AddressInfo, type Server, type Socket, createServer } from 'node:net';

/** One HTTP request as it came over a socket. */
export interface RawRequest {
  readonly socket: Socket;
  /** Head and body, as bytes turned into Latin-1. */
  readonly text: string;
  /** Number of the connection, and of the request on it, both from 0. */
  readonly connection: number;
  readonly turn: number;
}

/** A server that writes whatever it wants to its sockets. */
export interface RawServer extends AsyncDisposable {
  /** Address without a slash at the end. */
  readonly origin: string;
  readonly requests: readonly RawRequest[];
  /** Connections so far, and those that are open at this moment. */
  readonly connections: number;
  readonly open: number;
  /** Resolves when no connection is open. */
  allClosed(): Promise<void>;
}

/** Starts a server on a free port of loopback that answers each request by hand. */
export async function rawServer(answer: (request: RawRequest) => void): Promise<RawServer> {
  const requests: RawRequest[] = [];
  const sockets = new Set<Socket>();
  const waiting: (() => void)[] = [];
  let connections = 0;
  const server: Server = createServer((socket) => {
    const connection = connections;
    connections += 1;
    sockets.add(socket);
    let turn = 0;
    let text = '';
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1');
      for (let end = endOfRequest(text); end !== undefined; end = endOfRequest(text)) {
        const request = { socket, text: text.slice(0, end), connection, turn };
        text = text.slice(end);
        turn += 1;
        requests.push(request);
        answer(request);
      }
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      sockets.delete(socket);
      if (sockets.size === 0) for (const wake of waiting.splice(0)) wake();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    requests,
    get connections() {
      return connections;
    },
    get open() {
      return sockets.size;
    },
    allClosed: () => (sockets.size === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(() => resolve()))),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A whole response with a body of known length. */
export function respond(body: string | Uint8Array, headers: readonly string[] = [], status = '200 OK'): Buffer {
  const bytes = Buffer.from(body);
  const lines = [`HTTP/1.1 ${status}`, `content-length: ${bytes.length}`, ...headers];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), bytes]);
}

/** The head of a response whose body comes in chunks. */
export const CHUNKED_HEAD = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';

/** One chunk of a body. */
export function chunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

function endOfRequest(text: string): number | undefined {
  const head = text.indexOf('\r\n\r\n');
  if (head < 0) return undefined;
  const length = /^content-length: (\d+)$/im.exec(text.slice(0, head))?.[1];
  const end = head + 4 + Number(length ?? 0);
  return text.length >= end ? end : undefined;
}
