import type { Endpoint } from '../../catalog/endpoint.ts';
import {
  admission,
  type Admission,
  type CallOutcome,
  type Cooldown,
  type EndpointHealth,
  type HealthPolicy,
  observe,
  observeSilence,
  observeStart,
  UNKNOWN_HEALTH,
} from '../../core/fallback/health.ts';
import type { ReportedLimits } from '../../core/selection/adaptive/endpoint-limits.ts';
import {
  DEFAULT_PACER_POLICY,
  FREE_PACE,
  paceAfterRefusal,
  paceAfterSending,
  paceAfterSuccess,
  type PacerPolicy,
  placeIn,
} from '../../core/selection/adaptive/pacer.ts';
import { type AdaptivePolicy, DEFAULT_ADAPTIVE_POLICY } from '../../core/selection/adaptive/policy.ts';
import {
  DEFAULT_SILENCE_POLICY,
  silenceOf,
  type SilencePolicy,
  type WaitingCall,
} from '../../core/selection/adaptive/silence.ts';
import type { TimedKind, UsualTime } from '../../core/selection/adaptive/wellness.ts';
import { calibrate, UNCALIBRATED, wantsReport } from '../../core/tokens/likely-tokens.ts';
import { type EndpointRecord, measure, type Measurement, UNMEASURED } from '../../core/selection/performance.ts';
import type { Environment } from '../../platform/environment.ts';
import { EndpointLoad, type RunningCall } from './endpoint-load.ts';
import { UsualTimes } from './usual-times.ts';

/** Told how an endpoint came before and how it stands now. */
export type HealthListener = (endpoint: Endpoint, before: EndpointHealth, after: EndpointHealth) => void;

/** A bounded map. */
export interface RecordMap<Value> {
  get(key: string): Value | undefined;
  set(key: string, value: Value): unknown;
}

/** How records are kept. */
export interface RecordPolicies {
  readonly health: HealthPolicy;
  readonly adaptive?: AdaptivePolicy | undefined;
  /** False: endpoints are called as fast as requests come, until they refuse. */
  readonly pacer?: PacerPolicy | false | undefined;
  /** False: silence is only noticed by timeouts. */
  readonly silence?: SilencePolicy | false | undefined;
}

interface Asked {
  readonly warm: boolean;
  readonly tokens: number;
  readonly promised: boolean;
}

const WARM: Asked = { warm: true, tokens: 0, promised: false };
const COLD: Asked = { warm: false, tokens: 0, promised: false };

const FRESH: EndpointRecord = { health: UNKNOWN_HEALTH, performance: UNMEASURED };

/** What this process knows of every endpoint it has called. The folds are pure; this holds their latest state. */
export class EndpointRecords {
  readonly #records: RecordMap<EndpointRecord>;
  #loads = new Map<string, EndpointLoad>();
  #times: UsualTimes;
  readonly #policy: HealthPolicy;
  readonly #adaptive: AdaptivePolicy;
  readonly #pacer: PacerPolicy | undefined;
  readonly #silence: SilencePolicy | undefined;
  /** Without a pacer nobody waits for a place, so nobody is refused one. */
  readonly #crowd: AdaptivePolicy['crowd'];
  readonly #environment: Environment;
  /** When the process ran again after it had stood still. */
  #ranAgainAt = -Infinity;
  /** Told of every time for which an endpoint is to be left alone, for those who share it. */
  onCooldown: ((endpoint: Endpoint, cooldown: Cooldown) => void) | undefined;
  readonly #onChange: HealthListener;

  /** @param onChange - Told when a cooldown or the breaker of an endpoint has changed. */
  constructor(
    records: RecordMap<EndpointRecord>,
    { health, adaptive, pacer, silence }: RecordPolicies,
    environment: Environment,
    onChange: HealthListener = () => {},
  ) {
    this.#onChange = onChange;
    this.#records = records;
    this.#policy = health;
    this.#adaptive = adaptive ?? DEFAULT_ADAPTIVE_POLICY;
    this.#times = new UsualTimes(records, this.#adaptive);
    this.#pacer = pacer === false ? undefined : (pacer ?? DEFAULT_PACER_POLICY);
    this.#crowd = pacer === false ? { ...this.#adaptive.crowd, mostOver: Infinity } : this.#adaptive.crowd;
    this.#silence = silence === false ? undefined : (silence ?? DEFAULT_SILENCE_POLICY);
    this.#environment = environment;
  }

