import type { Admission } from '../../core/fallback/health.ts';
import { LOOK_AGAIN_MS } from '../../core/selection/adaptive/endpoint-room.ts';
import type { AttemptMove } from '../../core/fallback/next-move.ts';
import { valueWithin, wait } from '../../platform/wait.ts';
import type { RuntimeServices } from './services.ts';
import type { WaitingTurn } from '../endpoints/shared-pacing.ts';

/** What one request has waited for between its calls, and how much longer it may. */
export class RequestWaits {
  readonly #services: Pick<RuntimeServices, 'environment' | 'records' | 'pacing' | 'fallback'>;
  readonly #account: string;
  readonly #signal: AbortSignal;
  #heldMs = 0;
  /** Milliseconds that it has waited for places. */
  forSlotMs = 0;
  /** Endpoint at which a place was promised. */
  promised: string | undefined;
  /** Gives that place back. */
  #giveBack: (() => void) | undefined;
  /** Its turn, while it waits until an endpoint has fewer of our calls. */
  #turn: WaitingTurn | undefined;

  constructor(
    services: Pick<RuntimeServices, 'environment' | 'records' | 'pacing' | 'fallback'>,
    account: string,
    signal: AbortSignal,
  ) {
    this.#services = services;
    this.#account = account;
    this.#signal = signal;
  }

  /** Milliseconds for which it may still be held back; below 0, and for good, where too many are. */
  get holdMs(): number {
    const { pacing, fallback } = this.#services;
    return pacing.mayHold(this.#account) ? fallback.maxWaitMs - this.#heldMs : -Infinity;
  }

  /** May call a crowded endpoint, unless others have waited for longer until it has fewer calls: the place is theirs. */
  inOrder(admitted: Admission): Admission {
    if (!this.#services.pacing.isBehind(this.#turn)) return admitted;
    return { ok: false, waitMs: LOOK_AGAIN_MS, cause: 'pace', crowded: true };
  }

  /**
   * Waits no more, because a call is made or nothing is left to wait for. A promised place that is not used is free again.
   *
   * @param called - Endpoint of the call.
   */
  end(called?: string): void {
    if (this.promised !== called) this.#giveBack?.();
    this.promised = this.#giveBack = undefined;
    if (this.#turn === undefined) return;
    this.#services.pacing.leave(this.#turn);
    this.#turn = undefined;
  }

  /** Waits before a call; who waits for a place is promised the next one that is free. */
  async before({ step, waitMs, forSlot, isHeld }: AttemptMove): Promise<void> {
    const { environment, records, pacing } = this.#services;
    if (isHeld === true) {
      const release = pacing.hold(this.#account);
      this.#heldMs += waitMs;
      return wait(environment, waitMs, this.#signal).finally(release);
    }
    if (forSlot === 'turn') {
      this.#turn ??= pacing.queue(this.#account);
      await valueWithin(environment, this.#turn.called, waitMs);
      return undefined;
    }
    if (forSlot === undefined) return wait(environment, waitMs, this.#signal);
    const startedAt = environment.now();
    this.#giveBack?.();
    this.#giveBack = records.promise(step.endpoint);
    this.promised = step.endpoint.id;
    const leave = forSlot === 'first' ? pacing.enter(this.#account) : undefined;
    await wait(environment, waitMs, this.#signal);
    leave?.();
    this.forSlotMs += environment.now() - startedAt;
  }
}
