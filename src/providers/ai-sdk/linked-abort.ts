/** A signal of one call that is aborted with the caller's, or by itself. Leaves no listener behind. */
export class LinkedAbort {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal;
  readonly #onAbort = (): void => this.abort();

  constructor(outer: AbortSignal) {
    this.#outer = outer;
    outer.addEventListener('abort', this.#onAbort);
    if (outer.aborted) this.abort();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(): void {
    this.release();
    this.#controller.abort(CALL_OVER);
  }

  /** The call is over: its signal will not be needed any more. */
  release(): void {
    this.#outer.removeEventListener('abort', this.#onAbort);
  }
}

/** Reason of every abort: the SDK lets errors of this name through as they are. */
const CALL_OVER = new DOMException('The call is over', 'AbortError');
