import type { BatchFileRecord } from '../../contracts/batch-file-store.ts';
import type { BatchStore } from '../../contracts/batch-store.ts';
import type { BatchEndpoint, BatchRequest } from '../../protocol/batch.ts';
import { faultAt } from '../../protocol/fault.ts';
import { isJsonObject } from '../../protocol/json.ts';
import type { RequestLimits } from '../../protocol/limits.ts';
import { scanJson } from '../../protocol/scan-json.ts';
import { nameOf } from '../../protocol/issues.ts';
import * as read from '../../platform/json.ts';
import { errorOfFault } from '../chat/router-errors.ts';
import { piecesOf } from './files.ts';

/** What a line of a file may hold. */
export type LineLimits = Pick<RequestLimits, 'bodyBytes' | 'depth' | 'nodes' | 'names'>;

const LINE_FEED = 0x0a;
const DECODER = new TextDecoder();

/**
 * The requests in a file, one per line, as OpenAI has them: `custom_id`, `method`, `url` and `body` (upstreams 5.1).
 * Nothing but the line in hand is kept. Empty lines may come at the end only, so that a request is the line of its index.
 *
 * @throws RouterError whose path begins with `requests[…]`, the index of the line.
 */
export async function* requestsOfFile(
  store: Pick<BatchStore, 'files'>,
  file: BatchFileRecord,
  endpoint: BatchEndpoint,
  limits: LineLimits,
): AsyncGenerator<BatchRequest, void, undefined> {
  let index = 0;
  let empty = false;
  for await (const line of linesOf(piecesOf(store, file), limits.bodyBytes)) {
    const at = `requests[${index}]`;
    if (isBlank(line)) {
      empty = true;
      continue;
    }
    if (empty) throw errorOfFault(faultAt(at, 'is empty'));
    yield requestOf(line, at, endpoint, limits);
    index += 1;
  }
}

function requestOf(line: Uint8Array, at: string, endpoint: BatchEndpoint, limits: LineLimits): BatchRequest {
  const scanned = scanJson(line, limits);
  if (!scanned.ok) throw errorOfFault(faultAt(at, scanned.problem));
  const value = read.parse(DECODER.decode(line));
  if (value === undefined) throw errorOfFault(faultAt(at, 'is not valid JSON'));
  if (!isJsonObject(value)) {
    throw errorOfFault(
      faultAt(at, `must be an object with "custom_id", "method", "url" and "body", not ${nameOf(value)}`),
    );
  }
  const { method, url } = value;
  if (method !== 'POST') throw errorOfFault(faultAt(`${at}.method`, 'must be "POST"'));
  if (url !== endpoint) {
    throw errorOfFault(faultAt(`${at}.url`, `must be "${endpoint}", the endpoint of the batch`));
  }
  // Its frame is checked where the requests of all callers are.
  return value as unknown as BatchRequest;
}

/** The lines of a text, without their ends. */
async function* linesOf(
  pieces: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  let held: Uint8Array[] = [];
  let length = 0;
  let index = 0;
  const keep = (part: Uint8Array): void => {
    length += part.byteLength;
    if (length > maxBytes) {
      const limit = maxBytes.toLocaleString('en-US');
      throw errorOfFault(faultAt(`requests[${index}]`, `must not be larger than ${limit} bytes`));
    }
    held.push(part);
  };
  const take = (): Uint8Array => {
    const line = held.length === 1 ? (held[0] ?? new Uint8Array()) : joined(held, length);
    held = [];
    length = 0;
    index += 1;
    return line;
  };
  for await (const piece of pieces) {
    let from = 0;
    for (let end = piece.indexOf(LINE_FEED); end >= 0; end = piece.indexOf(LINE_FEED, from)) {
      keep(piece.subarray(from, end));
      yield take();
      from = end + 1;
    }
    if (from < piece.byteLength) keep(piece.subarray(from));
  }
  if (length > 0) yield take();
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.byteLength;
  }
  return whole;
}

/** True for a line of nothing but white space: a carriage return, for example. */
function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x0d || byte === 0x09);
}
