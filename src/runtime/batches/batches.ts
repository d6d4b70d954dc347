/** The batches of a router: the operations on them. */
import { type Account, ANONYMOUS } from '../../contracts/account.ts';
import { isTerminal } from '../../core/batch/machine.ts';
import { wireBatch, wireResult } from '../../core/batch/wire-batch.ts';
import { errorOf, type RouterError } from '../../protocol/router-error.ts';
import type { Batch, BatchList, BatchResultItem, BatchStatus, DeletedBatch } from '../../protocol/batch.ts';
import type { TaskQueue } from '../../contracts/task-queue.ts';
import type { CheckAccount } from '../limits/accounts.ts';
import type { BatchPorts } from './ports.ts';
import { createBatch, type CreateBatchOptions, type NewBatch } from './create-batch.ts';
import { taskHandler } from './handle-task.ts';
import type { LineLimits } from './file-requests.ts';
import { type BatchFiles, FileService } from './files.ts';
import { findJob, storedJob } from './native/job.ts';
import { lengthOf, PageSize, unknownAfter } from './page-size.ts';
import type { Timer } from '../../platform/environment.ts';
import { warn } from '../events/events.ts';
import type { BatchRecord } from '../../contracts/batch-record.ts';
import { applyEvent } from './apply-event.ts';
import { type BackgroundTimers, BatchWorker } from './worker.ts';

/** Whose batches are meant. */
export interface BatchOptions {
  /** Default: the anonymous account. The batches of others are as if they were not there. */
  readonly account?: Account | undefined;
}

/** Filters and page of a list (gaps 8.6). */
export interface ListBatchesOptions extends BatchOptions {
  /** 1 to 100. Default 20. */
  readonly limit?: number | undefined;
  /** Id of the last batch of the page before. */
  readonly after?: string | undefined;
  /** Any of these. */
  readonly status?: readonly BatchStatus[] | undefined;
  /** Unix seconds; strict. */
  readonly createdAfter?: number | undefined;
  /** Unix seconds; strict. */
  readonly createdBefore?: number | undefined;
}

/** Batches of a router. */
export interface Batches {
  /** Files that batches are made of, and those that they end in. */
  readonly files: BatchFiles;
  /**
   * Creates a batch; resolves when it is stored. It then runs in this process, or in another one on the same storage
   * where `batches.worker` is false here.
   *
   * @throws {@link RouterError} when anything about it is wrong; then nothing is left of it.
   */
  create(batch: NewBatch, options?: CreateBatchOptions): Promise<Batch>;
  /**
   * A batch as it is now. Its `results` are null: {@link Batches.results} streams them.
   *
   * @throws {@link RouterError} 404 when there is none of this id.
   */
  retrieve(id: string, options?: BatchOptions): Promise<Batch>;
  /** Batches, newest first, without results. */
  list(options?: ListBatchesOptions): Promise<BatchList>;
  /**
   * Ends a batch before its time. What is answered already is kept and counted.
   *
   * @throws {@link RouterError} 404 when there is none of this id, 409 when it has ended.
   */
  cancel(id: string, options?: BatchOptions): Promise<Batch>;
  /**
   * Sends the webhook of a batch to its `callback_url` once more, at once and then on the usual schedule.
   *
   * @throws {@link RouterError} 404 when there is none of this id, 409 when it has not ended or has no `callback_url`.
   */
  redeliver(id: string, options?: BatchOptions): Promise<Batch>;
  /**
   * Deletes a batch with its requests and results, here and at its provider.
   *
   * @throws {@link RouterError} 404 when there is none of this id, 409 when it has not ended.
   */
  delete(id: string, options?: BatchOptions): Promise<DeletedBatch>;
  /**
   * The results of a completed batch, in the order of its requests, read from the storage as they are requested.
   *
   * @throws {@link RouterError} 404 when there is none of this id, 409 when it is not completed.
   */
  results(id: string, options?: BatchOptions): AsyncIterable<BatchResultItem>;
  /**
   * Runs batches in this process, and deletes old ones, from now on and not only from the first use of batches. Keeps
   * the process alive until {@link Batches.stop}.
   *
   * @throws {@link StorageError} within 5 seconds when the storage cannot be opened, or shared state that is required
   * cannot be reached.
   */
  start(): Promise<void>;
  /**
   * Ends running batches in this process, until the next {@link Batches.start}. Requests under way get time to finish;
   * the rest is given back, for the next start or for another process.
   */
  stop(options?: { /** Milliseconds. Default 30,000. */ readonly graceMs?: number | undefined }): Promise<void>;
  /**
   * Runs what is due and comes back, for hosts where nothing runs between requests; to be called again and again. From the
   * first call on, batches do not run by themselves here.
   */
  tick(options?: {
    /** Milliseconds after which nothing new is begun. Default 10,000. */
    readonly budgetMs?: number | undefined;
  }): Promise<void>;
}

