/** Collects the requests under way for all open pages of the inspector. */
import type { InspectedRouter } from '../../config/inspector.ts';
import type { PendingRecord } from '../../core/ledger/pending-record.ts';
import type { Environment, Timer } from '../../platform/environment.ts';
import type { RoutedRequest } from '../../contracts/request.ts';
import type { AnswerFacts } from '../../runtime/chat/attempt-call.ts';
import type { BegunAttempt, RequestFollower } from '../../runtime/events/request-follower.ts';
import { nanoFromUsd } from '../../catalog/cost.ts';
import { reasonOf } from '../../core/ledger/write-record.ts';
import { shownTags } from './live-row.ts';
import type { LiveAttempt, LiveRow, LiveTotals } from './wire.ts';
import type { Attempt } from '../../core/fallback/attempt.ts';
import type { Recorded } from '../../runtime/chat/answer.ts';

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
const MOST_FOLLOWED = 64;
/** The same where a page filters, and so may find what it looks for only among many. */
const MOST_FILTERED = 500;
/** Milliseconds that the hub goes on listening when the last page is gone, for pages that come back. */
const LINGER_MS = 15_000;

type Changing<Value> = { -readonly [Name in keyof Value]: Value[Name] };

/** What is looked at of an upstream call. */
interface ObservedCall {
  readonly attempt: number;
  readonly startedAt: number;
  readonly firstTokenAt: number;
}

/** A request while it runs. Changed in place: it is read a few times a second, and written for each event. */
interface Row extends Changing<Omit<LiveRow, 'attempts'>> {
  readonly attempts: Changing<LiveAttempt>[];
}

/** What a row shows of a request itself, which a request and what the ledger notes of a refused one both have. */
type RowFacts = Pick<RoutedRequest, 'id' | 'account' | 'requested' | 'stream' | 'metadata'>;

/**
 * Follows requests while pages are open. Listens to nothing while none is, so requests then cost nothing more. All pages
 * read from the one list that this keeps, whose size is bounded.
 */
export class LiveHub implements RequestFollower {
  readonly #router: Pick<InspectedRouter, 'internals'>;
  readonly #environment: Environment;
  /** What the clock that never goes back lacks to the time of day. */
  readonly #offset: number;
  readonly #tags: (metadata: RowFacts['metadata']) => LiveRow['tags'];
  /** Tells the lists of one hub from those of another, after a restart for example. */
  readonly epoch: string;
  readonly #running = new Map<string, Row>();
  #ended: (Row | undefined)[] = [];
  /** Number of the first of `#ended`. */
  #first = 0;
  readonly #totals: Changing<LiveTotals> = { requests: 0, failed: 0, cost_nano_usd: 0, unpriced: 0, tokens: 0 };
  readonly #waiting = new Set<() => void>();
  /** Followed since the last update. */
  #followed = 0;
  /** Under way and not followed. */
  #others = 0;
  #passedOver = 0;
  #pages = 0;
  /** Pages that filter. */
  #filtering = 0;
  #stop: (() => void) | undefined;
  #isTicking = false;
  #lingering: Timer | undefined;

  constructor(router: InspectedRouter) {
    const { internals } = router;
    this.#router = router;
    this.#environment = internals.config.environment;
    this.#offset = this.#environment.wallClock() - this.#environment.now();
    const tags = (metadata: RowFacts['metadata']): LiveRow['tags'] =>
      shownTags(router.internals.config.ledger?.tags ?? [], metadata);
    this.#tags = tags;
    this.epoch = this.#environment.randomText(8);
  }

