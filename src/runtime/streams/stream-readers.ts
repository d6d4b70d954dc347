/** Counts who reads kept streams. */
import { shareError } from '../../core/limits/limit-errors.ts';
import { MAX_READERS } from '../../core/limits/share.ts';

/** Who reads which stream now. */
export class StreamReaders {
  readonly #readers = new Map<string, number>();

  /**
   * Begins to read a stream; the result ends that, and may be called more than once.
   *
   * @param stream - Key of the stream.
   * @throws {@link RouterError} 429 when it has as many readers as it may.
   */
  enter(stream: string): () => void {
    const readers = this.#readers.get(stream) ?? 0;
    if (readers >= MAX_READERS) throw shareError(MAX_READERS, 'readers of one stream');
    this.#readers.set(stream, readers + 1);
    let hasLeft = false;
    return () => {
      if (hasLeft) return;
      hasLeft = true;
      const left = (this.#readers.get(stream) ?? 1) - 1;
      if (left === 0) this.#readers.delete(stream);
      else this.#readers.set(stream, left);
    };
  }
}
