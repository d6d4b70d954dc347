/** Shares pacing and hedging among the requests of a process. */
import type { AccountNumber } from '../../core/limits/share.ts';
import {
  EMPTY_HEDGE_BUDGET,
  type HedgePolicy,
  type HedgeBudget,
  budgetAfterAnswer,
  budgetAfterHedge,
  budgetAfterLoser,
  mayRescue,
  NO_RESCUES,
  type Rescues,
  rescuesNow,
} from '../../core/selection/adaptive/hedge.ts';
import { Shares } from '../limits/shares.ts';
import { boundedMap } from '../../storage/memory.ts';
import { bucketAfterRequest, type PacerPolicy, type RetryBucket } from '../../core/selection/adaptive/pacer.ts';

/** Notes which call was given up for the other of a hedge, and what it cost; undefined when none was. */
export type SettleHedge = (loser: { readonly usd: number | undefined; readonly isFirst: boolean } | undefined) => void;

/** What requests of one process share among each other: places to wait in, retries after refusals, the budget for hedges. */
export class SharedPacing {
  readonly #pacer: PacerPolicy | false;
  readonly #hedge: HedgePolicy | false;
  /** Requests that wait for a place; how many may depends on the endpoints of each. */
  readonly #waiting = new Shares(0);
  readonly #held = new Shares(MOST_HELD);
  #rescues: Rescues = NO_RESCUES;
  /**
   * Requests that wait until an endpoint has fewer of our calls, by account, each in the order of arrival. The account
   * that was served last is at the end.
   */
  readonly #queue = new Map<string, Set<WaitingTurn>>();
  /** By account, those that are not full: nobody uses up the retries of others. */
  readonly #buckets = boundedMap<RetryBucket>(MOST_BUCKETS);
  #hedgeBudget: HedgeBudget = EMPTY_HEDGE_BUDGET;

  constructor(pacer: PacerPolicy | false, hedge: HedgePolicy | false) {
    this.#pacer = pacer;
    this.#hedge = hedge;
  }

  /** Says how many accounts there can be: one alone may have all places to wait in. */
  divide(accounts: AccountNumber): void {
    this.#waiting.divide(accounts);
    this.#held.divide(accounts);
  }

