import type { Endpoint } from '../../catalog/endpoint.ts';
import { isLimited } from '../../core/selection/adaptive/endpoint-room.ts';
import type { RuntimeServices } from '../chat/services.ts';
import type { SharedSlot, NoSlot } from './shared-limits.ts';

/** The places that the calls of one request have. Costs nothing where no endpoint declares limits. */
export class RequestSlots<Call> {
  readonly #services: Pick<RuntimeServices, 'sharedLimits' | 'records' | 'environment'>;
  readonly #likelyTokens: (endpoint: Endpoint) => number;
  #next: SharedSlot | undefined;
  #taken: Map<Call, SharedSlot | undefined> | undefined;

  constructor(
    services: Pick<RuntimeServices, 'sharedLimits' | 'records' | 'environment'>,
    likelyTokens: (endpoint: Endpoint) => number,
  ) {
    this.#services = services;
    this.#likelyTokens = likelyTokens;
  }

  /** Whether the next call may go to this endpoint: nothing is shared, or its place is taken. */
  covers(endpoint: Endpoint): boolean {
    return this.#services.sharedLimits === undefined || !isLimited(endpoint) || this.#next?.endpoint === endpoint;
  }

  /** Takes a place for the next call, instead of one at another endpoint. */
  async takeNext(endpoint: Endpoint): Promise<void> {
    this.releaseNext();
    this.#next = await this.take(endpoint);
  }

  /** The place of the call that is about to be made. */
  useNext(): SharedSlot | undefined {
    const next = this.#next;
    this.#next = undefined;
    return next;
  }

  releaseNext(): void {
    this.useNext()?.release('nothing');
  }

  /** Takes a place for a call beside another one; undefined when there is none, which is noted. */
  async take(endpoint: Endpoint): Promise<SharedSlot | undefined> {
    const { sharedLimits, records } = this.#services;
    if (sharedLimits === undefined || !isLimited(endpoint)) return undefined;
    const note = ({ waitMs }: NoSlot): void => records.loadOf(endpoint).full(this.#services.environment.now() + waitMs);
    const taken = await sharedLimits.take(endpoint, this.#likelyTokens(endpoint), note);
    if ('release' in taken) return taken;
    note(taken);
    return undefined;
  }

  /** Notes that a call has begun in a place. */
  begin(call: Call, endpoint: Endpoint, slot: SharedSlot | undefined): void {
    if (isLimited(endpoint)) (this.#taken ??= new Map()).set(call, slot);
  }

  /** Notes how many tokens a call had: its place is free, and of the tokens counts what it used. */
  end(call: Call, endpoint: Endpoint, startedAt: number, tokens: number | undefined): void {
    if (this.#taken?.has(call) !== true) return;
    if (tokens !== undefined)
      this.#services.records.loadOf(endpoint).used(startedAt, this.#likelyTokens(endpoint), tokens);
    this.#taken.get(call)?.release(tokens);
    this.#taken.delete(call);
  }
}
