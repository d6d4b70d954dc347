/** What providers have refused, by endpoint, so that they are not called with it again. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { withoutRefused } from '../../core/fallback/refusal.ts';
import type { RefusedWord } from '../../contracts/failure.ts';

/** An endpoint as it is called since it refused something. */
export interface RefusingEndpoint {
  /** As it is in the catalog. */
  readonly from: Endpoint;
  /** As it is called. */
  readonly endpoint: Endpoint;
  readonly refusals: readonly RefusedWord[];
  /** Monotonic milliseconds until which it is called so: a provider may take tomorrow what it refused today. */
  readonly until: number;
}

/** Words of one endpoint that are kept. */
const MOST_WORDS = 16;
/** Endpoints that are kept; the one that was added first makes room. */
const MOST_ENDPOINTS = 1_000;
/** Milliseconds after which an endpoint is tried again with what it refused. */
const KEPT_MS = 3_600_000;

/** Endpoints that have refused something. */
export class KnownRefusals {
  readonly #known = new Map<string, RefusingEndpoint>();

  /** How an endpoint is called; undefined for one that has refused nothing. */
  of(endpoint: Endpoint, now: number): RefusingEndpoint | undefined {
    if (this.#known.size === 0) return undefined;
    const known = this.#known.get(endpoint.id);
    if (known === undefined) return undefined;
    // The catalog may have learned more about it meanwhile.
    if (known.until > now && known.from === endpoint) return known;
    this.#known.delete(endpoint.id);
    return undefined;
  }

  /**
   * Notes a refusal, unless it says nothing about other requests.
   *
   * @param without - Makes the endpoint that is called.
   */
  learn(endpoint: Endpoint, refusal: RefusedWord, without: typeof withoutRefused, now: number): void {
    if (refusal.passing === true) return;
    const before = this.of(endpoint, now)?.refusals ?? [];
    const others = before.filter(({ name }) => name !== refusal.name);
    const refusals = [...others, refusal].slice(-MOST_WORDS);
    this.#known.delete(endpoint.id);
    this.#known.set(endpoint.id, {
      from: endpoint,
      endpoint: without(endpoint, refusals),
      refusals,
      until: now + KEPT_MS,
    });
    const [oldest] = this.#known.keys();
    if (this.#known.size > MOST_ENDPOINTS && oldest !== undefined) this.#known.delete(oldest);
  }
}
