/** Limits concurrent requests and the memory of their bodies. */
import { RouterError } from '../../protocol/router-error.ts';

/** A place among the requests that are handled at the same time. */
export interface RequestSlot {
  /** Gives the place back. May be called more than once. */
  leave(): void;
}

/** Limits how many requests are handled at a time; what comes on top is refused at once instead of queueing up. */
export class Concurrency {
  #limit: number;
  readonly #what: string;
  readonly #limitPerOwner: number;
  readonly #owners = new Map<string, number>();
  #inside = 0;
  /** Called when a place becomes free, for those who wait for one. */
  onFree: (() => void) | undefined;

  /**
   * @param what - What there are places for, as the error says it.
   * @param limitPerOwner - Places that one owner may have.
   */
  constructor(limit: number, what = 'requests', limitPerOwner = Infinity) {
    this.#limit = limit;
    this.#what = what;
    this.#limitPerOwner = limitPerOwner;
  }

  /** Changes how many places there are. Nobody who has one loses it. */
  resize(limit: number): void {
    this.#limit = limit;
  }

  get inside(): number {
    return this.#inside;
  }

  /** @throws {@link RouterError} 503 when no place is free. */
  check(): void {
    if (this.#inside >= this.#limit) throw noSlot(`${this.#limit} ${this.#what}`);
  }

  /**
   * Takes a place.
   *
   * @param owner - Who has it, where one may have so many only.
   * @throws {@link RouterError} 503 when none is free.
   */
  enter(owner?: string): RequestSlot {
    this.check();
    if (owner === undefined) return this.#take();
    const own = this.#owners.get(owner) ?? 0;
    if (own >= this.#limitPerOwner) throw noSlot(`${this.#limitPerOwner} ${this.#what} of one account`);
    const slot = this.#take(() => this.#count(owner, -1));
    this.#count(owner, 1);
    return slot;
  }

  #count(owner: string, more: number): void {
    const own = (this.#owners.get(owner) ?? 0) + more;
    if (own === 0) this.#owners.delete(owner);
    else this.#owners.set(owner, own);
  }

  /**
   * Takes a place for work that can wait, if so many stay free for work that cannot.
   *
   * @param keepFree - Places that are not for this kind of work.
   */
  tryEnter(keepFree: number): RequestSlot | undefined {
    return this.#inside + keepFree < this.#limit ? this.#take() : undefined;
  }

  #take(onLeave?: () => void): RequestSlot {
    this.#inside += 1;
    return new TakenSlot(this, onLeave);
  }

  /** Frees the place of a slot. */
  free(): void {
    this.#inside -= 1;
    this.onFree?.();
  }
}

class TakenSlot implements RequestSlot {
  readonly #of: Concurrency;
  readonly #onLeave: (() => void) | undefined;
  #hasLeft = false;

  constructor(of: Concurrency, onLeave: (() => void) | undefined) {
    this.#of = of;
    this.#onLeave = onLeave;
  }

  leave(): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    this.#onLeave?.();
    this.#of.free();
  }
}

function noSlot(what: string): RouterError {
  return new RouterError({
    status: 503,
    errorType: 'provider_overloaded',
    message: `The router handles ${what} at a time and has no place free; try again in a second`,
    retryAfterMs: 1_000,
  });
}

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

/** Bytes of one owner, in all holds that are open. */
interface OwnerBytes {
  held: number;
  holds: number;
}

/**
 * Limits how many bytes of bodies the process holds, in whatever state they are. Nobody gets more than half of it, so
 * that one who sends a lot slowly leaves room for others.
 */
export class ByteBudget {
  #limit: number;
  readonly #owners = new Map<string, OwnerBytes>();
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
    const own = (this.#owners.get(owner)?.held ?? 0) + bytes;
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
    const ofOwner: OwnerBytes = this.#owners.get(owner) ?? { held: 0, holds: 0 };
    this.#owners.set(owner, ofOwner);
    ofOwner.holds += 1;
    return new OpenHold(this, owner);
  }

  /**
   * Counts bytes that an owner has on top, or less.
   *
   * @throws {@link RouterError} 503 when there is no room for more.
   */
  change(owner: string, bytes: number): void {
    if (bytes > 0) this.check(owner, bytes);
    this.#held += bytes;
    const ofOwner = this.#owners.get(owner);
    if (ofOwner !== undefined) ofOwner.held += bytes;
  }

  /** Ends a hold of an owner, whose bytes are none by now. */
  close(owner: string): void {
    const ofOwner = this.#owners.get(owner);
    if (ofOwner === undefined) return;
    ofOwner.holds -= 1;
    if (ofOwner.holds === 0) this.#owners.delete(owner);
  }
}

class OpenHold implements ByteHold {
  readonly #budget: ByteBudget;
  readonly #owner: string;
  #bytes = 0;
  #isReleased = false;

  constructor(budget: ByteBudget, owner: string) {
    this.#budget = budget;
    this.#owner = owner;
  }

  set(bytes: number): void {
    if (this.#isReleased || bytes === this.#bytes) return;
    this.#budget.change(this.#owner, bytes - this.#bytes);
    this.#bytes = bytes;
  }

  add(bytes: number): void {
    this.set(this.#bytes + bytes);
  }

  release(): void {
    if (this.#isReleased) return;
    this.set(0);
    this.#isReleased = true;
    this.#budget.close(this.#owner);
  }
}
