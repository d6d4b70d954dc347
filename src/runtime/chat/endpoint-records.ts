import type { Endpoint } from '../../catalog/endpoint.ts';
import {
  admission,
  type Admission,
  type CallOutcome,
  type Cooldown,
  type EndpointHealth,
  type HealthPolicy,
  observe,
  observeStart,
  UNKNOWN_HEALTH,
} from '../../core/fallback/health.ts';
import { calibrate, UNCALIBRATED, wantsReport } from '../../core/normalize/token-calibration.ts';
import { type EndpointRecord, measure, type Measurement, UNMEASURED } from '../../core/selection/performance.ts';
import type { Environment } from '../../platform/environment.ts';

/** Told how an endpoint stood before and how it stands now. */
export type HealthListener = (endpoint: Endpoint, before: EndpointHealth, after: EndpointHealth) => void;

/** A bounded map. */
export interface RecordMap<Value> {
  get(key: string): Value | undefined;
  set(key: string, value: Value): unknown;
}

const FRESH: EndpointRecord = { health: UNKNOWN_HEALTH, performance: UNMEASURED };

/** What this process knows of every endpoint it has called. The folds are pure; this holds their latest state. */
export class EndpointRecords {
  readonly #records: RecordMap<EndpointRecord>;
  readonly #policy: HealthPolicy;
  readonly #environment: Environment;
  /** Told of every time for which an endpoint is to be left alone, for those who share it. */
  onCooldown: ((endpoint: Endpoint, cooldown: Cooldown) => void) | undefined;
  readonly #onChange: HealthListener;

  /** @param onChange - Told when a cooldown or the breaker of an endpoint has changed. */
  constructor(
    records: RecordMap<EndpointRecord>,
    policy: HealthPolicy,
    environment: Environment,
    onChange: HealthListener = () => {},
  ) {
    this.#onChange = onChange;
    this.#records = records;
    this.#policy = policy;
    this.#environment = environment;
  }

  record = (endpoint: Endpoint): EndpointRecord | undefined => this.#records.get(endpoint.id);

  admission = (endpoint: Endpoint): Admission => {
    const record = this.#records.get(endpoint.id);
    return record === undefined ? ADMITTED : admission(record.health, this.#policy, this.#environment.now());
  };

  /** Notes that a call goes out; the result belongs to the breaker's current generation. */
  started(endpoint: Endpoint): number {
    const record = this.#records.get(endpoint.id) ?? FRESH;
    const health = observeStart(record.health, this.#policy, this.#environment.now());
    if (health !== record.health) this.#records.set(endpoint.id, { ...record, health });
    this.#compare(endpoint, record.health, health);
    return health.breaker.generation;
  }

  /** Leaves an endpoint alone because somebody else was told to. */
  cool(endpointId: string, { since, until, cause }: Cooldown): void {
    const record = this.#records.get(endpointId) ?? FRESH;
    const { cooldown: known } = record.health;
    if (known !== undefined && known.until >= until) return;
    // Clocks of instances differ a little.
    const cooldown = { since: Math.min(since, this.#environment.now()), until, cause };
    this.#records.set(endpointId, { ...record, health: { ...record.health, cooldown } });
  }

  /** Notes how a call ended. */
  ended(endpoint: Endpoint, outcome: CallOutcome, measurement?: Measurement): void {
    const now = this.#environment.now();
    const record = this.#records.get(endpoint.id) ?? FRESH;
    const health = observe(record.health, this.#policy, outcome, now);
    const performance = measurement === undefined ? record.performance : measure(record.performance, measurement, now);
    this.#records.set(endpoint.id, { ...record, health, performance });
    if (this.onCooldown !== undefined && !outcome.ok) {
      const cooldown = beganWith(record.health, health, outcome.failure.kind, now);
      if (cooldown !== undefined) this.onCooldown(endpoint, cooldown);
    }
    this.#compare(endpoint, record.health, health);
  }

  /** Whether a report of how many tokens a prompt had would teach anything. */
  wantsTokens(endpoint: Endpoint): boolean {
    return wantsReport(this.#records.get(endpoint.id)?.tokens ?? UNCALIBRATED, this.#environment.now());
  }

  /** Notes how many tokens an endpoint counted in a prompt, and how many were estimated. */
  reported(endpoint: Endpoint, estimated: number, reported: number): void {
    const record = this.#records.get(endpoint.id) ?? FRESH;
    const tokens = calibrate(record.tokens ?? UNCALIBRATED, estimated, reported, this.#environment.now());
    this.#records.set(endpoint.id, { ...record, tokens });
  }

  #compare(endpoint: Endpoint, before: EndpointHealth, after: EndpointHealth): void {
    if (before.cooldown === after.cooldown && before.breaker === after.breaker) return;
    this.#onChange(endpoint, before, after);
  }
}

/** The cooldown that a failure began: one that was asked for, or the opening of a breaker. */
function beganWith(
  before: EndpointHealth,
  after: EndpointHealth,
  cause: Cooldown['cause'],
  now: number,
): Cooldown | undefined {
  if (after.cooldown !== before.cooldown) return after.cooldown;
  const { state, openUntil } = after.breaker;
  if (state !== 'open' || openUntil === before.breaker.openUntil) return undefined;
  return { since: now, until: openUntil, cause };
}

const ADMITTED: Admission = { ok: true };
