import type { Price } from '../../catalog/price.ts';
import type { OutageSchedule } from './outages.ts';
import { CACHE_MS, costOf, RateBucket, type Turn } from './simulated-server.ts';
import type { SimulatedEndpoint } from './world.ts';

interface Known {
  readonly endpoint: SimulatedEndpoint;
  readonly schedule: OutageSchedule;
  readonly bucket: RateBucket | undefined;
  readonly cached: Map<string, { readonly tokens: number; readonly untilMs: number }>;
  /** Times at which it was chosen. */
  readonly chosenAt: number[];
}

/**
 * Knows every outage and every rate limit, and gives each request to the endpoint that works and has the lowest price
 * for it. Sessions are cached there as they are for anybody else, but it does not stay with a dearer endpoint because a
 * prompt is cached there: a router that does can be a little cheaper.
 */
export class Oracle {
  readonly #known: readonly Known[];

  constructor(servers: readonly { readonly endpoint: SimulatedEndpoint; readonly schedule: OutageSchedule }[]) {
    this.#known = servers.map(({ endpoint, schedule }) => ({
      endpoint,
      schedule,
      bucket: endpoint.rate && new RateBucket(endpoint.rate),
      cached: new Map(),
      chosenAt: [],
    }));
  }

  /** US dollars that a request costs; undefined when no endpoint works. */
  cost({ session, promptTokens, answerTokens }: Turn, nowMs: number): number | undefined {
    let best: { readonly listUsd: number; readonly price: Price; readonly known: Known } | undefined;
    for (const known of this.#known) {
      const { impaired, price } = known.schedule.at(nowMs);
      if (impaired || known.bucket?.hasOne(nowMs) === false) continue;
      const listUsd = costOf(price, promptTokens, 0, answerTokens);
      if (best === undefined || listUsd < best.listUsd) best = { listUsd, price, known };
    }
    if (best === undefined) return undefined;
    const { endpoint, bucket, cached, chosenAt } = best.known;
    bucket?.take(nowMs);
    chosenAt.push(nowMs);
    const entry = cached.get(session);
    const cachedTokens = entry !== undefined && nowMs <= entry.untilMs ? Math.min(entry.tokens, promptTokens) : 0;
    const { cacheMs = CACHE_MS } = endpoint;
    if (cacheMs > 0) cached.set(session, { tokens: promptTokens, untilMs: nowMs + cacheMs });
    return costOf(best.price, promptTokens, cachedTokens, answerTokens);
  }

  /** Whether an endpoint was the best choice at some time within a span. */
  chose(name: string, fromMs: number, toMs: number): boolean {
    const chosenAt = this.#known.find(({ endpoint }) => endpoint.name === name)?.chosenAt ?? [];
    return chosenAt.some((ms) => ms >= fromMs && ms < toMs);
  }
}
