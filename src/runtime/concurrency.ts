import { RouterError } from '../errors.ts';

/** A place among the requests that are handled at the same time. */
export interface Slot {
  /** Gives the place back. May be called more than once. */
  readonly leave: () => void;
}

/** Bounds how many requests are handled at a time; what comes on top is refused at once instead of queueing up. */
export class Concurrency {
  readonly #limit: number;
  #inside = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get inside(): number {
    return this.#inside;
  }

  /** @throws {@link RouterError} 503 when no place is free. */
  check(): void {
    if (this.#inside < this.#limit) return;
    throw new RouterError({
      status: 503,
      errorType: 'provider_overloaded',
      message: `The router handles ${this.#limit} requests at a time and has no place free`,
      retryAfterMs: 1_000,
    });
  }

  /**
   * Takes a place.
   *
   * @throws {@link RouterError} 503 when none is free.
   */
  enter(): Slot {
    this.check();
    this.#inside += 1;
    let left = false;
    return {
      leave: () => {
        if (left) return;
        left = true;
        this.#inside -= 1;
      },
    };
  }
}
