import type { Endpoint } from '../../catalog/endpoint.ts';
import type { AdaptivePolicy } from '../../core/selection/adaptive/policy.ts';
import {
  type EndpointSpeed,
  speedAfter,
  speedAfterGivingUp,
  type TimedKind,
  UNKNOWN_SPEED,
  usualAmongPeers,
  type UsualTime,
} from '../../core/selection/adaptive/wellness.ts';
import type { EndpointRecord, Measurement } from '../../core/selection/performance.ts';
import type { RecordMap } from './endpoint-records.ts';

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

  /** Learns from a call that was given up because another one answered: it would have taken longer than this. */
  afterGivingUp({ id, model }: Endpoint, kind: TimedKind, ms: number, now: number): EndpointSpeed | undefined {
    const { speed: policy, forgetMs } = this.#adaptive;
    const known = this.#records.get(id)?.speed;
    const expected = usualAmongPeers(known, this.#peers.get(model), kind, policy);
    const speed = speedAfterGivingUp(known ?? UNKNOWN_SPEED, policy, { kind, ms, forgetMs, expected }, now);
    return speed === UNKNOWN_SPEED ? undefined : speed;
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
    const expected = usualAmongPeers(speed, this.#peers.get(model), call.kind, policy);
    this.#peers.set(model, speedAfter(this.#peers.get(model) ?? UNKNOWN_SPEED, policy, call, now));
    return speedAfter(speed ?? UNKNOWN_SPEED, policy, { ...call, expected }, now);
  }
}

/** Weight of a new answer in the mean. */
const GAIN = 0.05;

/** How long the answers usually are that an account gets from a model. */
export class AnswerLengths {
  readonly #means: RecordMap<{ readonly tokens: number }>;

  constructor(means: RecordMap<{ readonly tokens: number }>) {
    this.#means = means;
  }

  /** Mean tokens of an answer; undefined where there was none yet. */
  usual(account: string, model: string | undefined): number | undefined {
    return model === undefined ? undefined : this.#means.get(`${account}\n${model}`)?.tokens;
  }

  note(account: string, model: string, tokens: number): void {
    const key = `${account}\n${model}`;
    const mean = this.#means.get(key)?.tokens;
    this.#means.set(key, { tokens: mean === undefined ? tokens : mean + GAIN * (tokens - mean) });
  }
}
