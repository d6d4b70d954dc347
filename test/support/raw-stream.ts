import type { ChatResult } from 'signalbox';
import type { Fault } from 'signalbox/testing';
import { expect } from 'vitest';
import { ask, startFaultCell } from './fault-cell.ts';
import { type ReadStream, readStream } from './sse-client.ts';

/** End mark of a stream. */
export const DONE = 'data: [DONE]\n\n';

/** One event of a stream. */
export function event(data: unknown): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

/** A chunk that adds to choice 0, or to another. */
export function delta(said: object, more: object = {}): string {
  return event({ choices: [{ index: 0, delta: said, ...more }] });
}

/** A chunk with some text, or whatever stands in its place. */
export function text(content: unknown): string {
  return delta({ content });
}

/** A chunk with a finish reason. */
export function finish(reason = 'stop'): string {
  return delta({}, { finish_reason: reason });
}

/** A chunk with a fragment of a tool call. */
export function toolCall(call: object): string {
  return delta({ tool_calls: [call] });
}

/** An upstream that sends a stream byte for byte. */
export function raw(...pieces: readonly (string | Uint8Array)[]): Fault {
  return {
    does: 'sends a stream byte for byte',
    async play(exchange) {
      exchange.response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const piece of pieces) await exchange.write(piece);
      exchange.response.end();
    },
  };
}

/** What a client reads of a stream. */
export async function read(fault: Fault): Promise<ReadStream> {
  await using cell = await startFaultCell({ upstream: { fault } });
  const response = await ask(cell.mounted, { stream: true });
  const body = await response.text();
  expect(response.status, body).toBe(200);
  const stream = readStream(body);
  expect(stream.done).toBe(true);
  return stream;
}

/** The same stream as a whole answer. */
export async function fold(fault: Fault): Promise<ChatResult> {
  await using cell = await startFaultCell({ upstream: { fault } });
  const response = await ask(cell.mounted);
  expect(response.status).toBe(200);
  return (await response.json()) as ChatResult;
}
