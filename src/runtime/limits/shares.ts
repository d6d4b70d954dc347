/** Counts who holds how much of something that all accounts share. */
import { type AccountNumber, mayHold, shareOf, type ShareRule, type ShareVerdict } from '../../core/limits/share.ts';

/**
 * Who holds how much of one thing: places, bytes, turns. Where there is only one account, it may have everything.
 */
export class Shares {
  #limit: number;
  readonly #rule: ShareRule;
  readonly #owners = new Map<string, number>();
  #held = 0;
  #isDivided = true;
  /** The only account so far, where there may be no other. */
  #only: string | undefined;

  constructor(limit: number, rule: ShareRule = {}) {
    this.#limit = limit;
    this.#rule = rule;
  }

  get limit(): number {
    return this.#limit;
  }

  get held(): number {
    return this.#held;
  }

  /** What one account may hold at most. */
  get share(): number {
    return this.#isDivided ? shareOf(this.#limit, this.#rule) : this.#limit;
  }

  /** Changes how much there is. What is held stays. */
  resize(limit: number): void {
    this.#limit = limit;
  }

  /** Says how many accounts there can be. Several until then, and from when a second one is seen. */
  divide(accounts: AccountNumber): void {
    this.#isDivided = accounts === 'several';
    this.#only = undefined;
  }

  /** What an account holds. */
  of(owner: string): number {
    return this.#owners.get(owner) ?? 0;
  }

  /**
   * Whether an account may hold more.
   *
   * @param spare - What others would give up for it. Default 0.
   */
  verdict(owner: string, more: number, spare = 0): ShareVerdict {
    const held = this.#held - spare;
    if (!this.#isDivided) {
      this.#only ??= owner;
      if (this.#only === owner) return held + more > this.#limit ? 'full' : 'granted';
      this.#isDivided = true;
    }
    return mayHold({ limit: this.#limit, held, own: this.of(owner) }, this.#rule, more);
  }

  /** Counts what an account holds on top, or less. */
  change(owner: string, by: number): void {
    this.#held += by;
    const own = this.of(owner) + by;
    if (own === 0) this.#owners.delete(owner);
    else this.#owners.set(owner, own);
  }
}
