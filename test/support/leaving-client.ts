import { type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import type { Socket } from 'node:net';
import { ALONE } from './fault-cell.ts';
import type { Mounted } from './mounts.ts';

/** A client that reads as slowly as it wants and leaves when it wants, on a connection of its own. */
export interface LeavingClient extends Disposable {
  readonly request: ClientRequest;
  readonly response: Promise<IncomingMessage>;
  /** Everything that was read so far; of a client that forgets, the last of it. */
  readonly text: string;
  /** Characters read so far. */
  readonly received: number;
  /** Resolves when the text is there; rejects when the answer ends without it. */
  readUntil(text: string): Promise<void>;
  /** Reads to the end of the answer. */
  readAll(): Promise<string>;
  /** Reads nothing more until {@link LeavingClient.readAll}. */
  pause(): Promise<void>;
  /** Closes the connection, abruptly. */
  leave(): void;
}

/** Characters that a client keeps that forgets what it has read. */
const TAIL = 1_000;

/**
 * Sends a chat request. Members of the body may be added or replaced.
 *
 * @param forgets - Keeps only the last of what it reads, so that its memory does not count.
 */
export function openClient({ baseURL }: Pick<Mounted, 'baseURL'>, body: object = {}, forgets = false): LeavingClient {
  const request = httpRequest(`${baseURL}/chat/completions`, {
    method: 'POST',
    agent: false,
    headers: { 'content-type': 'application/json' },
  });
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    request.on('response', resolve).on('error', reject);
  });
  const order = { order: ['faulty', 'healthy'] };
  request.end(JSON.stringify({ model: ALONE, messages: [{ role: 'user', content: 'Hi' }], provider: order, ...body }));
  let text = '';
  let received = 0;
  response.then(
    (message) => {
      message.setEncoding('utf8').on('error', ignore);
      message.on('data', (chunk: string) => {
        received += chunk.length;
        text = forgets ? chunk.slice(-TAIL) : text + chunk;
      });
    },
    // Who leaves before there is an answer is not interested in how that looks.
    ignore,
  );

  return {
    request,
    response,
    get text() {
      return text;
    },
    get received() {
      return received;
    },
    async readUntil(wanted) {
      const message = await response;
      await new Promise<void>((resolve, reject) => {
        const ended = (): void => reject(new Error(`The answer ended without "${wanted}": ${text.slice(-TAIL)}`));
        const check = (): void => {
          if (!text.includes(wanted)) return;
          message.off('data', check).off('close', ended);
          resolve();
        };
        message.on('data', check).on('close', ended);
        check();
      });
    },
    async readAll() {
      const message = await response;
      if (!message.readableEnded && !message.destroyed) {
        await new Promise((resolve) => message.on('close', resolve).resume());
      }
      return text;
    },
    async pause() {
      (await response).pause();
    },
    leave: () => request.destroy(),
    [Symbol.dispose]: () => request.destroy(),
  };
}

/** The socket of a request, once it has one. */
export function socketOf(request: ClientRequest): Promise<Socket> {
  return new Promise((resolve) => {
    if (request.socket !== null) resolve(request.socket);
    else request.once('socket', resolve);
  });
}

function ignore(): void {}
