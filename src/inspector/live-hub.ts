import type { InspectedRouter } from '../config/inspector.ts';
import type { RequestDraft } from '../core/ledger/draft.ts';
import type { Environment, Timer } from '../platform/environment.ts';
import {
  type AttemptEvent,
  type AttemptStartEvent,
  type ErrorEvent,
  type FirstTokenEvent,
  listen,
  type RequestFacts,
  type RequestEvent,
  type ResultEvent,
} from '../runtime/chat/events.ts';
import { nanoFromUsd } from '../catalog/cost.ts';
import { tagsOf } from './tags.ts';
import type { LiveAttempt, LiveRow, LiveTotals } from './wire.ts';

/** Milliseconds between two updates of a page. */
const TICK_MS = 300;
/** Requests that ended and are kept, so that a page that comes back misses none. */
const MOST_ENDED = 2_000;
/** Requests under way that are followed. Of more than these only the end is seen. */
const MOST_RUNNING = 5_000;
/**
 * Requests that are followed from one update to the next, which shows a few of them. The others of a busy router are
 * counted, and those that fail are kept; so watching costs a bounded time however busy it is.
 */
const MOST_FOLLOWED = 500;
/** Milliseconds that the hub goes on listening when the last page is gone, for pages that come back. */
const LINGER_MS = 15_000;

type Changing<Value> = { -readonly [Name in keyof Value]: Value[Name] };

/** A request while it runs. Changed in place: it is read a few times a second, and written for each event. */
interface Row extends Changing<Omit<LiveRow, 'attempts'>> {
  readonly attempts: Changing<LiveAttempt>[];
}

/** What a row shows of a request itself. */
type RowFacts = Pick<RequestFacts, 'id' | 'account' | 'requested' | 'stream' | 'parent' | 'mirror' | 'metadata'>;

/**
 * Follows requests while pages are open. Listens to nothing while none is, so requests then cost nothing more. All pages
 * read from the one list that this keeps, whose size is bounded.
 */
export class LiveHub {
  readonly #router: Pick<InspectedRouter, 'on' | 'internals'>;
  readonly #environment: Environment;
  /** What the clock that never goes back lacks to the time of day. */
  readonly #offset: number;
  readonly #tags: (metadata: RequestFacts['metadata']) => LiveRow['tags'];
  /** Tells the lists of one hub from those of another, after a restart for example. */
  readonly epoch: string;
  readonly #running = new Map<string, Row>();
  #ended: (Row | undefined)[] = [];
  /** Number of the first of `#ended`. */
  #first = 0;
  readonly #totals: Changing<LiveTotals> = { requests: 0, failed: 0, cost_nano_usd: 0, tokens: 0 };
  readonly #waiting = new Set<() => void>();
  /** Followed since the last update. */
  #followed = 0;
  /** Under way and not followed. */
  #others = 0;
  #passedOver = 0;
  #pages = 0;
  #stop: (() => void) | undefined;
  #isTicking = false;
  #lingering: Timer | undefined;

  constructor(router: InspectedRouter) {
    const { internals } = router;
    this.#router = router;
    this.#environment = internals.config.environment;
    this.#offset = this.#environment.wallClock() - this.#environment.now();
    this.#tags = (metadata) => tagsOf(router.internals.config.ledger?.tags ?? [], metadata);
    this.epoch = this.#environment.randomText(8);
  }

  /** Notes that a page is open; to be ended by the function that it gives. */
  open(): () => void {
    this.#pages += 1;
    if (this.#lingering !== undefined) this.#environment.clearTimer(this.#lingering);
    this.#lingering = undefined;
    if (this.#stop === undefined) this.#listen();
    if (!this.#isTicking) this.#environment.setTimer(this.#tick, TICK_MS);
    this.#isTicking = true;
    let open = true;
    return () => {
      if (!open) return;
      open = false;
      this.#pages -= 1;
      // Nobody ticks any more when the last page is gone; who waits finds out that its page is.
      this.#wake();
      if (this.#pages === 0) this.#lingering = this.#environment.setTimer(() => this.#close(), LINGER_MS);
    };
  }

  /** Waits for the next update. */
  tick(): Promise<void> {
    return new Promise((resolve) => void this.#waiting.add(resolve));
  }

  /** Number behind the last request that ended. */
  get end(): number {
    return this.#first + this.#ended.length;
  }

  get totals(): LiveTotals {
    return this.#totals;
  }

  /** How many requests are under way. */
  get runningTotal(): number {
    return this.#running.size + this.#others;
  }

  /** Requests that were answered and not kept, because there were so many. */
  get passedOver(): number {
    return this.#passedOver;
  }

  /** Requests under way that are followed, the oldest first. */
  get running(): ReadonlyMap<string, LiveRow> {
    return this.#running;
  }

  /** Requests that ended, from a number on; those that are not kept any more are missing. */
  endedSince(number: number): readonly LiveRow[] {
    return this.#ended.slice(Math.max(0, number - this.#first)) as LiveRow[];
  }

  #listen(): void {
    const { ledger } = this.#router.internals.services;
    const stopRefusals = ledger?.onRefused(this.#onRefused);
    const stopEvents = listen(this.#router, {
      request: this.#onRequest,
      attempt_start: this.#onAttemptStart,
      first_token: this.#onFirstToken,
      attempt: this.#onAttempt,
      result: this.#onResult,
      error: this.#onError,
    });
    this.#stop = () => {
      stopEvents();
      stopRefusals?.();
    };
  }

  #close(): void {
    this.#lingering = undefined;
    this.#stop?.();
    this.#stop = undefined;
    this.#running.clear();
    this.#others = 0;
    this.#first = this.end;
    this.#ended = [];
  }

  readonly #tick = (): void => {
    if (this.#pages > 0) this.#environment.setTimer(this.#tick, TICK_MS);
    else this.#isTicking = false;
    this.#followed = 0;
    this.#wake();
  };

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }

  readonly #onRequest = ({ request }: RequestEvent): void => {
    if (this.#running.size < MOST_RUNNING && this.#followed < MOST_FOLLOWED) {
      this.#followed += 1;
      this.#running.set(request.id, this.#rowOf(request, 0));
    } else this.#others += 1;
  };

