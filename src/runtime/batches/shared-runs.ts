/** Helps to run batches whose task is in another process. */
import type { Timer } from '../../platform/environment.ts';
import { seldom } from '../../platform/seldom.ts';
import { warn } from '../events/events.ts';
import { ItemPool } from './item-pool.ts';
import type { BatchPorts, RunSharing } from './ports.ts';
import type { BatchRecord } from '../../contracts/batch-record.ts';
import { applyEvent } from './apply-event.ts';

/** Part of the time between two looks by which it varies, so that many processes do not look together. */
const JITTER = 0.5;

interface Help {
  readonly stopping: AbortController;
  readonly aborting: AbortController;
  readonly ended: Promise<void>;
}

/**
 * Runs requests of batches whose task is in another process. The store decides who runs which: requests are claimed in
 * slices, each under a lease of its own, and only those that nobody has claimed before. What comes back from a process
 * that died is left to the task of its batch, which finds out what is to blame. So there is nothing to be agreed on: any
 * number of processes may help, begin late, or die.
 */
export class SharedRuns implements RunSharing {
  /** Batches of which this process runs requests, because it has their task. */
  readonly #own = new Map<string, number>();
  readonly #helps = new Map<string, Help>();
  #ports: BatchPorts | undefined;
  #complain: (message: string) => void = () => {};
  #timer: Timer | undefined;

  start(ports: BatchPorts): void {
    this.#ports = ports;
    this.#complain = seldom(ports.environment, (message) => warn(ports.events, { code: 'batch_shared', message }));
    this.#schedule(ports);
  }

  /**
   * Ends helping. Requests under way get time to finish; the rest is given back.
   *
   * @param graceMs - Milliseconds after which they are aborted.
   */
  async stop(graceMs: number): Promise<void> {
    const ports = this.#ports;
    this.#ports = undefined;
    if (ports === undefined) return;
    const { environment } = ports;
    environment.clearTimer(this.#timer);
    const helps = [...this.#helps.values()];
    const abort = (): void => helps.forEach(({ aborting }) => aborting.abort());
    for (const { stopping } of helps) stopping.abort();
    if (graceMs <= 0) abort();
    const timer = environment.setTimer(abort, graceMs);
    await Promise.all(helps.map(({ ended }) => ended));
    environment.clearTimer(timer);
  }

  /** Does what has the task of a batch in place of helping with it: `perBatch` holds for both together. */
  async instead<Value>(batchId: string, work: () => Promise<Value>): Promise<Value> {
    this.#own.set(batchId, (this.#own.get(batchId) ?? 0) + 1);
    try {
      const help = this.#helps.get(batchId);
      help?.stopping.abort();
      await help?.ended;
      return await work();
    } finally {
      const left = (this.#own.get(batchId) ?? 1) - 1;
      if (left > 0) this.#own.set(batchId, left);
      else this.#own.delete(batchId);
    }
  }

  #schedule(ports: BatchPorts): void {
    const { environment, limits } = ports;
    if (limits.helpMs === 0) return;
    this.#timer = environment.setTimer(
      () => {
        void this.#look(ports).finally(() => {
          if (this.#ports === ports) this.#schedule(ports);
        });
      },
      limits.helpMs * (1 - JITTER * environment.random()),
    );
  }

  async #look(ports: BatchPorts): Promise<void> {
    const { concurrency, perBatch } = ports.limits;
    // More would have no places to run in, and only ask the store for requests.
    const most = Math.max(1, Math.floor(concurrency / perBatch)) - this.#own.size;
    if (this.#helps.size >= most) return;
    try {
      for (const { account, batchId } of await ports.store.findShared(2 * most)) {
        if (this.#ports !== ports || this.#helps.size >= most) return;
        if (this.#own.has(batchId) || this.#helps.has(batchId)) continue;
        const batch = await ports.store.find(account, batchId);
        if (batch?.status === 'in_progress' && !this.#own.has(batchId)) this.#help(ports, batch);
      }
    } catch (error) {
      this.#complain(`Batches to help with could not be looked for (${nameOf(error)})`);
    }
  }

  #help(ports: BatchPorts, batch: BatchRecord): void {
    const stopping = new AbortController();
    const aborting = new AbortController();
    const ended = this.#run(ports, batch, stopping.signal, aborting)
      .catch((error: unknown) => this.#complain(`Helping with a batch failed (${nameOf(error)})`))
      .finally(() => this.#helps.delete(batch.id));
    this.#helps.set(batch.id, { stopping, aborting, ended });
  }

  async #run(ports: BatchPorts, batch: BatchRecord, stopping: AbortSignal, aborting: AbortController): Promise<void> {
    const { store, limits } = ports;
    const left = (batch.expiresAt ?? Infinity) - (await store.now());
    if (left <= 0) return;
    await inOneSlice(ports, batch, left, {
      end: aborting,
      run: async (yielding) => {
        const signals = { signal: aborting.signal, stopping, yielding };
        const manner = { perBatch: limits.perBatch, ahead: true, fresh: true };
        await new ItemPool(ports, { batch, account: await ports.accountOf(batch) }, signals, manner).run();
      },
    });
    const now = await store.find(batch.account, batch.id);
    if (now?.status !== 'in_progress') return;
    const { completed, failed, total } = now.counts;
    if (completed + failed >= total) await applyEvent(ports, now, { type: 'drained' });
  }
}

/**
 * Runs requests of a batch for one slice of time; then others have their turn.
 *
 * @param left - Milliseconds until the batch expires.
 * @param end - Aborted when it expires, or is not in progress any more.
 * @param run - Takes no more requests once its signal is aborted.
 */
export async function inOneSlice<Result>(
  { environment, limits, watchers }: BatchPorts,
  { id }: BatchRecord,
  left: number,
  { end, run }: { readonly end: AbortController; readonly run: (yielding: AbortSignal) => Promise<Result> },
): Promise<Result> {
  const turn = new AbortController();
  const abort = (): void => end.abort();
  const unwatch = watchers.watch(id, ({ status }) => {
    if (status !== 'in_progress') abort();
  });
  const slice = environment.setTimer(() => turn.abort(), limits.sliceMs);
  const expiry = environment.setTimer(abort, left);
  try {
    return await run(turn.signal);
  } finally {
    environment.clearTimer(slice);
    environment.clearTimer(expiry);
    unwatch();
  }
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}
