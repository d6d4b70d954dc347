/** Reads the requests of a batch from a stored file. */
import type { BatchFileRecord } from '../../contracts/batch-file-store.ts';
import type { BatchStore } from '../../contracts/batch-store.ts';
import type { BatchEndpoint, BatchRequest } from '../../protocol/batch.ts';
import { faultAt } from '../../protocol/fault.ts';
import { isJsonObject } from '../../protocol/json.ts';
import type { RequestLimits } from '../../protocol/limits.ts';
import { scanJson } from '../../protocol/scan-json.ts';
import { shownValue } from '../../protocol/issues.ts';
import { ByteBuffer } from '../../platform/byte-buffer.ts';
import { ItemSplitter, type RawItem } from '../../platform/item-splitter.ts';
import { outlineOf } from '../../platform/json-outline.ts';
import { yieldTurn } from '../../platform/wait.ts';
import { errorOfFault } from '../chat/router-errors.ts';
import { UploadedRequest } from './draft-writer.ts';
import { PIECE_BYTES, contentPieces } from './files.ts';

/** What a line of a file may hold. */
export type LineLimits = Pick<RequestLimits, 'bodyBytes' | 'depth' | 'nodes' | 'names'>;

const LINE_FEED = 0x0a;
const DECODER = new TextDecoder();
const COMMA = new Uint8Array([0x2c]);

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
  const reader = new LineReader(endpoint, limits);
  let index = 0;
  let empty = false;
  const memory = [new Uint8Array(PIECE_BYTES), new Uint8Array(PIECE_BYTES)];
  for await (const line of linesOf(contentPieces(store, file, memory), limits.bodyBytes)) {
    const at = `requests[${index}]`;
    if (isBlank(line)) {
      empty = true;
      continue;
    }
    if (empty) throw errorOfFault(faultAt(at, 'is empty'));
    yield reader.read(line, at);
    index += 1;
  }
}

/** Reads lines, each of which is one request. */
class LineReader {
  readonly #endpoint: BatchEndpoint;
  readonly #limits: LineLimits;
  readonly #splitter: ItemSplitter;

  constructor(endpoint: BatchEndpoint, limits: LineLimits) {
    this.#endpoint = endpoint;
    this.#limits = limits;
    this.#splitter = new ItemSplitter({ member: 'body', depth: limits.depth, itemBytes: Infinity });
  }

  /** @throws RouterError */
  read(line: Uint8Array, at: string): BatchRequest {
    const scanned = scanJson(line, this.#limits);
    if (!scanned.ok) throw errorOfFault(faultAt(at, scanned.problem));
    const { value, body } = this.#parse(line) ?? {};
    if (value === undefined) throw errorOfFault(faultAt(at, 'is not valid JSON'));
    if (!isJsonObject(value)) {
      throw errorOfFault(
        faultAt(at, `must be an object with "custom_id", "method", "url" and "body", not ${shownValue(value)}`),
      );
    }
    const { method, url } = value;
    if (method !== 'POST') throw errorOfFault(faultAt(`${at}.method`, 'must be "POST"'));
    if (url !== this.#endpoint) {
      throw errorOfFault(faultAt(`${at}.url`, `must be "${this.#endpoint}", the endpoint of the batch`));
    }
    // Its frame is checked where the requests of all callers are.
    const request = value as unknown as BatchRequest;
    return body === undefined ? request : new UploadedRequest(request, body);
  }

  /** What a line says, and its body as it was written; undefined for what is not JSON. */
  #parse(line: Uint8Array): { readonly value: unknown; readonly body: Uint8Array | undefined } | undefined {
    const found: RawItem[] = [];
    try {
      const value = outlineOf(line);
      // The comma ends what may be a number, and begins the next line.
      for (const bytes of [line, COMMA]) this.#splitter.split(bytes, (item) => found.push(item));
      const [{ bytes, member } = {}] = found;
      // An outline is not to be stored, so without the bytes of the body all of it is read.
      if (member === undefined) return { value: JSON.parse(DECODER.decode(line)) as unknown, body: undefined };
      // Of the item, not of the line: white space may come before it.
      return { value, body: bytes?.subarray(member.from, member.to) };
    } catch (error) {
      if (error instanceof SyntaxError || error instanceof TypeError) return undefined;
      throw error;
    }
  }
}

/** The lines of a text, without their ends. Each is valid until the next one is requested. */
async function* linesOf(
  pieces: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  /** The beginning of a line that goes on in the next piece. */
  const held = new ByteBuffer();
  let index = 0;
  const expectShort = (length: number): void => {
    if (length <= maxBytes) return;
    const limit = maxBytes.toLocaleString('en-US');
    throw errorOfFault(faultAt(`requests[${index}]`, `must not be larger than ${limit} bytes`));
  };
  for await (const piece of pieces) {
    let from = 0;
    for (let end = piece.indexOf(LINE_FEED); end >= 0; end = piece.indexOf(LINE_FEED, from)) {
      const part = piece.subarray(from, end);
      expectShort(held.length + part.byteLength);
      if (held.length === 0) yield part;
      else {
        held.add(part);
        yield held.all();
        held.clear();
      }
      index += 1;
      from = end + 1;
    }
    if (from < piece.byteLength) {
      expectShort(held.length + piece.byteLength - from);
      held.add(piece.subarray(from));
    }
    // Stores may give pieces without waiting, and long lines take some time.
    await yieldTurn();
  }
  if (held.length > 0) yield held.all();
}

/** True for a line of nothing but white space: a carriage return, for example. */
function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x0d || byte === 0x09);
}
