/** Runs the requests of one batch, several at a time. */
import type { Account } from '../../contracts/account.ts';
import { ClaimedShare } from '../../core/batch/shares.ts';
import { isTransient, itemError, POISONED_ITEM } from '../../core/batch/item-rules.ts';
import { isHeldBudget, OWN_RATE_LIMIT } from '../../core/limits/limit-errors.ts';
import { backoffMs } from '../../core/fallback/backoff.ts';
import type { BatchItemError } from '../../protocol/batch.ts';
import type { ClaimedItem, ItemOutcome } from '../../contracts/batch-store.ts';
import { errorOfUnknown } from '../chat/router-errors.ts';
import { wait } from '../../platform/wait.ts';
import { OutcomeWriter } from './outcome-writer.ts';
import { ItemLeases } from './item-leases.ts';
import type { CallVerdict } from './slots.ts';
import type { BatchPorts, OwnedBatch } from './ports.ts';
import * as read from '../../platform/json.ts';
import type { BatchRecord } from '../../contracts/batch-record.ts';

/** How a run of a batch's requests ended. */
interface PoolEnd {
  /** True when nothing was left to claim: what has no outcome is held by somebody else. */
  readonly exhausted: boolean;
}

/** What ends a run. */
interface PoolSignals {
  /** Aborted when everything must end at once. */
  readonly signal: AbortSignal;
  /** Aborted when nothing more may wait or begin: what does not run is given back. */
  readonly stopping: AbortSignal;
  /** Aborted when others are to have their turn: nothing is claimed any more, and what is held goes on to its end. */
  readonly yielding: AbortSignal;
}

/** How long a request waits before it is tried again. */
const RETRY = { baseMs: 1_000, capMs: 60_000 };
/**
 * Claims after which a request is taken for one that brings down whoever runs it. The pauses between the last of them
 * are so long that one which only was in the wrong process has had its time.
 */
const MAX_CLAIMS = 10;
/** Milliseconds after the creation of a batch before which none of its requests is given up for that. */
const PATIENCE_MS = 600_000;
/** Claims after which a request runs alone: it, or one beside it, may bring down whoever runs it. */
const SUSPECT_AFTER = 3;
/** Times the length of a lease that the longest one of such a request is. */
const LONGEST_SUSPICION = 16;
/** Milliseconds that its lease is counted as, at least: where leases are short, processes may die of something else. */
const SUSPECT_LEASE_MS = 1_000;
/** Requests that wait for another try may be this many times as many as run. */
const PARKED_SHARE = 4;
/** Requests that are answered and not stored may be this many times as many as run. */
const UNSTORED_SHARE = 4;
/** Requests that are claimed at a time, at most. */
const MAX_SLICE = 128;
/** Milliseconds of work that are claimed ahead, as fast as requests went so far. */
const AHEAD_MS = 1_000;
/** Milliseconds until requests are looked for again after there were none. */
const LOOK_AGAIN_MS = 1_000;

/** How a run goes about its requests. */
interface PoolManner {
  /** Requests at a time. */
  readonly perBatch: number;
  /** True to claim more than run, so that nobody waits for the store. Not where one of them may be to blame. */
  readonly ahead: boolean;
  /** True to leave requests alone that somebody has claimed before. */
  readonly fresh: boolean;
}

/** How a try failed. */
interface Failed {
  readonly error: BatchItemError;
  readonly again: boolean;
  /** True when a limit of the account itself was in the way. */
  readonly paced: boolean;
  /** True when that was a budget of which other requests have reserved the rest. */
  readonly short: boolean;
  readonly retryAfterMs: number | undefined;
}

/** A request, and under which claim it is held. */
interface HeldItem {
  readonly item: ClaimedItem;
  readonly token: string;
}

/**
 * Runs requests of one batch, several at a time, until there are none left or it is told to stop. Requests that a
 * provider turns away for the moment are kept and tried again, while others go on.
 */
