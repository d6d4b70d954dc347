/** Writes the requests of a new batch into its draft. */
import type { BatchRequest } from '../../protocol/batch.ts';
import { parseBatchRequest } from '../../protocol/create-batch.ts';
import { echo, faultAt } from '../../protocol/fault.ts';
import { DEFAULT_REQUEST_LIMITS } from '../../protocol/limits.ts';
import type { NewItem } from '../../contracts/batch-store.ts';
import { ByteBuffer } from '../../platform/byte-buffer.ts';
import { sha256 } from '../../platform/hash.ts';
import { yieldTurn } from '../../platform/wait.ts';
import { errorOfFault } from '../chat/router-errors.ts';
import type { BatchPorts } from './ports.ts';
import { inspectJson } from '../../protocol/inspect-json.ts';

/**
 * Characters or bytes of bodies that are written at a time. What waits to be written is copied into one buffer, so more
 * of it is no garbage; but whoever writes it may copy it once more.
 */
const SLICE_LENGTH = 512 * 1024;
/** Requests that are written at a time. */
const SLICE_ITEMS = 500;

/** A request that waits to be written: its body is text, or a part of what waits as bytes. */
interface WaitingItem {
  readonly index: number;
  readonly customId: string;
  readonly body: string | { readonly start: number; readonly end: number };
}

/** The draft that is written to. */
interface Draft {
  readonly account: string;
  readonly id: string;
  /** Model of the whole batch, where it has one. */
  readonly model: string | undefined;
}

/** Writes requests into a draft, slice by slice. */
export class DraftWriter {
  readonly #ports: Pick<BatchPorts, 'store' | 'failPoint'>;
  readonly #draft: Draft;
  readonly #wantsFingerprint: boolean;
  #model: string | undefined;
  #slice: WaitingItem[] = [];
  readonly #bytes = new ByteBuffer();
  #length = 0;
  #count = 0;
  #fingerprint = '';

  /** @param idempotencyKey - Only with one the content gets a fingerprint. */
  constructor(ports: Pick<BatchPorts, 'store' | 'failPoint'>, draft: Draft, idempotencyKey: string | undefined) {
    this.#ports = ports;
    this.#draft = draft;
    this.#model = draft.model;
    this.#wantsFingerprint = idempotencyKey !== undefined;
  }

  /** A digest of all that was read so far; empty without an idempotency key. */
  get fingerprint(): string {
    return this.#fingerprint;
  }

  /** Begins with what describes the batch, as text. */
  async begin(description: string): Promise<void> {
    await this.#digest(description);
  }

  /** @throws {@link RouterError} 400 that names the request and what is wrong with it. */
  async add(request: BatchRequest): Promise<void> {
    const index = this.#count;
    const framed = parseBatchRequest(request, index);
    if (!framed.ok) throw errorOfFault(framed.fault);
    const { customId, body } = framed.value;
    const inspection = inspectJson(body, BODY_LIMITS);
    const at = `requests[${index}].body`;
    if (!inspection.ok) {
      const place = inspection.path === '' ? at : `${at}.${inspection.path}`;
      throw errorOfFault(faultAt(place, inspection.problem));
    }
    this.#checkModel(body['model'], `${at}.model`);
    const written = request instanceof UploadedRequest ? trimmed(request.bodyAsWritten) : JSON.stringify(body);
    this.#slice.push({ index, customId, body: typeof written === 'string' ? written : this.#kept(written) });
    this.#count += 1;
    this.#length += written.length;
    if (this.#wantsFingerprint) await this.#digest(`${customId}\n${textOf(written)}`);
    if (this.#length >= SLICE_LENGTH || this.#slice.length >= SLICE_ITEMS) await this.#flush();
  }

  /** Writes what is left. Gives the model of the batch, and how many requests it has. */
  async end(): Promise<{ readonly model: string; readonly count: number }> {
    if (this.#count === 0) throw errorOfFault(faultAt('requests', 'must have at least 1 item'));
    await this.#flush();
    if (this.#model !== undefined) return { model: this.#model, count: this.#count };
    throw errorOfFault(faultAt('model', 'is required, before "requests" or in the body of every request'));
  }

  async #flush(): Promise<void> {
    if (this.#slice.length === 0) return;
    const { store, failPoint } = this.#ports;
    const slice = this.#slice;
    this.#slice = [];
    this.#length = 0;
    const items = slice.map(({ index, customId, body }): NewItem => {
      return { index, customId, body: typeof body === 'string' ? body : this.#bytes.part(body.start, body.end) };
    });
    // Whoever stores them may work for some time, and so did whoever read the last of them.
    await yieldTurn();
    await store.addItems(this.#draft.account, this.#draft.id, items);
    this.#bytes.clear();
    await failPoint('create.reading');
    await yieldTurn();
  }

  #kept(bytes: Uint8Array): { readonly start: number; readonly end: number } {
    const start = this.#bytes.add(bytes);
    return { start, end: this.#bytes.length };
  }

  /** All requests of a batch have the same model, wherever it is said. */
  #checkModel(model: unknown, path: string): void {
    if (model == null) {
      if (this.#draft.model !== undefined) return;
      throw errorOfFault(faultAt(path, 'is required where the batch has no "model" before "requests"'));
    }
    if (typeof model !== 'string') throw errorOfFault(faultAt(path, 'must be a string'));
    this.#model ??= model;
    if (model === this.#model) return;
    throw errorOfFault(faultAt(path, `must be ${echo(this.#model)}, the model of the whole batch, not ${echo(model)}`));
  }

  /** A digest of all that came so far, so that nothing of it has to be kept. */
  async #digest(text: string): Promise<void> {
    if (this.#wantsFingerprint) this.#fingerprint = await sha256(`${this.#fingerprint}\n${text}`);
  }
}

function textOf(body: string | Uint8Array): string {
  return typeof body === 'string' ? body : DECODER.decode(body);
}

/** JSON without the white space around it. */
function trimmed(bytes: Uint8Array): Uint8Array {
  let start = 0;
  let end = bytes.byteLength;
  while (start < end && isSpace(bytes[start])) start += 1;
  while (end > start && isSpace(bytes[end - 1])) end -= 1;
  return bytes.subarray(start, end);
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

const DECODER = new TextDecoder();
const BODY_LIMITS = { depth: DEFAULT_REQUEST_LIMITS.depth, nodes: Infinity };

/**
 * A request that came as bytes. Its body is stored as it was written, and never becomes a text before it runs: what is
 * read of it here is only as much as must be known to take it.
 */
export class UploadedRequest implements BatchRequest {
  readonly custom_id: string;
  /** What the body says, in which long texts may be cut. */
  readonly body: BatchRequest['body'];
  /** The body as it was written: valid JSON in UTF-8. Whoever keeps it longer than the request is in hand copies it. */
  readonly bodyAsWritten: Uint8Array;

  /** @param request - Parsed, but not yet checked: members may be missing or of another kind. */
  constructor(request: BatchRequest, bodyAsWritten: Uint8Array) {
    this.custom_id = request.custom_id;
    this.body = request.body;
    this.bodyAsWritten = bodyAsWritten;
  }
}