/** What batches are made of. */
interface BatchServicePorts extends BatchPorts {
  readonly checkAccount: CheckAccount;
  readonly lineLimits: LineLimits;
  /** Finds out whether shared state is there; rejects when the program cannot do without. */
  readonly openState: () => Promise<void>;
  readonly queue: TaskQueue;
  readonly findsAccounts: boolean;
  readonly timers: BackgroundTimers;
  /** Whether batches run here without {@link Batches.start} (`batches.worker`). */
  readonly startsByItself: boolean;
  /** Name of the host where nothing runs between requests; undefined elsewhere. */
  readonly pausingHost: string | undefined;
}

const DEFAULT_PAGE = 20;
const MAX_PAGE = 100;
/** Results that are read first. */
const FIRST_RESULTS = 20;

/** The batches of a router. */
export class BatchService implements Batches {
  readonly files: BatchFiles;
  readonly #ports: BatchServicePorts;
  readonly #sweeper: Sweeper;
  readonly #worker: BatchWorker;
  #opened: Promise<void> | undefined;

  constructor(ports: BatchServicePorts) {
    this.#ports = ports;
    this.#sweeper = new Sweeper(ports);
    this.files = new FileService({ ...ports, open: () => this.#open(), checkHost: () => this.#worker.checkHost() });
    this.#worker = new BatchWorker({
      ...ports,
      handler: taskHandler(ports),
      open: async () => {
        await Promise.all([this.#openStorage(), ports.openState()]);
      },
      besides: {
        start: () => {
          this.#sweeper.start();
          ports.sharedRuns.start(ports);
        },
        stop: async (graceMs) => {
          this.#sweeper.stop();
          await ports.sharedRuns.stop(graceMs);
        },
      },
    });
  }

  async create(batch: NewBatch, options: CreateBatchOptions = {}): Promise<Batch> {
    this.#worker.checkHost();
    await this.#open();
    const created = await createBatch(this.#ports, batch, options);
    this.#worker.watch(created);
    return wireBatch(created);
  }

  async retrieve(id: string, options: BatchOptions = {}): Promise<Batch> {
    const record = await this.#find(id, options);
    return wireBatch(record, await this.#worker.unclaimedMs([record]));
  }

  /** Goes on with what earlier processes have left, where batches run by themselves. */
  async resume(): Promise<void> {
    this.#worker.startByItself();
  }

  /** Ends what runs by itself, when nobody has the router any more. */
  forget(): Promise<void> {
    return this.#worker.forget();
  }

  async list(options: ListBatchesOptions = {}): Promise<BatchList> {
    await this.#open();
    const { account = ANONYMOUS, limit = DEFAULT_PAGE, after, status, createdAfter, createdBefore } = options;
    if (!Number.isInteger(limit) || limit < 1 || limit > MAX_PAGE) {
      throw errorOf(400, `limit must be an integer from 1 to ${MAX_PAGE}`);
    }
    const { batches, more, isUnknown } = await this.#ports.store.list(account.id, {
      limit,
      after,
      statuses: status === undefined || status.length === 0 ? undefined : status,
      // Callers know whole seconds: a batch of the same second was not created after it.
      createdAfter: createdAfter === undefined ? undefined : createdAfter * 1_000 + 999,
      createdBefore: createdBefore === undefined ? undefined : createdBefore * 1_000,
    });
    if (isUnknown === true) throw unknownAfter(after, 'batch');
    const unclaimedMs = await this.#worker.unclaimedMs(batches);
    const data = batches.map((batch) => wireBatch(batch, unclaimedMs));
    return {
      object: 'list',
      data,
      first_id: data[0]?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
      has_more: more,
    };
  }

  async cancel(id: string, options: BatchOptions = {}): Promise<Batch> {
    const record = await this.#find(id, options);
    const outcome = await applyEvent(this.#ports, record, { type: 'cancel_requested' });
    if (outcome === undefined) throw unknownBatch();
    if (isTerminal(outcome.batch.status)) {
      throw errorOf(409, `The batch is ${outcome.batch.status} and cannot be cancelled any more`);
    }
    return wireBatch(outcome.batch);
  }

  async redeliver(id: string, options: BatchOptions = {}): Promise<Batch> {
    const record = await this.#find(id, options);
    if (record.callbackUrl === undefined) throw errorOf(409, 'The batch has no callback_url to notify');
    const outcome = await applyEvent(this.#ports, record, { type: 'redelivery_requested' });
    if (outcome === undefined) throw unknownBatch();
    if (outcome.applied) return wireBatch(outcome.batch);
    throw errorOf(409, `The batch is ${outcome.batch.status}; its callback_url is notified once it has ended`);
  }

  async delete(id: string, options: BatchOptions = {}): Promise<DeletedBatch> {
    const record = await this.#find(id, options);
    if (!isTerminal(record.status)) {
      throw errorOf(409, `The batch is ${record.status}; cancel it, or wait until it has ended, before you delete it`);
    }
    const upstream = await this.#removeUpstream(record);
    if (!(await this.#ports.store.remove(record.account, id))) throw unknownBatch();
    return { id, object: 'batch', deletion: { router: 'deleted', ...(upstream === undefined ? {} : { upstream }) } };
  }

  async *results(id: string, options: BatchOptions = {}): AsyncGenerator<BatchResultItem, void, undefined> {
    const { status, account } = await this.#find(id, options);
    if (status !== 'completed') throw errorOf(409, `The batch is ${status}; only completed batches have results`);
    const size = new PageSize(FIRST_RESULTS);
    for (let after = -1, page; ; after = page.at(-1)?.index ?? after) {
      page = await this.#ports.store.outcomes(account, id, after, size.limit);
      if (page.length === 0) return;
      let length = 0;
      for (const outcome of page) {
        length += lengthOf(outcome);
        yield wireResult(outcome);
      }
      size.came(page.length, length);
    }
  }

  start(): Promise<void> {
    return this.#worker.start();
  }

  stop({ graceMs = 30_000 }: { readonly graceMs?: number | undefined } = {}): Promise<void> {
    return this.#worker.stop(graceMs);
  }

  tick({ budgetMs = 10_000 }: { readonly budgetMs?: number | undefined } = {}): Promise<void> {
    return this.#worker.withTicks(async () => {
      await this.#openStorage();
      await this.#sweeper.sweep();
      await this.#ports.queue.tick(taskHandler(this.#ports), budgetMs);
    });
  }

  /** Ends everything and lets go of the storage. */
  async close(): Promise<void> {
    await this.stop({ graceMs: 0 });
    if (this.#opened !== undefined) await this.#ports.store.close();
    await this.#ports.webhooks.outbound.close();
  }

  /** What every operation on batches begins with. */
  async #open(): Promise<void> {
    await this.#openStorage();
    this.#worker.startByItself();
  }

  /** A storage that could not be opened is tried again by the next call. */
  #openStorage(): Promise<void> {
    this.#opened ??= this.#ports.store.open().catch((error: unknown) => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  async #find(id: string, { account = ANONYMOUS }: BatchOptions): Promise<BatchRecord> {
    await this.#open();
    const record = await this.#ports.store.find(account.id, id);
    if (record === undefined) throw unknownBatch();
    return record;
  }

  async #removeUpstream(record: BatchRecord): Promise<DeletedBatch['deletion']['upstream']> {
    const stored = storedJob(record);
    const provider = record.provider ?? stored?.provider;
    if (provider === undefined) return undefined;
    if (stored === undefined) return { provider, status: 'not_applicable' };
    try {
      const live = await findJob(this.#ports, record);
      const reply = await live?.native.remove(live.call(new AbortController().signal));
      return { provider, status: reply?.ok === true ? reply.value : 'failed' };
    } catch {
      return { provider, status: 'failed' };
    }
  }
}

function unknownBatch(): RouterError {
  return errorOf(404, 'There is no batch of this id; GET /batches lists those of the account');
}

/** Batches that are deleted in one step. */
const AT_A_TIME = 20;
/** Milliseconds after which a draft that nobody adds to is left over from a process that died. */
const DRAFT_MS = 3_600_000;
/** Part of the time between two sweeps by which it varies, so that many processes do not sweep together. */
const JITTER = 0.2;

/** Deletes batches past their time, a few at a time. */
class Sweeper {
  readonly #ports: Pick<BatchPorts, 'store' | 'environment' | 'events' | 'limits'>;
  #timer: Timer | undefined;
  #running = false;

  constructor(ports: Pick<BatchPorts, 'store' | 'environment' | 'events' | 'limits'>) {
    this.#ports = ports;
  }

  start(): void {
    this.#running = true;
    this.#schedule();
  }

  stop(): void {
    this.#running = false;
    this.#ports.environment.clearTimer(this.#timer);
  }

  /** Deletes everything that is past its time. Never rejects. */
  async sweep(): Promise<void> {
    const { store, events, limits } = this.#ports;
    const draftMs = Math.max(DRAFT_MS, 2 * limits.uploadMs);
    try {
      while ((await store.sweep({ draftMs, limit: AT_A_TIME })) >= AT_A_TIME);
    } catch (error) {
      const reason = error instanceof Error ? error.name : typeof error;
      warn(events, {
        code: 'batch_sweep',
        message: `Old batches could not be deleted (${reason}); it is tried again later, so check the storage of batches`,
      });
    }
  }

  #schedule(): void {
    const { environment, limits } = this.#ports;
    const waitMs = limits.sweepMs * (1 - JITTER * environment.random());
    this.#timer = environment.setTimer(() => {
      void this.sweep().finally(() => {
        if (this.#running) this.#schedule();
      });
    }, waitMs);
  }
}