  /** The same records, shared from now on, kept under other policies. */
  under(policies: RecordPolicies, onChange: HealthListener): EndpointRecords {
    const others = new EndpointRecords(this.#records, policies, this.#environment, onChange);
    others.#loads = this.#loads;
    others.#times = this.#times.under(others.#adaptive);
    return others;
  }

  /** Forgets that an endpoint refused our account: it may be called with another credential from now on. */
  forgetRefusal({ id }: Endpoint): void {
    const record = this.#records.get(id);
    const cause = record?.health.cooldown?.cause;
    if (record === undefined || cause === undefined || !OF_THE_ACCOUNT.has(cause)) return;
    this.#records.set(id, { ...record, health: { ...record.health, cooldown: undefined, doubt: undefined } });
  }

  record = (endpoint: Endpoint): EndpointRecord | undefined => this.#records.get(endpoint.id);

  /**
   * Whether an endpoint may be called now.
   *
   * @param warm - Whether the prompt is likely to be in its cache: such calls may use all of its rate.
   * @param tokens - Tokens that the call is likely to have.
   * @param promised - Whether it has waited for its place, which is then no longer counted against it.
   */
  admission = (endpoint: Endpoint, warm = false, tokens = 0, promised = false): Admission => {
    const record = this.#records.get(endpoint.id);
    return record === undefined
      ? ADMITTED
      : this.#admissionOf(endpoint, record, { warm, tokens, promised }, this.#environment.now());
  };

  /** Whether endpoints may be called at a time: the same, asked about many of them. */
  admissionAt(now: number): (endpoint: Endpoint, warm: boolean) => Admission {
    return (endpoint, warm) => {
      const record = this.#records.get(endpoint.id);
      return record === undefined ? ADMITTED : this.#admissionOf(endpoint, record, warm ? WARM : COLD, now);
    };
  }

  #admissionOf(endpoint: Endpoint, record: EndpointRecord, { warm, tokens, promised }: Asked, now: number): Admission {
    const admitted = admission(record.health, this.#policy, now);
    if (!admitted.ok && admitted.cause !== 'rate_limited') return admitted;
    const room = this.#loads.get(endpoint.id)?.room(endpoint, tokens, this.#crowd, now) ?? UNLIMITED;
    const { pace } = record;
    const place =
      this.#pacer === undefined || pace === undefined || promised ? undefined : placeIn(pace, this.#pacer, warm, now);
    const waitMs = Math.max(room.waitMs, place?.waitMs ?? 0);
    const headroom = Math.min(room.headroom, place?.headroom ?? 1);
    // Whoever waits for the end of a refusal waits for a place behind those who wait already.
    if (!admitted.ok) return { ...admitted, waitMs: Math.max(admitted.waitMs, waitMs), headroom };
    if (waitMs > 0) return { ok: false, waitMs, cause: 'pace', headroom };
    return headroom === 1 ? admitted : { ...admitted, headroom };
  }

  /** Calls per second that an endpoint takes, as far as it is known. */
  rate(endpoint: Endpoint): number {
    return this.#records.get(endpoint.id)?.pace?.rate ?? Infinity;
  }

  /** Promises the next place to somebody who waits for it. */
  promise(endpoint: Endpoint): void {
    const record = this.#records.get(endpoint.id) ?? FRESH;
    const pace = paceAfterSending(record.pace ?? FREE_PACE, this.#environment.now());
    this.#records.set(endpoint.id, { ...record, pace });
  }

  /**
   * Notes that a call goes out; the result belongs to the breaker's current generation.
   *
   * @param call - `tokens` that it is likely to have, and whether its place was promised before.
   */
  started(endpoint: Endpoint, call: { readonly tokens?: number; readonly promised?: boolean } = {}): number {
    const now = this.#environment.now();
    const record = this.#records.get(endpoint.id) ?? FRESH;
    const health = observeStart(record.health, this.#policy, now);
    const pace = call.promised === true ? record.pace : paceAfterSending(record.pace ?? FREE_PACE, now);
    this.#records.set(endpoint.id, { ...record, health, pace });
    this.#load(endpoint).started(endpoint, call.tokens ?? 0, now);
    this.#compare(endpoint, record.health, health);
    return health.breaker.generation;
  }

  /** Notes that all instances together use the declared limits of an endpoint up. */
  full(endpoint: Endpoint, waitMs: number): void {
    if (!this.#records.get(endpoint.id)) this.#records.set(endpoint.id, FRESH);
    this.#load(endpoint).full(this.#environment.now() + waitMs);
  }

  /** Notes how many tokens a call had that was sent with another estimate. */
  used(endpoint: Endpoint, sentAt: number, estimated: number, tokens: number): void {
    this.#load(endpoint).used(sentAt, estimated, tokens);
  }

  /** Leaves an endpoint alone because somebody else was told to. */
  cool(endpointId: string, { since, until, cause, asked }: Cooldown): void {
    const record = this.#records.get(endpointId) ?? FRESH;
    const { cooldown: known } = record.health;
    if (known !== undefined && known.until >= until) return;
    // Clocks of instances differ a little.
    const cooldown = { since: Math.min(since, this.#environment.now()), until, cause, asked };
    this.#records.set(endpointId, { ...record, health: { ...record.health, cooldown } });
  }

  /** Notes how a call ended. */
  ended(endpoint: Endpoint, outcome: CallOutcome, measurement?: Measurement): void {
    const now = this.#environment.now();
    const record = this.#records.get(endpoint.id) ?? FRESH;
    const health = observe(record.health, this.#policy, outcome, now);
    const performance = measurement === undefined ? record.performance : measure(record.performance, measurement, now);
    this.#records.set(endpoint.id, {
      ...record,
      health,
      performance,
      speed: this.#times.after(endpoint, record.speed, measurement, now),
      pace: this.#paceAfter(record.pace, outcome, health, now),
    });
    this.#load(endpoint).ended();
    if (this.onCooldown !== undefined && !outcome.ok) {
      const cooldown = beganWith(record.health, health, outcome.failure.kind, now);
      if (cooldown !== undefined) this.onCooldown(endpoint, cooldown);
    }
    this.#compare(endpoint, record.health, health);
  }

  /** Notes that a call was given up because another one answered: it would have taken longer than this. */
  gaveUp(endpoint: Endpoint, kind: TimedKind, afterMs: number): void {
    const record = this.#records.get(endpoint.id) ?? FRESH;
    const speed = this.#times.afterGivingUp(endpoint, kind, afterMs, this.#environment.now());
    if (speed !== record.speed) this.#records.set(endpoint.id, { ...record, speed });
  }

  /** How long calls of an endpoint usually take. */
  usual(endpoint: Endpoint, kind: TimedKind): UsualTime | undefined {
    return this.#times.of(endpoint, kind);
  }

  /** Notes that a call waits for its answer; the result ends that, and is told whether it came. */
  waiting(endpoint: Endpoint, call: RunningCall): (isAnswered: boolean) => void {
    const usual = (): UsualTime | undefined => this.#times.of(endpoint, call.kind);
    return this.#load(endpoint).waiting(call, usual, this.#adaptive, this.#environment.now);
  }

  /** Notes that an endpoint has just begun an answer: what is silent after this is silent since now. */
  answered(endpoint: Endpoint): void {
    this.#load(endpoint).lastSuccessAt = this.#environment.now();
  }

  /** Whether an endpoint has begun an answer after a time. */
  answeredSince({ id }: Endpoint, at: number): boolean {
    return (this.#loads.get(id)?.lastSuccessAt ?? -Infinity) > at;
  }

  /** Notes that this process did not run for a while: whoever was silent meanwhile may have answered. */
  stalled(): void {
    this.#ranAgainAt = this.#environment.now();
  }

  /** How likely the silence of an endpoint is by chance, as a natural logarithm; 0 where nothing is known. */
  silence(endpoint: Endpoint): number {
    const load = this.#loads.get(endpoint.id);
    if (this.#silence === undefined || load === undefined) return 0;
    const now = this.#environment.now();
    const calls: WaitingCall[] = [];
    for (const { startedAt, kind } of load.running) {
      const usual = this.usual(endpoint, kind);
      if (usual !== undefined) calls.push({ ageMs: now - Math.max(startedAt, this.#ranAgainAt), usual });
    }
    const heardAt = Math.max(load.lastSuccessAt, this.#ranAgainAt);
    return silenceOf(calls, now - heardAt, this.#silence, this.#adaptive.speed);
  }

  /** Milliseconds after which a call is late while nothing is known of its model, if it may take so much longer. */
  unheardMs(endpoint: Endpoint, kind: TimedKind, longer: number): number | undefined {
    return this.#isKnown(endpoint, kind) ? undefined : this.#silence && this.#silence.unheardMs * longer;
  }

  /** Whether `part` of what shows that an endpoint hangs is there; one that was never heard of shows nothing. */
  isSilent(endpoint: Endpoint, part = 1): boolean {
    return this.#silence !== undefined && this.silence(endpoint) < part * this.#silence.threshold;
  }

  /** Whether it is known how long calls take. */
  #isKnown(endpoint: Endpoint, kind: TimedKind): boolean {
    return (this.usual(endpoint, kind)?.calls ?? 0) >= this.#adaptive.speed.minimumCalls;
  }

  /** Whether an endpoint has never answered, and a call waits longer than should be waited for that. */
  #isUnheard(endpoint: Endpoint): boolean {
    const load = this.#loads.get(endpoint.id);
    if (load === undefined || load.lastSuccessAt !== -Infinity) return false;
    const now = this.#environment.now();
    for (const { startedAt, kind, unheardMs = Infinity } of load.running) {
      if (now - Math.max(startedAt, this.#ranAgainAt) >= unheardMs && !this.#isKnown(endpoint, kind)) return true;
    }
    return false;
  }

  /** Looks whether an endpoint hangs. If it does, it is left alone, and everybody who waits for it is told. */
  checkSilence(endpoint: Endpoint): boolean {
    if (this.#silence === undefined || !(this.isSilent(endpoint) || this.#isUnheard(endpoint))) return false;
    const record = this.#records.get(endpoint.id) ?? FRESH;
    const now = this.#environment.now();
    const health = observeSilence(record.health, this.#policy, now, this.#environment.random());
    if (health !== record.health) {
      this.#records.set(endpoint.id, { ...record, health });
      this.onCooldown?.(endpoint, { since: now, until: health.breaker.openUntil, cause: 'timeout' });
      this.#compare(endpoint, record.health, health);
    }
    for (const call of this.#load(endpoint).running) call.onSilence();
    return true;
  }

  /** Whether the circuit of an endpoint is open, or only half closed again. */
  isOut(endpoint: Endpoint): boolean {
    return this.#records.get(endpoint.id)?.health.breaker.state === 'open';
  }

  /** What hears what a provider says about its limits, for a call that has just been sent; undefined where it does not count. */
  limitsListener(endpoint: Endpoint): ((limits: ReportedLimits) => void) | undefined {
    const mostMs = this.#pacer?.reportedMs ?? 0;
    if (mostMs === 0) return undefined;
    return this.#load(endpoint).listener(mostMs, this.#environment.now);
  }

  #paceAfter(
    pace: EndpointRecord['pace'],
    outcome: CallOutcome,
    { cooldown }: EndpointHealth,
    now: number,
  ): EndpointRecord['pace'] {
    if (this.#pacer === undefined || pace === undefined) return pace;
    if (outcome.ok) return paceAfterSuccess(pace, this.#pacer);
    if (outcome.failure.kind !== 'rate_limited') return pace;
    return paceAfterRefusal(pace, this.#pacer, cooldown?.asked === true ? cooldown.until : undefined, now);
  }

  #load({ id }: Endpoint): EndpointLoad {
    let load = this.#loads.get(id);
    if (load === undefined) {
      load = new EndpointLoad();
      this.#loads.set(id, load);
    }
    return load;
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

  /** Notes that the cost of an answer is unknown; true the first time that this is noted of an endpoint. */
  noteUnpriced({ id }: Endpoint): boolean {
    const record = this.#records.get(id) ?? FRESH;
    if (record.unpriced === true) return false;
    this.#records.set(id, { ...record, unpriced: true });
    return true;
  }

  #compare(endpoint: Endpoint, before: EndpointHealth, after: EndpointHealth): void {
    if (before.cooldown === after.cooldown && isSame(before.breaker, after.breaker)) return;
    this.#onChange(endpoint, before, after);
  }
}

/** Whether a circuit stands as it stood, whatever was counted meanwhile. */
function isSame(before: EndpointHealth['breaker'], after: EndpointHealth['breaker']): boolean {
  return before.state === after.state && before.openings === after.openings && before.probes === after.probes;
}

const UNLIMITED = { waitMs: 0, headroom: 1 };

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

/** Failures that another credential may not have. */
const OF_THE_ACCOUNT: ReadonlySet<Cooldown['cause']> = new Set(['credentials', 'quota', 'model_not_found']);
