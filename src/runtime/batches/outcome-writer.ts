/** Stores outcomes of batch requests in groups. */
import type { ItemOutcome } from '../../contracts/batch-store.ts';
import type { BatchPorts } from './ports.ts';
import { yieldTurn } from '../../platform/wait.ts';
import type { BatchRecord } from '../../contracts/batch-record.ts';
import { notifyProgress } from './apply-event.ts';

interface Waiting {
  readonly token: string;
  readonly outcome: ItemOutcome;
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/** Turns of the event loop that an outcome waits for others to be stored with: a few milliseconds where many come. */
const TURNS = 12;

/** Turns after which nothing waits any longer where no other comes. */
const QUIET_TURNS = 3;

/** Outcomes that are enough to be stored at once. */
const GROUP = 64;

/**
 * Stores outcomes of one batch, many together, so that a fast batch does not cost one transaction per request: those that
 * come within a few turns of the event loop, and those that come while the store is busy.
 */
export class OutcomeWriter {
  readonly #ports: BatchPorts;
  readonly #batch: BatchRecord;
  readonly #onEnd: () => void;
  #waiting: Waiting[] = [];
  #writing = false;
  #untold = false;
  #notifying: Promise<void> | undefined;

  /** @param onEnd - Called when the batch is not in progress any more. */
  constructor(ports: BatchPorts, batch: BatchRecord, onEnd: () => void) {
    this.#ports = ports;
    this.#batch = batch;
    this.#onEnd = onEnd;
  }

  /**
   * Stores an outcome under the token of its claim. One whose lease was lost is dropped quietly: somebody else has the
   * request now. Rejects when the store fails.
   */
  write(token: string, outcome: ItemOutcome): Promise<void> {
    return new Promise((done, failed) => {
      this.#waiting.push({ token, outcome, done, failed });
      if (!this.#writing) void this.#writeAll();
    });
  }

  async #writeAll(): Promise<void> {
    this.#writing = true;
    while (this.#waiting.length > 0) {
      await this.#gather();
      const together = this.#waiting;
      this.#waiting = [];
      for (const token of new Set(together.map((one) => one.token))) {
        const group = together.filter((one) => one.token === token);
        await this.#writeGroup(token, group);
      }
      this.#notify();
    }
    this.#writing = false;
  }

  async #gather(): Promise<void> {
    let [quiet, known] = [0, this.#waiting.length];
    for (let turn = 0; turn < TURNS && quiet < QUIET_TURNS && known < GROUP; turn += 1) {
      await yieldTurn();
      quiet = this.#waiting.length > known ? 0 : quiet + 1;
      known = this.#waiting.length;
    }
  }

  async #writeGroup(token: string, group: readonly Waiting[]): Promise<void> {
    const { store, failPoint } = this.#ports;
    const { account, id } = this.#batch;
    try {
      const outcomes = group.map(({ outcome }) => outcome);
      const stored = await store.storeOutcomes(account, id, token, outcomes);
      await failPoint('run.stored');
      // What is not stored belongs to somebody else, or the batch has ended elsewhere: then nothing more is to be sent.
      if (stored.length < outcomes.length && (await store.find(account, id))?.status !== 'in_progress') this.#onEnd();
      for (const { done } of group) done();
    } catch (error) {
      for (const { failed } of group) failed(error);
    }
  }

  /** Tells how far the batch is. Nobody waits for it, and what was stored while the store is read is reported once. */
  #notify(): void {
    if (!this.#ports.events.heard('batch')) return;
    this.#untold = true;
    this.#notifying ??= this.#notifyAll().finally(() => (this.#notifying = undefined));
  }

  async #notifyAll(): Promise<void> {
    const { account, id } = this.#batch;
    while (this.#untold) {
      this.#untold = false;
      const record = await this.#ports.store.find(account, id).catch(() => undefined);
      if (record !== undefined) notifyProgress(this.#ports, record);
    }
  }

  /** Waits until everything is told. */
  async notified(): Promise<void> {
    await this.#notifying;
  }
}
