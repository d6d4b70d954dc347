import type { BatchRequest } from '../../protocol/batch.ts';
import { parseBatchRequest } from '../../protocol/create-batch.ts';
import { echo, faultAt } from '../../protocol/fault.ts';
import { inspectJson } from '../../protocol/json.ts';
import { DEFAULT_REQUEST_LIMITS } from '../../protocol/limits.ts';
import type { StoredItem } from '../../contracts/batch-store.ts';
import { sha256 } from '../../platform/hash.ts';
import { nextTurn } from '../../platform/wait.ts';
import { errorOfFault } from '../chat/router-errors.ts';
import type { BatchPorts } from './ports.ts';

/**
 * Characters or bytes of bodies that are written at a time. Texts that wait to be written outlive the collector's first
 * look, and make the young part of the heap grow with what waits: 128,000 cost twice the memory.
 */
const SLICE_LENGTH = 64_000;
/** Requests that are written at a time. */
const SLICE_ITEMS = 200;

/** A request that waits to be written: its body is text, or still the bytes that came. */
interface WaitingItem {
  readonly index: number;
  readonly customId: string;
  readonly body: string | Uint8Array;
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
    const written = request instanceof UploadedRequest ? request.bodyAsWritten : JSON.stringify(body);
    this.#slice.push({ index, customId, body: written });
    this.#count += 1;
    this.#length += written.length;
    if (this.#wantsFingerprint) await this.#digest(`${customId}\n${textOf(written)}`);
    if (this.#length >= SLICE_LENGTH || this.#slice.length >= SLICE_ITEMS) await this.#flush();
  }

  /** Writes what is left. Gives the model of the batch and the fingerprint of its content. */
  async end(): Promise<{ readonly model: string; readonly fingerprint: string }> {
    if (this.#count === 0) throw errorOfFault(faultAt('requests', 'must have at least 1 item'));
    await this.#flush();
    if (this.#model !== undefined) return { model: this.#model, fingerprint: this.#fingerprint };
    throw errorOfFault(faultAt('model', 'is required, before "requests" or in the body of every request'));
  }

  async #flush(): Promise<void> {
    if (this.#slice.length === 0) return;
    const { store, failPoint } = this.#ports;
    const slice = this.#slice;
    this.#slice = [];
    this.#length = 0;
    const items = slice.map(({ index, customId, body }): StoredItem => ({ index, customId, body: textOf(body) }));
    await store.addItems(this.#draft.account, this.#draft.id, items);
    await failPoint('create.reading');
    await nextTurn();
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
  return (typeof body === 'string' ? body : DECODER.decode(body)).trim();
}

const DECODER = new TextDecoder();
const BODY_LIMITS = { depth: DEFAULT_REQUEST_LIMITS.depth, nodes: Infinity };

/**
 * A request that came as bytes. What was written is kept instead of what was read from it until it is stored. Bytes lie
 * outside of the heap, which therefore does not grow with large batches; long bodies are stored at once, and stay text.
 */
export class UploadedRequest implements BatchRequest {
  readonly custom_id: string;
  readonly body: BatchRequest['body'];
  /** The body as it was written: valid JSON, as text or in UTF-8. */
  readonly bodyAsWritten: Uint8Array | string;

  /** @param request - Parsed, but not yet checked: members may be missing or of another kind. */
  constructor(request: BatchRequest, bodyAsWritten: Uint8Array | string) {
    this.custom_id = request.custom_id;
    this.body = request.body;
    this.bodyAsWritten = bodyAsWritten;
  }
}