  readonly #onAttemptStart = ({ request, attempt, endpoint, model, provider, hedge }: AttemptStartEvent): void => {
    const row = this.#running.get(request.id);
    if (row === undefined) return;
    row.model = model;
    row.provider = provider;
    const start_ms = this.#now() - row.at;
    row.attempts[attempt - 1] = {
      endpoint,
      start_ms,
      first_token_ms: undefined,
      end_ms: undefined,
      outcome: undefined,
      hedge: hedge === true ? hedge : undefined,
    };
  };

  readonly #onFirstToken = ({ request, attempt, firstTokenMs }: FirstTokenEvent): void => {
    const known = this.#running.get(request.id)?.attempts[attempt - 1];
    if (known !== undefined) known.first_token_ms = known.start_ms + firstTokenMs;
  };

  readonly #onAttempt = ({ request, attempt, durationMs, firstTokenMs, failure }: AttemptEvent): void => {
    const known = this.#running.get(request.id)?.attempts[attempt - 1];
    if (known === undefined) return;
    known.end_ms = known.start_ms + durationMs;
    if (firstTokenMs !== undefined) known.first_token_ms = known.start_ms + firstTokenMs;
    known.outcome = failure?.kind ?? 'ok';
  };

  readonly #onResult = ({ request, model, provider, durationMs, usage, costParts }: ResultEvent): void => {
    const cost = costParts?.reduce((sum, { nanoUsd }) => sum + nanoUsd, 0) ?? nanoFromUsd(usage.cost ?? 0);
    this.#totals.requests += 1;
    this.#totals.cost_nano_usd += cost;
    this.#totals.tokens += usage.total_tokens;
    const row = this.#taken(request, durationMs, this.#followed < MOST_FOLLOWED);
    if (row === undefined) {
      this.#passedOver += 1;
      return;
    }
    row.model = model;
    row.provider = provider;
    row.status = 200;
    row.prompt_tokens = usage.prompt_tokens;
    row.completion_tokens = usage.completion_tokens;
    row.cached_tokens = usage.prompt_tokens_details?.cached_tokens ?? undefined;
    row.cost_nano_usd = cost;
    this.#keep(row);
  };

  readonly #onError = ({ request, model, provider, durationMs, status, errorType }: ErrorEvent): void => {
    this.#totals.requests += 1;
    this.#totals.failed += 1;
    const row = this.#taken(request, durationMs, true);
    if (row === undefined) return;
    row.model = model ?? row.model;
    row.provider = provider ?? row.provider;
    row.status = status;
    row.error_type = errorType;
    this.#keep(row);
  };

  /** No event tells of requests that are refused before they begin. */
  readonly #onRefused = ({ request, startedAt, endedAt, error }: RequestDraft): void => {
    const { id, account, requested, stream, parent, metadata } = request;
    const row = this.#rowOf({ id, account: account.id, requested, stream, parent, metadata }, endedAt - startedAt);
    row.duration_ms = endedAt - startedAt;
    row.status = error?.status;
    row.error_type = error?.errorType;
    row.cost_nano_usd = 0;
    this.#totals.requests += 1;
    this.#totals.failed += 1;
    this.#keep(row);
  };

  #now(): number {
    return this.#environment.now() + this.#offset;
  }

  /** The row of a request that has ended; where it was not followed, or nobody saw its beginning, if it is wanted. */
  #taken(request: RequestFacts, durationMs: number, isWanted: boolean): Row | undefined {
    let row = this.#running.get(request.id);
    if (row === undefined) {
      this.#others = Math.max(0, this.#others - 1);
      if (!isWanted) return undefined;
      row = this.#rowOf(request, durationMs);
    } else this.#running.delete(request.id);
    row.duration_ms = durationMs;
    return row;
  }

  #keep(row: Row): void {
    this.#ended.push(row);
    // Twice as many and then half away: nothing is moved for each single one.
    if (this.#ended.length < 2 * MOST_ENDED) return;
    this.#ended = this.#ended.slice(-MOST_ENDED);
    this.#first += MOST_ENDED;
  }

  #rowOf({ id, account, requested, stream, parent, mirror, metadata }: RowFacts, agoMs: number): Row {
    return {
      id,
      at: this.#now() - agoMs,
      account,
      requested,
      stream,
      parent,
      mirror,
      tags: metadata && this.#tags(metadata),
      attempts: [],
      // What is known later has its place from the beginning: a row that grows is moved several times.
      model: undefined,
      provider: undefined,
      duration_ms: undefined,
      status: undefined,
      error_type: undefined,
      prompt_tokens: undefined,
      completion_tokens: undefined,
      cached_tokens: undefined,
      cost_nano_usd: undefined,
    };
  }
}
