import { type Socket, connect } from 'node:net';
import type { Mounted } from './mounts.ts';

/** A client that writes bytes by itself, as no well-behaved client does. */
export interface RawClient extends AsyncDisposable {
  readonly socket: Socket;
  /** Everything that has come so far. */
  readonly text: () => string;
  /** Errors of the connection. */
  readonly errors: readonly string[];
  write(text: string | Uint8Array): void;
  /** Waits until this has come; false when the connection closes before. */
  until(text: string | RegExp): Promise<boolean>;
  readonly closed: Promise<void>;
}

/** Connects to a mount. */
export async function connectRaw({ baseURL }: Pick<Mounted, 'baseURL'>): Promise<RawClient> {
  const { hostname, port } = new URL(baseURL);
  const socket = connect(Number(port), hostname);
  const errors: string[] = [];
  let text = '';
  let wake = (): void => undefined;
  let open = true;
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString();
    wake();
  });
  socket.on('error', (error: NodeJS.ErrnoException) => errors.push(error.code ?? error.message));
  const closed = new Promise<void>((resolve) => {
    socket.on('close', () => {
      open = false;
      wake();
      resolve();
    });
  });
  await new Promise<void>((resolve) => socket.once('connect', resolve));
  const has = (wanted: string | RegExp): boolean =>
    typeof wanted === 'string' ? text.includes(wanted) : wanted.test(text);
  return {
    socket,
    text: () => text,
    errors,
    closed,
    write: (bytes) => void socket.write(bytes),
    async until(wanted) {
      while (!has(wanted)) {
        if (!open) return false;
        await new Promise<void>((resolve) => (wake = resolve));
      }
      return true;
    },
    async [Symbol.asyncDispose]() {
      socket.destroy();
      await closed;
    },
  };
}

/** The head of a chat request; a length or `chunked` says how its body comes. */
export function chatHead(length: number | 'chunked', headers: Readonly<Record<string, string>> = {}): string {
  const all = {
    host: 'localhost',
    'content-type': 'application/json',
    ...(length === 'chunked' ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(length) }),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return `POST /v1/chat/completions HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`;
}
