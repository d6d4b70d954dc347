/** Lets a limited number of things happen at the same time, with turns for each account. */
import { shareOf } from '../../core/limits/share.ts';
import { ANONYMOUS } from '../../contracts/account.ts';

/** Something that waits for its turn. */
interface Waiting {
  readonly account: string;
  readonly begin: () => void;
}

/**
 * Places for work that is done one after the other, such as reading files in threads. One account has half of the places
 * at most, and the accounts that wait take turns: however much one of them wants, the next to come waits for one piece of
 * work of each.
 */
export class FairTurns {
  readonly #places: number;
  readonly #running = new Map<string, number>();
  #inside = 0;
  /** Who waits, by account; the account that was served last is at the end. */
  readonly #waiting = new Map<string, Waiting[]>();

  constructor(places: number) {
    this.#places = places;
  }

  /**
   * Does something when it is its turn.
   *
   * @param account - For whom. Nobody in particular may have all places.
   * @throws The signal's reason when it is aborted before; then it is not done at all.
   */
  take<Value>(account: string | undefined, signal: AbortSignal, run: () => Promise<Value>): Promise<Value> {
    return this.#taken(account ?? ANONYMOUS.id, signal, run);
  }

  async #taken<Value>(account: string, signal: AbortSignal, run: () => Promise<Value>): Promise<Value> {
    await this.#turn(account, signal);
    try {
      return await run();
    } finally {
      this.#count(account, -1);
      this.#serve();
    }
  }

  #turn(account: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#forget(waiting);
        reject(signal.reason as Error);
      };
      const begin = (): void => {
        signal.removeEventListener('abort', leave);
        this.#count(account, 1);
        resolve();
      };
      const waiting: Waiting = { account, begin };
      signal.addEventListener('abort', leave, { once: true });
      const own = this.#waiting.get(account);
      if (own === undefined) this.#waiting.set(account, [waiting]);
      else own.push(waiting);
      this.#serve();
    });
  }

  /** Lets those begin for whom there is a place, an account after the other. */
  #serve(): void {
    for (const [account, [first]] of this.#waiting) {
      if (this.#inside >= this.#places) return;
      const most = account === ANONYMOUS.id ? this.#places : shareOf(this.#places, {});
      if (first === undefined || (this.#running.get(account) ?? 0) >= most) continue;
      this.#forget(first);
      // At the end of the line, where this loop comes to it again.
      const rest = this.#waiting.get(account);
      this.#waiting.delete(account);
      if (rest !== undefined) this.#waiting.set(account, rest);
      first.begin();
    }
  }

  #forget(waiting: Waiting): void {
    const own = this.#waiting.get(waiting.account);
    const at = own?.indexOf(waiting) ?? -1;
    if (own === undefined || at < 0) return;
    own.splice(at, 1);
    if (own.length === 0) this.#waiting.delete(waiting.account);
  }

  #count(account: string, by: number): void {
    this.#inside += by;
    const running = (this.#running.get(account) ?? 0) + by;
    if (running === 0) this.#running.delete(account);
    else this.#running.set(account, running);
  }
}
