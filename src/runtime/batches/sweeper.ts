import type { Timer } from '../environment.ts';
import { warn } from '../warn.ts';
import type { BatchPorts } from './ports.ts';

/** Batches that are deleted in one step. */
const AT_A_TIME = 20;
/** Milliseconds after which a draft that nobody adds to is left over from a process that died. */
const DRAFT_MS = 3_600_000;
/** Part of the time between two sweeps by which it varies, so that many processes do not sweep together. */
const JITTER = 0.2;

/** Deletes batches past their time, a few at a time. */
export class Sweeper {
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
      warn(events, { code: 'batch_sweep', message: `Old batches could not be deleted (${reason})` });
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
