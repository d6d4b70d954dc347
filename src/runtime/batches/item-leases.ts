/** Holds and renews the leases of claimed requests. */
import { RENEWALS } from '../../core/batch/lease.ts';
import type { Timer } from '../../platform/environment.ts';
import type { BatchPorts } from './ports.ts';
import type { BatchRecord } from '../../contracts/batch-record.ts';

type LeasePorts = Pick<BatchPorts, 'store' | 'environment' | 'itemLease'>;

/** One claim of requests. Times are monotonic milliseconds. */
interface Claim {
  /** Requests of it without an outcome. */
  open: number;
  /** When its lease was requested, the last time that this is known. */
  from: number;
  renewAt: number;
  /** Times as long as others its leases are. */
  readonly factor: number;
}

/** A claim that was granted. */
interface NewClaim {
  /** Number of its requests. */
  readonly items: number;
  /** When it was requested, in monotonic milliseconds. */
  readonly from: number;
  /** What it was requested with. */
  readonly leaseMs: number;
  /** Times as long as others its leases are to be. */
  readonly factor: number;
}

/**
 * Holds the leases of the requests that a run has claimed, each claim under its own token. A lease that ended before
 * this process came to renew it is still its own as long as nobody else has claimed the requests.
 */
export class ItemLeases {
  readonly #ports: LeasePorts;
  readonly #batch: Pick<BatchRecord, 'account' | 'id'>;
  readonly #onLost: (token: string) => void;
  readonly #claims = new Map<string, Claim>();
  #timer: Timer | undefined;
  #renewing: Promise<void> | undefined;

  /** @param onLost - Called when somebody else has all requests of a token. */
  constructor(ports: LeasePorts, batch: Pick<BatchRecord, 'account' | 'id'>, onLost: (token: string) => void) {
    this.#ports = ports;
    this.#batch = batch;
    this.#onLost = onLost;
  }

  /** Keeps the leases of a claim from now on. */
  hold(token: string, { items, from, leaseMs, factor }: NewClaim): void {
    const { environment, itemLease } = this.#ports;
    itemLease.renewed(environment.now() - from);
    this.#claims.set(token, { open: items, from, renewAt: from + leaseMs / RENEWALS, factor });
    if (this.#renewing === undefined) this.#schedule();
  }

  /** One request of a claim has its outcome. */
  done(token: string): void {
    const claim = this.#claims.get(token);
    if (claim === undefined) return;
    claim.open -= 1;
    if (claim.open <= 0) this.#claims.delete(token);
  }

  /** Renews leases that may soon have ended, so that this process does not take its own requests for somebody else's. */
  async renewDue(): Promise<void> {
    const now = this.#ports.environment.now();
    if ([...this.#claims.values()].some(({ renewAt }) => now >= renewAt)) await this.#renewNow();
  }

  /** Gives back everything that has no outcome. Leases that cannot be given back end by themselves. */
  async releaseAll(): Promise<void> {
    const { store, environment } = this.#ports;
    const { account, id } = this.#batch;
    const tokens = [...this.#claims.keys()];
    this.#claims.clear();
    environment.clearTimer(this.#timer);
    await Promise.all(tokens.map((token) => store.releaseItems(account, id, token).catch(() => undefined)));
  }

  #schedule(): void {
    const { environment } = this.#ports;
    environment.clearTimer(this.#timer);
    if (this.#claims.size === 0) return;
    const first = Math.min(...[...this.#claims.values()].map(({ renewAt }) => renewAt));
    this.#timer = environment.setTimer(() => void this.#renewNow(), Math.max(0, first - environment.now()));
  }

  #renewNow(): Promise<void> {
    this.#renewing ??= this.#renewAll().finally(() => {
      this.#renewing = undefined;
      this.#schedule();
    });
    return this.#renewing;
  }

  async #renewAll(): Promise<void> {
    await Promise.all([...this.#claims].map(([token, claim]) => this.#renew(token, claim)));
  }

  async #renew(token: string, claim: Claim): Promise<void> {
    const { store, environment, itemLease } = this.#ports;
    const { account, id } = this.#batch;
    const requestedAt = environment.now();
    const leaseMs = itemLease.ms * claim.factor;
    const held = await store.renewItems(account, id, token, leaseMs).catch(() => undefined);
    // Meanwhile all of them may have their outcome.
    if (this.#claims.get(token) !== claim) return;
    const tookMs = (environment.now() - claim.from) / claim.factor;
    if (held === 0) {
      itemLease.lost(tookMs);
      this.#claims.delete(token);
      this.#onLost(token);
      return;
    }
    // A store that does not answer says nothing about the lease, and is asked again a while later.
    claim.renewAt = (held === undefined ? environment.now() : requestedAt) + leaseMs / RENEWALS;
    if (held === undefined) return;
    itemLease.renewed(tookMs);
    claim.from = requestedAt;
  }
}
