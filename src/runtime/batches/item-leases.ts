import type { BatchRecord } from '../../core/batch/batch-record.ts';
import type { Timer } from '../environment.ts';
import type { BatchPorts } from './ports.ts';

/** Leases are renewed this many times before they end. */
const RENEWALS = 3;

/** Holds the leases of the requests that a run has claimed, each claim under its own token. */
export class ItemLeases {
  readonly #ports: Pick<BatchPorts, 'store' | 'environment' | 'limits'>;
  readonly #batch: Pick<BatchRecord, 'account' | 'id'>;
  /** Requests without an outcome by the token of their claim. */
  readonly #open = new Map<string, number>();
  #timer: Timer | undefined;

  constructor(ports: Pick<BatchPorts, 'store' | 'environment' | 'limits'>, batch: Pick<BatchRecord, 'account' | 'id'>) {
    this.#ports = ports;
    this.#batch = batch;
  }

  /** Keeps the leases of a claim from now on. */
  hold(token: string, items: number): void {
    this.#open.set(token, items);
    this.#schedule();
  }

  /** One request of a claim has its outcome. */
  done(token: string): void {
    const left = (this.#open.get(token) ?? 0) - 1;
    if (left > 0) this.#open.set(token, left);
    else this.#open.delete(token);
  }

  /** Gives back everything that has no outcome. Leases that cannot be given back end by themselves. */
  async releaseAll(): Promise<void> {
    const { store, environment } = this.#ports;
    environment.clearTimer(this.#timer);
    const { account, id } = this.#batch;
    const tokens = [...this.#open.keys()];
    this.#open.clear();
    await Promise.all(tokens.map((token) => store.releaseItems(account, id, token).catch(() => undefined)));
  }

  #schedule(): void {
    const { environment, limits } = this.#ports;
    this.#timer ??= environment.setTimer(() => void this.#renew(), limits.leaseMs / RENEWALS);
  }

  /** A lease that was lost is found out when its outcome is stored, and its owner by the lease of the task. */
  async #renew(): Promise<void> {
    const { store, limits } = this.#ports;
    const { account, id } = this.#batch;
    const tokens = [...this.#open.keys()];
    await Promise.all(tokens.map((token) => store.renewItems(account, id, token, limits.leaseMs).catch(() => 0)));
    this.#timer = undefined;
    if (this.#open.size > 0) this.#schedule();
  }
}
