/** Limits concurrent requests and the memory of their bodies. */
import { fullError, shareError } from '../../core/limits/limit-errors.ts';
import type { AccountNumber, ShareRule } from '../../core/limits/share.ts';
import { Shares } from '../limits/shares.ts';

/** A place among the requests that are handled at the same time. */
export interface RequestSlot {
  /** Gives the place back. May be called more than once. */
  leave(): void;
}

/**
 * Limits how many requests are handled at a time, in all and of one account; what comes on top is refused at once instead
 * of queueing up.
 */
export class Concurrency {
  readonly #places: Shares;
  readonly #what: string;
  /** Called when a place becomes free, for those who wait for one. */
  onFree: (() => void) | undefined;

  /**
   * @param what - What there are places for, as the error says it.
   * @param rule - What one account may have. Default: half.
   */
  constructor(limit: number, what = 'requests', rule: ShareRule = {}) {
    this.#places = new Shares(limit, rule);
    this.#what = what;
  }

  /** Changes how many places there are. Nobody who has one loses it. */
  resize(limit: number): void {
    this.#places.resize(limit);
  }

  /** Says how many accounts there can be: one alone may have all places. */
  divide(accounts: AccountNumber): void {
    this.#places.divide(accounts);
  }

  get inside(): number {
    return this.#places.held;
  }

  /**
   * Refuses who would find no place.
   *
   * @param owner - Id of the account.
   * @throws {@link RouterError} 429 when the account has its share; 503 when no place is free.
   */
  check(owner: string): void {
    const verdict = this.#places.verdict(owner, 1);
    if (verdict === 'share') throw shareError(this.#places.share, this.#what);
    if (verdict === 'full') throw fullError(this.#places.limit, this.#what);
  }

  /**
   * Takes a place.
   *
   * @param owner - Id of the account.
   * @throws {@link RouterError} 429 when the account has its share; 503 when none is free.
   */
  enter(owner: string): RequestSlot {
    this.check(owner);
    return this.#take(owner);
  }

  /**
   * Takes a place for work that can wait, if so many stay free for work that cannot. It counts to what its account has,
   * and is not limited by it.
   *
   * @param keepFree - Places that are not for this kind of work.
   */
  tryEnter(owner: string, keepFree: number): RequestSlot | undefined {
    return this.inside + keepFree < this.#places.limit ? this.#take(owner) : undefined;
  }

  #take(owner: string): RequestSlot {
    this.#places.change(owner, 1);
    return new TakenSlot(this, owner);
  }

  /** Frees the place of a slot. */
  free(owner: string): void {
    this.#places.change(owner, -1);
    this.onFree?.();
  }
}

class TakenSlot implements RequestSlot {
  readonly #of: Concurrency;
  readonly #owner: string;
  #hasLeft = false;

  constructor(of: Concurrency, owner: string) {
    this.#of = of;
    this.#owner = owner;
  }

  leave(): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    this.#of.free(this.#owner);
  }
}

/** Bytes that one reader has in its hands. */
export interface ByteHold {
  /**
   * Says how many bytes it has now.
   *
   * @throws {@link RouterError} 429 or 503 when there is no room for more. What it had before stays counted.
   */
  set(bytes: number): void;
  /** Says that it has these on top; otherwise like {@link ByteHold.set}. */
  add(bytes: number): void;
  /** Has none any more. May be called more than once. */
  release(): void;
}

/**
 * Limits how many bytes of bodies the process holds, in whatever state they are. One account gets half of it at most, so
 * that one who sends a lot slowly leaves room for others.
 */
export class ByteBudget {
  readonly #bytes: Shares;

  /** @param unit - Bytes of one body, for which there is room in any share. Default 1. */
  constructor(limit: number, unit?: number) {
    this.#bytes = new Shares(limit, { unit });
  }

  /** Changes how many bytes there is room for. What is held stays. */
  resize(limit: number): void {
    this.#bytes.resize(limit);
  }

  /** Says how many accounts there can be: one alone may have all of it. */
  divide(accounts: AccountNumber): void {
    this.#bytes.divide(accounts);
  }

  get held(): number {
    return this.#bytes.held;
  }

  /**
   * Refuses what would not find room, before it is sent.
   *
   * @param owner - Id of the account.
   * @throws {@link RouterError} 429 when the account has its share; 503 when others have the rest.
   */
  check(owner: string, bytes: number): void {
    const verdict = this.#bytes.verdict(owner, bytes);
    if (verdict === 'share') throw shareError(this.#bytes.share, BODIES);
    if (verdict === 'full') throw fullError(this.#bytes.limit, BODIES);
  }

  /** A hold without bytes. */
  open(owner: string): ByteHold {
    return new OpenHold(this, owner);
  }

  /**
   * Counts bytes that an account has on top, or less.
   *
   * @throws {@link RouterError} 429 or 503 when there is no room for more.
   */
  change(owner: string, bytes: number): void {
    if (bytes > 0) this.check(owner, bytes);
    this.#bytes.change(owner, bytes);
  }
}

const BODIES = 'bytes of request bodies';

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
  }
}
