import {
  EMPTY_PURSE,
  type HedgePolicy,
  type HedgePurse,
  purseAfterHedge,
  purseAfterRequest,
} from '../../core/selection/adaptive/hedge.ts';
import { bucketAfterRequest, type PacerPolicy, type RetryBucket } from '../../core/selection/adaptive/pacer.ts';

/** What requests of one process share among each other: places to wait in, retries after refusals, the budget for hedges. */
export class SharedPacing {
  readonly #pacer: PacerPolicy | false;
  readonly #hedge: HedgePolicy | false;
  #waiting = 0;
  #bucket: RetryBucket;
  #purse: HedgePurse = EMPTY_PURSE;

  constructor(pacer: PacerPolicy | false, hedge: HedgePolicy | false) {
    this.#pacer = pacer;
    this.#hedge = hedge;
    this.#bucket = { retries: pacer === false ? Infinity : pacer.mostRetries };
  }

  /**
   * Whether one more request may wait for a place.
   *
   * @param perSecond - Calls that all endpoints of the request together take.
   */
  mayWait(perSecond: number): boolean {
    return this.#pacer !== false && this.#waiting < this.#pacer.queueSeconds * perSecond;
  }

  /** Waits inside; the result leaves. */
  enter(): () => void {
    this.#waiting += 1;
    return () => void (this.#waiting -= 1);
  }

  /** Notes a request and what it is expected to cost; `undefined` where that is unknown. */
  request(expectedUsd: number | undefined): void {
    if (this.#pacer !== false) this.#bucket = bucketAfterRequest(this.#bucket, this.#pacer);
    if (this.#hedge !== false) this.#purse = purseAfterRequest(this.#purse, this.#hedge, countable(expectedUsd));
  }

  /** Whether another endpoint may be asked after one that refused. */
  get mayRetryRefusal(): boolean {
    return this.#bucket.retries >= 1;
  }

  retryRefusal(): void {
    this.#bucket = { retries: this.#bucket.retries - 1 };
  }

  /** Pays for a hedge, if there is enough. */
  payHedge(expectedUsd: number | undefined): boolean {
    const purse = purseAfterHedge(this.#purse, countable(expectedUsd));
    if (purse === undefined) return false;
    this.#purse = purse;
    return true;
  }
}

/** Where nothing costs anything, or costs are unknown, requests are counted instead. */
const UNIT_USD = 1e-6;

function countable(usd: number | undefined): number {
  return usd === undefined || usd <= 0 ? UNIT_USD : usd;
}