export class ItemPool {
  readonly #ports: BatchPorts;
  readonly #batch: BatchRecord;
  readonly #account: Account;
  readonly #signal: AbortSignal;
  readonly #yielding: AbortSignal;
  /** Aborted when nothing new may begin, because the run was told to stop or because the store fails. */
  readonly #halt = new AbortController();
  /** How it was told to go about its requests, and how it does while one of them is suspected. */
  readonly #usual: PoolManner;
  #manner: PoolManner;
  readonly #startedAt: number;
  readonly #leases: ItemLeases;
  readonly #writer: OutcomeWriter;
  readonly #held = new Set<Promise<void>>();
  readonly #unhook: () => void;
  readonly #share = new ClaimedShare();
  #queue: HeldItem[] = [];
  #active = 0;
  /** Requests that are answered and not stored. */
  #unstored = 0;
  #answered = 0;
  #claiming = false;
  /** Epoch milliseconds before which nothing is claimed, because there was nothing. */
  #dryUntil = 0;
  #failure: { readonly error: unknown } | undefined;
  #sleepers: (() => void)[] = [];
  /** Requests that wait for what others of the account have reserved: each that ends lets one of them try again. */
  readonly #short: (() => void)[] = [];

  constructor(ports: BatchPorts, { batch, account }: OwnedBatch, signals: PoolSignals, manner: PoolManner) {
    this.#ports = ports;
    this.#batch = batch;
    this.#account = account;
    this.#signal = signals.signal;
    this.#yielding = signals.yielding;
    signals.yielding.addEventListener('abort', this.#wake);
    for (const signal of [signals.signal, signals.stopping]) {
      if (signal.aborted) this.#stop();
      else signal.addEventListener('abort', this.#stop);
    }
    const unhook = (): void => {
      signals.yielding.removeEventListener('abort', this.#wake);
      for (const signal of [signals.signal, signals.stopping]) signal.removeEventListener('abort', this.#stop);
    };
    this.#unhook = unhook;
    this.#usual = manner;
    this.#manner = manner;
    this.#startedAt = ports.environment.now();
    this.#leases = new ItemLeases(ports, batch, (token) => this.#drop(token));
    this.#writer = new OutcomeWriter(ports, batch, this.#stop);
  }

  /** Runs. Rejects when the store fails. What is still held is given back in any case. */
  async run(): Promise<PoolEnd> {
    try {
      const exhausted = await this.#feed().catch((error: unknown) => this.#fail(error));
      await Promise.all(this.#held);
      // What is claimed at the last moment is given back, too.
      while (this.#claiming) await this.#changed();
      if (this.#failure !== undefined) throw this.#failure.error;
      return { exhausted };
    } finally {
      this.#unhook();
      await this.#leases.releaseAll();
      await this.#writer.notified();
    }
  }

  /** Claims and begins until told to stop, or until nothing is left and nothing runs. */
  async #feed(): Promise<boolean> {
    while (!this.#halt.signal.aborted) {
      const { perBatch, ahead } = this.#manner;
      const parked = this.#held.size - this.#active - this.#unstored;
      // A few more may wait to be stored, which takes milliseconds: a process that dies repeats no more than these. Where
      // one request may be to blame, nothing begins before the outcome of the last one is safe.
      const unstored = ahead ? Math.max(0, this.#unstored - UNSTORED_SHARE * perBatch) : this.#unstored;
      const room = parked >= perBatch * (PARKED_SHARE - 1) ? 0 : perBatch - this.#active - unstored;
      const begun = this.#queue.splice(0, Math.max(0, room));
      for (const held of begun) this.#begin(held);
      if (this.#wantsMore(room - begun.length)) void this.#claim();
      const idle = this.#held.size === 0 && this.#queue.length === 0 && !this.#claiming;
      if (idle && this.#yielding.aborted) return false;
      if (idle && this.#isDry()) return true;
      await this.#changed();
    }
    return false;
  }

  /** Whether it is time to claim: before the last of what is held has begun, if that is allowed. */
  #wantsMore(room: number): boolean {
    if (this.#claiming || this.#yielding.aborted || this.#halt.signal.aborted || this.#isDry()) return false;
    const least = this.#manner.ahead && this.#answered > 0 ? this.#sliceSize() / 2 : 0;
    return this.#queue.length <= least && (room > 0 || least > 0);
  }

  /** As many requests as run in a while, as far as that is known: long ones are claimed a few at a time. */
  #sliceSize(): number {
    const { perBatch, ahead } = this.#manner;
    const elapsed = this.#ports.environment.now() - this.#startedAt;
    if (!ahead || elapsed <= 0) return perBatch;
    const asFast = Math.floor((this.#answered * AHEAD_MS) / elapsed);
    return Math.max(perBatch, Math.min(MAX_SLICE, asFast, this.#share.ofRest(this.#batch.counts.total)));
  }

  #isDry(): boolean {
    return this.#ports.environment.now() < this.#dryUntil;
  }

  async #claim(): Promise<void> {
    const { store, environment, itemLease, failPoint } = this.#ports;
    const { account, id } = this.#batch;
    this.#claiming = true;
    try {
      await this.#leases.renewDue();
      const token = environment.randomText(24);
      const [requestedAt, leaseMs] = [environment.now(), itemLease.ms];
      const claim = { limit: this.#sliceSize(), leaseMs, token, fresh: this.#manner.fresh };
      const items = await store.claimItems(account, id, claim);
      if (items.length === 0) {
        this.#dryUntil = environment.now() + LOOK_AGAIN_MS;
        return;
      }
      const isSuspected = items.some(({ attempts }) => attempts > SUSPECT_AFTER);
      if (isSuspected && items.length > 1) {
        // Those beside it would share its fate, time and again.
        await store.releaseItems(account, id, token);
        this.#manner = { ...this.#usual, perBatch: 1, ahead: false };
        return;
      }
      if (!isSuspected) this.#manner = this.#usual;
      const factor = isSuspected ? suspectFactor(items, leaseMs) : 1;
      // Before it runs: what brings down a process does so at once.
      if (isSuspected) await store.renewItems(account, id, token, leaseMs * factor);
      this.#leases.hold(token, { items: items.length, from: requestedAt, leaseMs, factor });
      this.#share.claimed(items.map(({ index }) => index));
      for (const item of items) this.#queue.push({ item, token });
      await failPoint('run.claimed');
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#claiming = false;
      this.#wake();
    }
  }

  #begin(held: HeldItem): void {
    this.#active += 1;
    const run = this.#settle(held)
      .catch((error: unknown) => void this.#fail(error))
      .finally(() => {
        this.#held.delete(run);
        this.#wake();
      });
    this.#held.add(run);
  }

  /** Requests of a claim that somebody else has now are not begun. */
  #drop(token: string): void {
    this.#queue = this.#queue.filter((held) => held.token !== token);
    this.#wake();
  }

  readonly #stop = (): void => {
    this.#halt.abort();
    this.#wake();
  };

  #fail(error: unknown): false {
    this.#failure ??= { error };
    this.#stop();
    return false;
  }

  /** Waits until something changes: a request ends or is put aside, or the run is to stop. */
  #changed(): Promise<void> {
    return new Promise((resolve) => this.#sleepers.push(resolve));
  }

  readonly #wake = (): void => {
    const sleepers = this.#sleepers;
    this.#sleepers = [];
    for (const wake of sleepers) wake();
  };

  /** Brings a request to its outcome, or leaves it to be given back. While that is stored, others run. */
  async #settle({ item, token }: HeldItem): Promise<void> {
    const { environment, failPoint } = this.#ports;
    let outcome: Omit<ItemOutcome, 'index' | 'resultId'> | undefined;
    try {
      outcome = await this.#outcomeOf(item);
      if (outcome !== undefined) await failPoint('run.answered');
    } finally {
      this.#active -= 1;
      this.#short.shift()?.();
    }
    if (outcome === undefined) return;
    this.#answered += 1;
    this.#unstored += 1;
    this.#wake();
    try {
      const resultId = `batch_req_${environment.randomText(24)}`;
      await this.#writer.write(token, { index: item.index, resultId, ...outcome });
    } finally {
      this.#unstored -= 1;
    }
    this.#leases.done(token);
  }

  /** Tries a request until it is answered, refused, or has had its tries; undefined when it must be given back. */
  async #outcomeOf(item: ClaimedItem): Promise<Omit<ItemOutcome, 'index' | 'resultId'> | undefined> {
    if (item.attempts > MAX_CLAIMS && (await this.#isOld())) return { error: POISONED_ITEM };
    let tries = 0;
    for (;;) {
      const tried = await this.#try(item);
      if (tried === undefined) return undefined;
      if ('outcome' in tried) return tried.outcome;
      // The account's own limit says when, not whether, and so does a budget of which others hold the rest: to exceed it
      // is no try.
      if (!tried.paced) tries += 1;
      if (!tried.again || tries >= this.#ports.limits.itemTries) return { error: tried.error };
      await this.#putAside(Math.max(1, tries), tried);
      if (this.#halt.signal.aborted) return undefined;
    }
  }

  /** Whether the batch has been there for so long that what killed its processes was most likely not something else. */
  async #isOld(): Promise<boolean> {
    return (await this.#ports.store.now()) - this.#batch.createdAt > PATIENCE_MS;
  }

  /** Waits before another try, and lets another request run meanwhile. */
  async #putAside(tries: number, { retryAfterMs, short }: Pick<Failed, 'retryAfterMs' | 'short'>): Promise<void> {
    const { environment } = this.#ports;
    this.#active -= 1;
    this.#wake();
    const ms = backoffMs(RETRY, tries - 1, environment.random(), retryAfterMs);
    if (short) await this.#untilFree(ms);
    else await wait(environment, ms, this.#halt.signal);
    while (this.#active >= this.#manner.perBatch && !this.#halt.signal.aborted) await this.#changed();
    this.#active += 1;
  }

  /** Waits until another request of this run has ended, which gives back what it had reserved, or for so long. */
  async #untilFree(ms: number): Promise<void> {
    const ended = new AbortController();
    const end = (): void => ended.abort();
    this.#short.push(end);
    await wait(this.#ports.environment, ms, AbortSignal.any([ended.signal, this.#halt.signal]));
    const index = this.#short.indexOf(end);
    if (index >= 0) this.#short.splice(index, 1);
  }

  async #try(
    item: ClaimedItem,
  ): Promise<{ readonly outcome: Omit<ItemOutcome, 'index' | 'resultId'> } | Failed | undefined> {
    const { calls, slots, failPoint } = this.#ports;
    const signal = this.#signal;
    let verdict: CallVerdict = { type: 'other' };
    let slot: Awaited<ReturnType<typeof slots.enter>>;
    try {
      const prepared = await calls.prepare(this.#batch, item.body, this.#account);
      const { provider, run } = await prepared.plan();
      const { id: account, batchWeight: weight } = this.#account;
      slot = await slots.enter({ account, weight, provider }, this.#halt.signal);
      if (slot === undefined) return undefined;
      await failPoint('run.sending');
      const { usage, ...response } = await run(signal);
      verdict = { type: 'answered' };
      return { outcome: { response, usage } };
    } catch (error) {
      if (signal.aborted) return undefined;
      const { status, errorType, message, metadata, retryable, retryAfterMs } = errorOfUnknown(error);
      const short = isHeldBudget(metadata);
      const paced = short || metadata['limit_source'] === OWN_RATE_LIMIT;
      if (paced) verdict = { type: 'other' };
      else if (status === 429 || status === 529 || status === 503) verdict = { type: 'complaint', retryAfterMs };
      const path = read.string(metadata['path']);
      return {
        error: itemError({ status, errorType, message, path, mismatch: metadata['schema_mismatch'] }),
        again: isTransient(status, { retryable }),
        paced,
        short,
        retryAfterMs,
      };
    } finally {
      slot?.leave(verdict);
    }
  }
}

/**
 * Times as long as others the leases of a request are that is suspected to bring down whoever runs it: longer each time,
 * so that neither a process that is only slow nor many that die of something else give it up.
 */
function suspectFactor(items: readonly ClaimedItem[], leaseMs: number): number {
  const before = Math.max(...items.map(({ attempts }) => attempts)) - SUSPECT_AFTER;
  return (Math.min(LONGEST_SUSPICION, 2 ** before) * Math.max(leaseMs, SUSPECT_LEASE_MS)) / leaseMs;
}
