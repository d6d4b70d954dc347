import type { Batch, BatchResultItem } from '../protocol/batch.ts';
import type { Frames, HttpHeaders, HttpReply } from './exchange.ts';

/** Characters of results that are collected before a write. More than that is sent while the rest is read. */
const PIECE_LENGTH = 256 * 1024;

/**
 * A completed batch with its results (contract: batch resource). Few results are sent whole; many are sent while they
 * are read from the storage, so they are never in memory together.
 */
export async function completedReply(
  batch: Batch,
  results: AsyncIterable<BatchResultItem>,
  headers: HttpHeaders,
  stallMs: number,
): Promise<HttpReply> {
  const status = 200;
  const own = { ...headers, 'content-type': 'application/json' };
  const frames = new ResultFrames(batch, results[Symbol.asyncIterator]());
  // Read before the status is sent, so that a storage that fails at once is told by it.
  const first = await frames.next();
  const body = first.value ?? '';
  if (frames.ended) return { type: 'whole', status, headers: own, body };
  frames.putBack(body);
  return { type: 'stream', status, headers: own, frames, stallMs };
}

/** The pieces of a batch's JSON text. */
class ResultFrames implements Frames {
  readonly #results: AsyncIterator<BatchResultItem>;
  readonly #total: number;
  #text: string;
  #read = 0;
  #ready: string | undefined;
  #over = false;

  constructor({ results: _, ...batch }: Batch, results: AsyncIterator<BatchResultItem>) {
    this.#results = results;
    this.#total = batch.request_counts.total;
    this.#text = `${JSON.stringify(batch).slice(0, -1)},"results":[`;
  }

  get ended(): boolean {
    return this.#over && this.#ready === undefined;
  }

  putBack(piece: string): void {
    this.#ready = piece;
  }

  async next(): Promise<IteratorResult<string, undefined>> {
    if (this.#ready !== undefined) {
      const value = this.#ready;
      this.#ready = undefined;
      return { done: false, value };
    }
    if (this.#over) return { done: true, value: undefined };
    while (this.#text.length < PIECE_LENGTH && !this.#over) {
      const { done, value } = await this.#results.next();
      if (done === true) this.#end();
      else this.#add(value);
    }
    const value = this.#text;
    this.#text = '';
    return { done: false, value };
  }

  async return(): Promise<IteratorResult<string, undefined>> {
    this.#over = true;
    this.#ready = undefined;
    await this.#results.return?.();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #add(result: BatchResultItem): void {
    this.#text += `${this.#read === 0 ? '' : ','}${JSON.stringify(result)}`;
    this.#read += 1;
  }

  /** Somebody may delete the batch while it is sent: a broken answer is better than a short one. */
  #end(): void {
    if (this.#read !== this.#total) throw new RangeError('results are missing');
    this.#over = true;
    this.#text += ']}';
  }
}