  /**
   * Notes that a page is open; to be ended by the function that it gives.
   *
   * @param scope - `filtered` where the page looks for certain requests.
   */
  open(scope: 'everything' | 'filtered'): () => void {
    this.#pages += 1;
    if (scope === 'filtered') this.#filtering += 1;
    if (this.#lingering !== undefined) this.#environment.clearTimer(this.#lingering);
    this.#lingering = undefined;
    this.#stop ??= this.#router.internals.services.events.follow(this);
    if (!this.#isTicking) this.#environment.setTimer(this.#tick, TICK_MS);
    this.#isTicking = true;
    let open = true;
    return () => {
      if (!open) return;
      open = false;
      this.#pages -= 1;
      if (scope === 'filtered') this.#filtering -= 1;
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

  begins(request: RoutedRequest): void {
    if (this.#running.size < MOST_RUNNING && this.#hasRoom()) {
      const row = this.#rowOf(request, 0);
      row.parent = request.within?.parent;
      row.mirror = request.within?.mirror;
      this.#running.set(request.id, row);
    } else this.#others += 1;
  }

  attemptStarts({ id }: RoutedRequest, { step: { endpoint }, attempt, hedge }: BegunAttempt): void {
    const row = this.#running.get(id);
    if (row === undefined) return;
    row.model = endpoint.model;
    row.provider = endpoint.provider;
    row.attempts[attempt - 1] = {
      endpoint: endpoint.id,
      start_ms: this.#now() - row.at,
      first_token_ms: undefined,
      end_ms: undefined,
      outcome: undefined,
      hedge: hedge || undefined,
    };
  }

  firstToken({ id }: RoutedRequest, { attempt, startedAt, firstTokenAt }: ObservedCall): void {
    const known = this.#running.get(id)?.attempts[attempt - 1];
    if (known !== undefined) known.first_token_ms = known.start_ms + firstTokenAt - startedAt;
  }

  attemptEnds({ id }: RoutedRequest, call: ObservedCall, { startedAt, endedAt, outcome }: Attempt): void {
    const known = this.#running.get(id)?.attempts[call.attempt - 1];
    if (known === undefined) return;
    known.end_ms = known.start_ms + endedAt - startedAt;
    if (outcome.ok) known.first_token_ms = known.start_ms + call.firstTokenAt - call.startedAt;
    known.outcome = outcome.ok ? 'ok' : outcome.failure.kind;
  }

  answered(execution: Recorded, { endpoint }: Pick<Attempt['step'], 'endpoint'>, facts: AnswerFacts): void {
    const { usage } = facts;
    this.#totals.requests += 1;
    const cost = this.#charge(execution, usage.cost === undefined ? undefined : nanoFromUsd(usage.cost));
    this.#totals.tokens += usage.total_tokens;
    const row = this.#taken(execution, 'answered');
    if (row === undefined) {
      this.#passedOver += 1;
      return;
    }
    row.model = endpoint.model;
    row.provider = endpoint.provider;
    row.status = 200;
    row.prompt_tokens = usage.prompt_tokens;
    row.completion_tokens = usage.completion_tokens;
    row.cached_tokens = usage.prompt_tokens_details?.cached_tokens ?? undefined;
    row.cost_nano_usd = cost;
    this.#keep(row);
  }

  failed(execution: Recorded, { status, errorType }: { readonly status: number; readonly errorType: string }): void {
    this.#totals.requests += 1;
    this.#totals.failed += 1;
    const cost = this.#charge(execution, 0);
    const row = this.#taken(execution, 'failed');
    if (row === undefined) return;
    row.cost_nano_usd = cost;
    const last = execution.attempts.at(-1)?.step.endpoint;
    row.model = last?.model ?? row.model;
    row.provider = last?.provider ?? row.provider;
    row.status = status;
    row.error_type = errorType;
    this.#keep(row);
  }

  refused({ request, startedAt, endedAt, error }: PendingRecord): void {
    const row = this.#rowOf(request, endedAt - startedAt);
    row.parent = request.parent;
    row.mirror = request.mirror;
    row.duration_ms = endedAt - startedAt;
    row.status = error?.status;
    row.error_type = error?.errorType;
    row.reason = reasonOf({ error, attempts: [], works: [] }).reason;
    row.cost_nano_usd = 0;
    this.#totals.requests += 1;
    this.#totals.failed += 1;
    this.#keep(row);
  }

  /**
   * Adds what a request cost to the totals: its attempts, as the ledger has them; undefined where a price is unknown.
   *
   * @param answer - What the answer cost, where nobody has counted what attempts did.
   */
  #charge({ attempts }: Recorded, answer: number | undefined): number | undefined {
    let cost: number | undefined = answer;
    if (this.#router.internals.services.ledger !== undefined) {
      cost = 0;
      for (const { chargedNanoUsd } of attempts) {
        if (chargedNanoUsd === undefined) cost = undefined;
        else if (cost !== undefined) cost += chargedNanoUsd;
        this.#totals.cost_nano_usd += chargedNanoUsd ?? 0;
      }
    } else this.#totals.cost_nano_usd += answer ?? 0;
    if (cost === undefined) this.#totals.unpriced += 1;
    return cost;
  }

  #now(): number {
    return this.#environment.now() + this.#offset;
  }

  /** Whether one more may be followed until the next update; it counts then. A page that comes back may filter. */
  #hasRoom(): boolean {
    const most = this.#filtering > 0 || this.#pages === 0 ? MOST_FILTERED : MOST_FOLLOWED;
    if (this.#followed >= most) return false;
    this.#followed += 1;
    return true;
  }

  /** The row of a request that has ended. Of those that were not followed, failures always have one. */
  #taken({ request, startedAt, attempts }: Recorded, outcome: 'answered' | 'failed'): Row | undefined {
    const durationMs = this.#environment.now() - startedAt;
    let row = this.#running.get(request.id);
    if (row === undefined) {
      this.#others = Math.max(0, this.#others - 1);
      if (outcome === 'answered' && !this.#hasRoom()) return undefined;
      row = this.#rowOf(request, durationMs);
      row.parent = request.within?.parent;
      row.mirror = request.within?.mirror;
      row.attempts.push(...attempts.map((attempt) => liveAttempt(attempt, startedAt)));
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

  #rowOf({ id, account, requested, stream, metadata }: RowFacts, agoMs: number): Row {
    return {
      id,
      at: this.#now() - agoMs,
      account: account.id,
      requested,
      stream,
      parent: undefined,
      mirror: undefined,
      tags: metadata && this.#tags(metadata),
      attempts: [],
      // What is known later has its place from the beginning: a row that grows is moved several times.
      model: undefined,
      provider: undefined,
      duration_ms: undefined,
      status: undefined,
      error_type: undefined,
      reason: undefined,
      prompt_tokens: undefined,
      completion_tokens: undefined,
      cached_tokens: undefined,
      cost_nano_usd: undefined,
    };
  }
}

/** A call of which only the end is seen. */
function liveAttempt({ step, startedAt, firstTokenAt, endedAt, outcome, hedge }: Attempt, since: number): LiveAttempt {
  return {
    endpoint: step.endpoint.id,
    start_ms: startedAt - since,
    first_token_ms: firstTokenAt === undefined ? undefined : firstTokenAt - since,
    end_ms: endedAt - since,
    outcome: outcome.ok ? 'ok' : outcome.failure.kind,
    hedge: hedge === true ? hedge : undefined,
  };
}
