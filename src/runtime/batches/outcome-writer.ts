import type { ItemOutcome } from '../../storage/batch-store.ts';
import type { BatchRecord } from '../../core/batch/batch-record.ts';
import type { BatchPorts } from './ports.ts';
import { tellProgress } from './tell.ts';

interface Waiting {
  readonly token: string;
  readonly outcome: ItemOutcome;
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/**
 * Stores outcomes of one batch. Those that come while the store is busy are stored together, so a fast batch does not
 * cost one transaction per request.
 */
export class OutcomeWriter {
  readonly #ports: BatchPorts;
  readonly #batch: BatchRecord;
  #waiting: Waiting[] = [];
  #writing = false;

  constructor(ports: BatchPorts, batch: BatchRecord) {
    this.#ports = ports;
    this.#batch = batch;
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
      const together = this.#waiting;
      this.#waiting = [];
      for (const token of new Set(together.map((one) => one.token))) {
        const group = together.filter((one) => one.token === token);
        await this.#writeGroup(token, group);
      }
      await this.#tell();
    }
    this.#writing = false;
  }

  async #writeGroup(token: string, group: readonly Waiting[]): Promise<void> {
    const { store, failPoint } = this.#ports;
    const { account, id } = this.#batch;
    try {
      const outcomes = group.map(({ outcome }) => outcome);
      await store.storeOutcomes(account, id, token, outcomes);
      await failPoint('run.stored');
      for (const { done } of group) done();
    } catch (error) {
      for (const { failed } of group) failed(error);
    }
  }

  async #tell(): Promise<void> {
    const { store, events } = this.#ports;
    if (!events.heard('batch')) return;
    const { account, id } = this.#batch;
    const record = await store.find(account, id).catch(() => undefined);
    if (record !== undefined) tellProgress(this.#ports, record);
  }
}
