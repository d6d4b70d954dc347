/** Remembers which prompts accounts send repeatedly. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import { marksItsCache, prefixKeysOf, type RepeatedPrefix, withCacheMarks } from '../../core/normalize/cache-marks.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import type { RoutePlan } from '../../core/selection/route-plan.ts';
import type { Provider } from '../../contracts/provider.ts';
import type { Environment } from '../../platform/environment.ts';
import type { RecordMap } from './endpoint-load.ts';

/** When a prefix was sent. */
interface Sent {
  readonly at: number;
}

/** Shorter prompts than this many tokens are not kept in any provider's cache. */
const LEAST_TOKENS = 500;

/**
 * Knows which prompts accounts send again and again, for providers that cache nothing without a mark. Only made where
 * there is one.
 */
export class RepeatedPrefixes {
  readonly #sent: RecordMap<Sent>;
  readonly #environment: Environment;
  /** Milliseconds after which a cache has forgotten. */
  readonly #cacheMs: number;

  constructor(sent: RecordMap<Sent>, cacheMs: number, environment: Environment) {
    this.#sent = sent;
    this.#cacheMs = cacheMs;
    this.#environment = environment;
  }

  /** The marks of one request: the same for all its calls, so that a second call of it is no repetition. */
  markerFor(
    plan: RoutePlan,
  ): (request: NormalizedRequest, provider: Provider, endpoint: Endpoint) => NormalizedRequest {
    let repeated: RepeatedPrefix | 'nothing' | undefined;
    return (request, provider, { implicitCaching, price }) => {
      if (provider.cacheMarks !== true || implicitCaching) return request;
      const saves = price?.cacheRead === undefined || price.cacheRead < price.prompt;
      if (!saves || request.needs.promptTokens < LEAST_TOKENS || marksItsCache(request)) return request;
      repeated ??= this.#note(request, plan);
      return repeated === 'nothing' ? request : withCacheMarks(request, repeated);
    };
  }

  /** Notes that a prompt is sent, and says what of it was sent before. */
  #note(request: NormalizedRequest, { steps }: RoutePlan): RepeatedPrefix | 'nothing' {
    const { conversation, instructions } = prefixKeysOf(request);
    const isKnown = [conversation, instructions].map((key) => key !== undefined && this.#wasSent(key));
    // Other instances may have served the session: then its plan knows.
    if (isKnown[0] === true || steps.some(({ figures }) => (figures?.warmth ?? 0) > 0)) return 'conversation';
    return isKnown[1] === true ? 'instructions' : 'nothing';
  }

  #wasSent(key: string): boolean {
    const now = this.#environment.now();
    const before = this.#sent.get(key);
    this.#sent.set(key, { at: now });
    return before !== undefined && now - before.at <= this.#cacheMs;
  }
}
