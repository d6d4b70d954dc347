import { RouterError } from '../../protocol/router-error.ts';

/** Bytes that one reader has in its hands. */
export interface ByteHold {
  /**
   * Says how many bytes it has now.
   *
   * @throws {@link RouterError} 503 when there is no room for more. What it had before stays counted.
   */
  set(bytes: number): void;
  /** Says that it has these on top; otherwise like {@link ByteHold.set}. */
  add(bytes: number): void;
  /** Has none any more. May be called more than once. */
  release(): void;
}

/**
 * Bounds how many bytes of bodies the process holds, in whatever state they are. Nobody gets more than half of it, so
 * that one who sends a lot slowly leaves room for others.
 */
export class ByteBudget {
  #limit: number;
  readonly #owners = new Map<string, number>();
  #held = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Changes how many bytes there is room for. What is held stays. */
  resize(limit: number): void {
    this.#limit = limit;
  }

  get held(): number {
    return this.#held;
  }

  /**
   * Refuses what would not find room, before it is sent.
   *
   * @param owner - Id of the account.
   * @throws {@link RouterError} 503
   */
  check(owner: string, bytes: number): void {
    const share = Math.floor(this.#limit / 2);
    const own = (this.#owners.get(owner) ?? 0) + bytes;
    if (own <= share && this.#held + bytes <= this.#limit) return;
    const limit = (own > share ? share : this.#limit).toLocaleString('en-US');
    throw new RouterError({
      status: 503,
      errorType: 'provider_overloaded',
      message: `The router holds up to ${limit} bytes of request bodies${own > share ? ' of one account' : ''} and has no room for more`,
      retryAfterMs: 1_000,
    });
  }

  /** A hold without bytes. */
  open(owner: string): ByteHold {
    let own = 0;
    let released = false;
    const set = (bytes: number): void => {
      if (released) return;
      if (bytes > own) this.check(owner, bytes - own);
      this.#take(owner, bytes - own);
      own = bytes;
    };
    return {
      set,
      add: (bytes) => set(own + bytes),
      release: () => {
        set(0);
        released = true;
      },
    };
  }

  #take(owner: string, bytes: number): void {
    this.#held += bytes;
    const own = (this.#owners.get(owner) ?? 0) + bytes;
    if (own === 0) this.#owners.delete(owner);
    else this.#owners.set(owner, own);
  }
}
