import { readFileSync } from 'node:fs';
import type { DecodedResult, StreamDecoder } from '../../src/providers/codec.ts';
import { type DecodeContext, decodeResult } from '../../src/providers/openai-compatible/decode-result.ts';
import type { VendorQuirks } from '../../src/providers/openai-compatible/vendor-quirks.ts';
import { ChatStreamDecoder } from '../../src/providers/openai-compatible/codec.ts';
import { ResponsePieceStream } from '../../src/providers/piece-stream.ts';
import type { TransportResponse } from '../../src/net/transport.ts';
import type { StreamPiece, UpstreamResult } from '../../src/contracts/stream-piece.ts';

/** The key of tests; wherever it shows up, something leaks. */
export const OWN_KEY = 'sk-own+/key=="7781-canary';

/** What a decoder is told in tests: generated ids begin with `call_test`. */
export function contextOf(dialect: VendorQuirks = {}): DecodeContext {
  return {
    secrets: [OWN_KEY],
    wallClock: Date.UTC(2026, 10, 20, 12),
    quirks: dialect,
    request: { id: 'test', messages: [] },
  };
}

/** Bytes of a file in `test/fixtures/openai-compatible`. */
export function fixture(path: string): Uint8Array {
  return readFileSync(new URL(`../fixtures/openai-compatible/${path}`, import.meta.url));
}

/** The same as text. */
export function fixtureText(path: string): string {
  return new TextDecoder().decode(fixture(path));
}

/** A response whose body comes in the given reads; each read is a list of chunks. */
export function responseOf(
  reads: readonly (readonly Uint8Array[])[],
  headers: Readonly<Record<string, string>> = {},
): TransportResponse & { readonly cancelled: boolean; readonly unread: number } {
  let next = 0;
  let cancelled = false;
  return {
    status: 200,
    header: (name) => headers[name],
    read: () => Promise.resolve(cancelled ? undefined : reads[next++]),
    cancel() {
      cancelled = true;
    },
    get cancelled() {
      return cancelled;
    },
    get unread() {
      return Math.max(0, reads.length - next);
    },
  };
}

/** All pieces of a stream, in order. */
export async function piecesOf(
  reads: readonly (readonly Uint8Array[])[],
  decoder: StreamDecoder,
): Promise<readonly StreamPiece[]> {
  const stream = new ResponsePieceStream(responseOf(reads), decoder);
  const pieces: StreamPiece[] = [];
  for (let read = await stream.read(); read !== undefined; read = await stream.read()) pieces.push(...read);
  return pieces;
}

/** Decodes a body that comes in one read per part. */
export function decodeStream(
  parts: readonly (Uint8Array | string)[],
  dialect?: VendorQuirks,
): Promise<readonly StreamPiece[]> {
  const encoder = new TextEncoder();
  return piecesOf(
    parts.map((part) => [typeof part === 'string' ? encoder.encode(part) : part]),
    new ChatStreamDecoder(contextOf(dialect)),
  );
}

/** Decodes a whole answer. */
export function decodeWhole(body: string, dialect?: VendorQuirks): DecodedResult {
  return decodeResult(body, contextOf(dialect));
}

/** Decodes a whole answer that must be fine. */
export function resultOf(body: string, dialect?: VendorQuirks): UpstreamResult {
  const decoded = decodeWhole(body, dialect);
  if (!decoded.ok) throw new Error(`not decoded: ${decoded.failure.message}`);
  return decoded.result;
}

/** Cuts bytes in two at a position. */
export function cutAt(bytes: Uint8Array, position: number): readonly Uint8Array[] {
  return [bytes.subarray(0, position), bytes.subarray(position)];
}
