/** Writes the ledger of a router in the background. */
import type { Ledger, LedgerCostQuery, LedgerQuery, LedgerRecord } from '../../contracts/ledger.ts';
import {
  drafted,
  type DraftedAnswer,
  draftedRefusal,
  type DraftedWork,
  type RefusedRequest,
  type PendingRecord,
  type DecisionContext,
} from '../../core/ledger/pending-record.ts';
import type { PendingRecords } from '../../core/ledger/pending-records.ts';
import type { RecordContext } from '../../core/ledger/write-record.ts';
import type { NormalizedRequest, RoutedRequest } from '../../contracts/request.ts';
import { knownPromptTokens } from '../../core/tokens/token-estimate.ts';
import type { Environment, Timer } from '../../platform/environment.ts';
import { hmacSha256 } from '../../platform/hash.ts';
import { andThen, type MaybePromise, onDemand, orElse, valueWithin } from '../../platform/wait.ts';
import { generationId } from '../../protocol/chat-result.ts';
import { type EventHub, warn } from '../events/events.ts';
import { CALLER_GONE, errorOfUnknown } from '../chat/router-errors.ts';
import type { PromptCacheReport } from '../../contracts/prompt-cache.ts';
import type { Attempt } from '../../core/fallback/attempt.ts';
import type { Dialing } from '../chat/attempt-call.ts';
import type { ColdCaches } from './cold-caches.ts';
import type { ContentOptions } from './kept-content.ts';
import type { Execution, Recorded, ShownBefore } from '../chat/answer.ts';

/** Records that wait to be written at most; more are dropped: a minute of 160 requests a second. */
const MAX_WAITING = 10_000;

/** Milliseconds for which records are collected, so that a store gets one statement a second and not one a request. */
const COLLECT_MS = 1_000;

/** What a router's ledger is made with. */
interface RequestLedgerOptions extends Pick<RecordContext, 'tags'> {
  readonly store: Ledger;
  /** Gives the secret of the hashes that stand for sessions, which may have to be drawn first. */
  readonly secret: () => string;
  readonly environment: Environment;
  readonly events: EventHub;
  /** Who keeps prompts and answers. Undefined: nobody. */
  readonly content?: ContentOptions | undefined;
}

/** With what a request was refused. */
type RefusalError = { readonly status: number; readonly errorType: string; readonly message?: string | undefined };

/** The ledger of a router, as its owner reads it: what was written, and what waits to be written. */
export type ReadableLedger = {
  readonly [Name in 'read' | 'one' | 'costs']: (
    ...query: Parameters<Ledger[Name]>
  ) => Promise<Awaited<ReturnType<Ledger[Name]>>>;
};

/** Milliseconds after which a store that does not answer counts as one that failed. */
const STORE_WAIT_MS = 10_000;
/** Milliseconds between two tries to write to a store that failed; they double up to the second. */
const RETRY_MS: readonly [number, number] = [1_000, 30_000];
/** Tries to write the rest when the router closes. */
const LAST_TRIES = 3;
/** Requests with plugins or tools that may be under way; what is beyond was never ended. */
const MOST_OPEN = 10_000;
const loadKeeping = onDemand(() => import('./kept-content.ts'));
const NO_WORKS: readonly DraftedWork[] = [];

/**
 * Notes what became of requests, and hands it to a store later. Noting copies numbers and references and nothing else;
 * records are written out when nobody waits for it: in batches, or, where a store only keeps them in memory, when somebody
 * reads.
 */
export class RequestLedger implements ReadableLedger {
  readonly #options: RequestLedgerOptions;
  /** What is not written out yet. Its code is loaded by the first request; those that end before it is there come first. */
  #drafts: PendingRecords | undefined;
  #early: PendingRecord[] = [];
  #loading: Promise<PendingRecords> | undefined;
  /** Hooks and tool calls of requests under way. */
  readonly #works = new Map<string, DraftedWork[]>();
  /** Written out, and refused by the store: they come again. */
  #pending: readonly LedgerRecord[] = [];
  #timer: Timer | undefined;
  #writing: Promise<boolean> | undefined;
  #failures = 0;
  #dropped = 0;
  /** The last prompts of sessions. */
  readonly #cold: () => MaybePromise<ColdCaches>;
  #isClosed = false;

  constructor(options: RequestLedgerOptions) {
    this.#options = options;
    const { secret, events } = options;
    this.#cold = onDemand(async () => (await import('./cold-caches.ts')).coldCaches(secret(), events));
  }

  /** Records that were dropped since the router began, because the store was too slow or away. */
  get dropped(): number {
    return this.#dropped;
  }

