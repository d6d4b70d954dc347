import type { Endpoint } from '../../catalog/endpoint.ts';
import type { AdaptivePolicy } from '../../core/selection/adaptive/policy.ts';
import {
  type EndpointSpeed,
  speedAfter,
  type TimedKind,
  UNKNOWN_SPEED,
  usualAmongPeers,
  type UsualTime,
} from '../../core/selection/adaptive/wellness.ts';
import type { EndpointRecord, Measurement } from '../../core/selection/performance.ts';

/** How long calls usually take: of an endpoint as far as it was called itself, and otherwise of all that serve its model. */
export class UsualTimes {
  readonly #records: { get(key: string): EndpointRecord | undefined };
  readonly #adaptive: AdaptivePolicy;
  /** By model, whoever answers. */
  readonly #peers: Map<string, EndpointSpeed>;

  constructor(
    records: { get(key: string): EndpointRecord | undefined },
    adaptive: AdaptivePolicy,
    peers = new Map<string, EndpointSpeed>(),
  ) {
    this.#records = records;
    this.#adaptive = adaptive;
    this.#peers = peers;
  }

  /** The same, shared from now on, under another policy. */
  under(adaptive: AdaptivePolicy): UsualTimes {
    return new UsualTimes(this.#records, adaptive, this.#peers);
  }

  /** Undefined where nothing is known of any endpoint of the model. */
  of(endpoint: Endpoint, kind: TimedKind): UsualTime | undefined {
    return usualAmongPeers(
      this.#records.get(endpoint.id)?.speed,
      this.#peers.get(endpoint.model),
      kind,
      this.#adaptive.speed,
    );
  }

  /** Learns from a call, and gives what is known of its endpoint after it. */
  after(
    { model }: Endpoint,
    speed: EndpointSpeed | undefined,
    measurement: Measurement | undefined,
    now: number,
  ): EndpointSpeed | undefined {
    const ms = measurement?.latencyMs;
    if (ms === undefined) return speed;
    const { speed: policy, forgetMs } = this.#adaptive;
    const call = { kind: measurement?.inOnePiece === true ? 'whole' : 'streaming', ms, forgetMs } as const;
    this.#peers.set(model, speedAfter(this.#peers.get(model) ?? UNKNOWN_SPEED, policy, call, now));
    return speedAfter(speed ?? UNKNOWN_SPEED, policy, call, now);
  }
}
