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

  /** Requests under way, the oldest first. */
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
    this.#first = this.end;
    this.#ended = [];
  }

  readonly #tick = (): void => {
    if (this.#pages > 0) this.#environment.setTimer(this.#tick, TICK_MS);
    else this.#isTicking = false;
    this.#wake();
  };

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }

  readonly #onRequest = ({ request }: RequestEvent): void => {
    if (this.#running.size < MOST_RUNNING) this.#running.set(request.id, this.#rowOf(request, 0));
  };

  readonly #onAttemptStart = ({ request, attempt, endpoint, model, provider, hedge }: AttemptStartEvent): void => {
    const row = this.#running.get(request.id);
    if (row === undefined) return;
    row.model = model;
    row.provider = provider;
    const start_ms = this.#now() - row.at;
    row.attempts[attempt - 1] = { endpoint, start_ms, ...(hedge === true ? { hedge } : {}) };
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
    const row = this.#taken(request, durationMs);
    row.model = model;
    row.provider = provider;
    row.status = 200;
    row.prompt_tokens = usage.prompt_tokens;
    row.completion_tokens = usage.completion_tokens;
    row.cached_tokens = usage.prompt_tokens_details?.cached_tokens ?? undefined;
    row.cost_nano_usd = costParts?.reduce((sum, { nanoUsd }) => sum + nanoUsd, 0) ?? nanoFromUsd(usage.cost ?? 0);
    this.#totals.cost_nano_usd += row.cost_nano_usd;
    this.#totals.tokens += usage.total_tokens;
    this.#keep(row);
  };

  readonly #onError = ({ request, model, provider, durationMs, status, errorType }: ErrorEvent): void => {
    const row = this.#taken(request, durationMs);
    row.model = model ?? row.model;
    row.provider = provider ?? row.provider;
    row.status = status;
    row.error_type = errorType;
    this.#totals.failed += 1;
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
    this.#totals.failed += 1;
    this.#keep(row);
  };

  #now(): number {
    return this.#environment.now() + this.#offset;
  }

  /** The row of a request that has ended, also of one whose beginning nobody saw. */
  #taken(request: RequestFacts, durationMs: number): Row {
    const row = this.#running.get(request.id) ?? this.#rowOf(request, durationMs);
    this.#running.delete(request.id);
    row.duration_ms = durationMs;
    return row;
  }

  #keep(row: Row): void {
    this.#totals.requests += 1;
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
    };
  }
}