  /** How many drafts are not written out yet. */
  get #waiting(): number {
    return this.#drafts?.length ?? this.#early.length;
  }

  /**
   * Begins a request, and notes that it was refused where that fails.
   *
   * @param signal - Of the client: one that has disconnected was not refused.
   * @param refused - What is known of the request; undefined where somebody else notes it.
   */
  noting<Begun>(
    facts: DecisionContext,
    signal: AbortSignal | undefined,
    begin: () => MaybePromise<Begun>,
    refused: () => RefusedRequest | undefined,
  ): MaybePromise<Begun> {
    const startedAt = this.#options.environment.now();
    return orElse(begin, (error) => {
      const request = refused();
      const shown = signal?.aborted === true ? CALLER_GONE : errorOfUnknown(error);
      if (request !== undefined) this.refused(facts, startedAt, request, shown);
      throw error;
    });
  }

  /**
   * Lets a program keep the prompt and the answer of a request that requested it. What does that is loaded by the first
   * one.
   */
  keeping(execution: Execution): MaybePromise<Execution> {
    const { content, events } = this.#options;
    if (content === undefined) return execution;
    return andThen(loadKeeping(), ({ keepContent }) => keepContent(execution, content, events));
  }

  /**
   * Notes that a request was answered, and says why its prompt was not in its provider's cache.
   *
   * @param compared - What its prompt is compared by. Left out: nothing is compared.
   */
  answered(
    facts: DecisionContext,
    execution: Recorded,
    answer: DraftedAnswer,
    compared?: Parameters<ColdCaches['note']>[1],
  ): PromptCacheReport | undefined {
    // What compares is loaded by the first request: nothing is said of those meanwhile.
    const cold = compared && this.#cold();
    const prompt = compared && !(cold instanceof Promise) ? cold?.note(execution, compared) : undefined;
    this.#add(facts, execution, { answer, prompt });
    return prompt?.report;
  }

  /**
   * A call that lets its provider compare the prompt with the last of its session, where it does that.
   *
   * @param attempts - Those of the request that have ended.
   */
  comparing(dialing: Dialing<NormalizedRequest>, attempts: readonly Attempt[]): Dialing<NormalizedRequest> {
    const cold = this.#cold();
    return cold instanceof Promise ? dialing : cold.comparing(dialing, attempts);
  }

  /** Notes that a request failed, or that its caller disconnected. */
  failed(
    facts: DecisionContext,
    execution: Recorded,
    { status, errorType, message }: RefusalError,
    shown: ShownBefore,
  ): void {
    // What was called may have said anything; who was refused without a call is told in words of ours.
    const ours = execution.attempts.length === 0 ? message : undefined;
    this.#add(facts, execution, { error: { status, errorType, committed: shown === 'content', message: ours } });
  }

  /**
   * Notes that a request was refused before anything was planned. There is no event for such a request.
   *
   * @param startedAt - Monotonic milliseconds at which it came.
   */
  refused(facts: DecisionContext, startedAt: number, refused: RefusedRequest, error: RefusalError): void {
    const { environment, tags } = this.#options;
    const endedAt = environment.now();
    const at = environment.wallClock() - (endedAt - startedAt);
    const created = Math.floor(at / 1_000);
    const request = draftedRefusal(refused, { id: generationId(created, environment.randomText(20)), created }, tags);
    const { requested } = request;
    const { status, errorType, message } = error;
    const pendingRecord: PendingRecord = {
      at,
      startedAt,
      endedAt,
      facts,
      request,
      plan: { requested, steps: [], rejected: [] },
      attempts: [],
      works: NO_WORKS,
      refused: true,
      error: { status, errorType, committed: false, message },
    };
    this.#keep(pendingRecord);
    for (const follower of this.#options.events.followers) follower.refused(pendingRecord);
  }

  /** Notes a hook of a plugin or a call of a server tool. */
  worked(request: string, work: DraftedWork): void {
    const known = this.#works.get(request);
    if (known !== undefined) known.push(work);
    else {
      const [eldest] = this.#works.keys();
      if (this.#works.size >= MOST_OPEN && eldest !== undefined) this.#works.delete(eldest);
      this.#works.set(request, [work]);
    }
  }

  async read(query?: LedgerQuery): Promise<Awaited<ReturnType<Ledger['read']>>> {
    await this.flush();
    return this.#options.store.read(query);
  }

  async one(id: string): Promise<LedgerRecord | undefined> {
    await this.flush();
    return this.#options.store.one(id);
  }

  async costs(query: LedgerCostQuery): Promise<Awaited<ReturnType<Ledger['costs']>>> {
    await this.flush();
    return this.#options.store.costs(query);
  }

  /** Writes what waits. False when the store failed; it is tried again later. */
  async flush(): Promise<boolean> {
    for (;;) {
      if (this.#waiting === 0 && this.#pending.length === 0) return true;
      this.#writing ??= this.#writeBatch().finally(() => (this.#writing = undefined));
      if (!(await this.#writing)) return false;
    }
  }

  /** Writes what waits, as long as the store takes it, and lets go of the store. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#clearTimer();
    for (let tries = 0; tries < LAST_TRIES; tries += 1) if (await this.flush()) break;
    this.#drop(this.#waiting + this.#pending.length);
    await this.#options.store.close?.();
  }

  #add(facts: DecisionContext, execution: Recorded, end: Pick<PendingRecord, 'answer' | 'error' | 'prompt'>): void {
    const { request, plan, attempts, startedAt, report } = execution;
    const { environment } = this.#options;
    const endedAt = environment.now();
    const works = this.#works.size === 0 ? undefined : this.#works.get(request.id);
    if (works !== undefined) this.#works.delete(request.id);
    this.#keep({
      at: environment.wallClock() - (endedAt - startedAt),
      startedAt,
      endedAt,
      facts,
      request: drafted(request, knownLength(request)),
      plan,
      attempts,
      works: works ?? NO_WORKS,
      cache: report === undefined ? undefined : report.status === 'HIT' ? 'hit' : 'miss',
      answer: end.answer,
      error: end.error,
      prompt: end.prompt,
    });
  }

  #keep(pendingRecord: PendingRecord): void {
    const { store } = this.#options;
    if (store.keeps !== undefined) return this.#collect(pendingRecord);
    if (this.#waiting >= MAX_WAITING) return this.#drop(1);
    this.#collect(pendingRecord);
    if (!this.#isClosed) this.#schedule(COLLECT_MS);
  }

  #collect(pendingRecord: PendingRecord): void {
    if (this.#drafts !== undefined) return this.#drafts.add(pendingRecord);
    this.#early.push(pendingRecord);
    void this.#load();
  }

  #load(): Promise<PendingRecords> {
    this.#loading ??= import('../../core/ledger/pending-records.ts').then(({ PendingRecords }) => {
      // Such a store would forget the oldest itself.
      this.#drafts = new PendingRecords(this.#options.store.keeps);
      for (const pendingRecord of this.#early.splice(0)) this.#drafts.add(pendingRecord);
      return this.#drafts;
    });
    return this.#loading;
  }

  #schedule(ms: number): void {
    this.#timer ??= this.#options.environment.setTimer(() => {
      this.#timer = undefined;
      void this.flush();
    }, ms);
  }

  #clearTimer(): void {
    if (this.#timer !== undefined) this.#options.environment.clearTimer(this.#timer);
    this.#timer = undefined;
  }

  async #writeBatch(): Promise<boolean> {
    const { store, environment, events } = this.#options;
    const records = this.#pending.length > 0 ? this.#pending : await this.#written();
    this.#pending = records;
    try {
      const kept = await valueWithin(
        environment,
        Promise.resolve(store.append(records)).then(() => true),
        STORE_WAIT_MS,
      );
      if (kept !== true) throw new RangeError('the store did not answer');
      this.#pending = [];
      this.#failures = 0;
      if (this.#waiting > 0 && store.keeps === undefined && !this.#isClosed) this.#schedule(0);
      return true;
    } catch {
      this.#failures += 1;
      if (this.#failures === 1) {
        warn(events, {
          code: 'ledger',
          message: 'The ledger cannot be written now; its records wait, and requests go on',
        });
      }
      const [first, most] = RETRY_MS;
      if (!this.#isClosed) this.#schedule(Math.min(most, first * 2 ** (this.#failures - 1)));
      return false;
    }
  }

  /** What writes records is loaded by the first of them. */
  async #written(): Promise<readonly LedgerRecord[]> {
    const packed = (await this.#load()).take();
    if (packed === undefined) return [];
    const { tags } = this.#options;
    const [{ unpackDrafts }, { writeRecord }] = await Promise.all([
      import('../../core/ledger/unpack-records.ts'),
      import('../../core/ledger/write-record.ts'),
    ]);
    const records: LedgerRecord[] = [];
    for (const pendingRecord of unpackDrafts(packed)) {
      const found = this.#session(pendingRecord);
      const session = found instanceof Promise ? await found : found;
      records.push(writeRecord(pendingRecord, { tags, session }));
    }
    return records;
  }

  /** A keyed hash: the same for all requests of a session of an account, and nothing that anybody could look up. */
  #session({ request: { session, account } }: PendingRecord): string | undefined | Promise<string> {
    if (session.id === undefined) return undefined;
    const hash = hmacSha256(this.#options.secret(), `session\0${account.id}\0${session.id}`);
    return hash instanceof Promise ? hash.then(shortHash) : shortHash(hash);
  }

  #drop(count: number): void {
    if (count === 0) return;
    if (this.#dropped === 0) {
      const message = 'Records of the ledger were dropped, because its store was too slow or away; requests went on';
      warn(this.#options.events, { code: 'ledger_dropped', message });
    }
    this.#dropped += count;
  }
}

function shortHash(hex: string): string {
  return `s_${hex.slice(0, 20)}`;
}

function knownLength(request: RoutedRequest): number | undefined {
  return knownPromptTokens((request as { readonly messages?: Parameters<typeof knownPromptTokens>[0] }).messages);
}