  /**
   * Milliseconds that a request may wait for a place because no endpoint is free; 0 when enough others do, or as many of
   * its account as may.
   *
   * @param account - Id of its account.
   * @param waitedMs - What it has waited so far.
   * @param perSecond - Calls that all endpoints of the request together take. Called only where others wait.
   */
  slotWaitMs(account: string, waitedMs: number, perSecond: () => number): number {
    if (this.#pacer === false) return 0;
    const { queueSeconds } = this.#pacer;
    const mayBeFull = this.#waiting.held > 0 || queueSeconds === 0;
    if (mayBeFull) {
      this.#waiting.resize(Math.ceil(queueSeconds * perSecond()));
      if (this.#waiting.verdict(account, 1) !== 'granted') return 0;
    }
    return Math.max(0, this.#pacer.maxWaitMs - waitedMs);
  }

  /**
   * Milliseconds that a request may wait for a place where its prompt is cached although another endpoint is free: 0 while
   * others wait because none is, and while refusals use up the retries that those need who have nowhere else to go.
   */
  warmWaitMs(account: string, waitedMs: number): number {
    if (this.#pacer === false || this.#waiting.held > 0) return 0;
    if (this.#retriesOf(account) < this.#pacer.mostRetries / 2) return 0;
    return Math.max(0, this.#pacer.warmWaitMs - waitedMs);
  }

  /** Waits inside; the result leaves. */
  enter(account: string): () => void {
    this.#waiting.change(account, 1);
    return () => this.#waiting.change(account, -1);
  }

  /** Whether one more request may be held back where calls fail; the others are better told so at once. */
  mayHold(account: string): boolean {
    return this.#held.verdict(account, 1) === 'granted';
  }

  /** Is held back from now on; the result ends that. */
  hold(account: string): () => void {
    this.#held.change(account, 1);
    return () => this.#held.change(account, -1);
  }

  /** Takes a place behind all of its account that wait for their turn; accounts take turns. */
  queue(account: string): WaitingTurn {
    const turn = new WaitingTurn(account);
    const own = this.#queue.get(account);
    if (own === undefined) this.#queue.set(account, new Set([turn]));
    else own.add(turn);
    return turn;
  }

  /** Leaves the queue, so that the next one may look whether there is a place. */
  leave(turn: WaitingTurn): void {
    const { account } = turn;
    const own = this.#queue.get(account);
    if (own?.delete(turn) !== true) return;
    this.#queue.delete(account);
    if (own.size > 0) this.#queue.set(account, own);
    this.#firstTurn()?.call();
  }

  /** Whether others have waited for longer. */
  isBehind(turn: WaitingTurn | undefined): boolean {
    const first = this.#firstTurn();
    return first !== undefined && first !== turn;
  }

  #firstTurn(): WaitingTurn | undefined {
    for (const [turn] of this.#queue.values()) return turn;
    return undefined;
  }

  /** Makes a second call for a request whose first may not answer, if there may be one more of these. */
  mayRescue(now: number): boolean {
    this.#rescues = rescuesNow(this.#rescues, now);
    return mayRescue(this.#rescues);
  }

  /**
   * Notes such a call.
   *
   * @param answerShare - How likely the first one would have answered: beside calls that fail anyway there may be any.
   */
  rescue(answerShare: number): void {
    this.#rescues = { ...this.#rescues, rescues: this.#rescues.rescues + answerShare };
  }

  /** Notes a request of an account. */
  request(account: string, now: number): void {
    this.#rescues = rescuesNow(this.#rescues, now, 1);
    const bucket = this.#buckets.size === 0 ? undefined : this.#buckets.get(account);
    if (this.#pacer === false || bucket === undefined) return;
    const next = bucketAfterRequest(bucket, this.#pacer);
    if (next.retries >= this.#pacer.mostRetries) this.#buckets.delete(account);
    else this.#buckets.set(account, next);
  }

  /** Notes an answer and what its provider charges for it; `undefined` where that is unknown. */
  answered(usd: number | undefined): void {
    if (this.#hedge !== false) this.#hedgeBudget = budgetAfterAnswer(this.#hedgeBudget, this.#hedge, countable(usd));
  }

  /** Whether another endpoint may be called after one that refused. */
  mayRetryRefusal(account: string): boolean {
    return this.#retriesOf(account) >= 1;
  }

  retryRefusal(account: string): void {
    if (this.#pacer !== false) this.#buckets.set(account, { retries: this.#retriesOf(account) - 1 });
  }

  #retriesOf(account: string): number {
    const full = this.#pacer === false ? Infinity : this.#pacer.mostRetries;
    return this.#buckets.get(account)?.retries ?? full;
  }

  /**
   * Sets aside what a hedge may cost, if there is enough.
   *
   * @param callsUsd - What each of its two calls costs when it is given up.
   * @param answerShare - How likely the first of them, which is late, answers after all: given up otherwise, it is no loss.
   * @returns What puts back in the end what was not needed; undefined when there is not enough.
   */
  payHedge(callsUsd: readonly (number | undefined)[], answerShare: number): SettleHedge | undefined {
    const setAsideUsd = answerShare * Math.max(...callsUsd.map(countable));
    const hedgeBudget = budgetAfterHedge(this.#hedgeBudget, setAsideUsd);
    if (hedgeBudget === undefined) return undefined;
    this.#hedgeBudget = hedgeBudget;
    return (loser) => {
      const lostUsd = loser === undefined ? 0 : countable(loser.usd) * (loser.isFirst ? answerShare : 1);
      this.#hedgeBudget = budgetAfterLoser(this.#hedgeBudget, setAsideUsd, lostUsd);
    };
  }
}

/** The turn of a request that waits. */
export class WaitingTurn {
  readonly account: string;
  #onCall: (() => void) | undefined;

  constructor(account: string) {
    this.account = account;
  }

  /** Resolves when its turn may have come. */
  get called(): Promise<void> {
    return new Promise((resolve) => (this.#onCall = resolve));
  }

  /** Lets it look. */
  call(): void {
    this.#onCall?.();
  }
}

/** Accounts whose retries are counted; who is not among them has all. */
const MOST_BUCKETS = 1_000;

/** Requests that are held back at a time. */
const MOST_HELD = 250;

/** Where nothing costs anything, or costs are unknown, requests are counted instead. */
const UNIT_USD = 1e-6;

function countable(usd: number | undefined): number {
  return usd === undefined || usd <= 0 ? UNIT_USD : usd;
}
