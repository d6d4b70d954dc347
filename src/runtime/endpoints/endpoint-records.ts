import type { Endpoint } from '../../catalog/endpoint.ts';
import {
  admission,
  type Admission,
  type CallOutcome,
  type Cooldown,
  type EndpointHealth,
  type HealthPolicy,
  observe,
  observeHang,
  observeStart,
  beganWith,
  hasChanged,
} from '../../core/fallback/health.ts';
import { type CountedHealth, forgiven, isOfItsRequest } from '../../core/fallback/forgiven.ts';
import type { Attempt } from '../../core/fallback/attempt.ts';
import { isExhausted } from '../../core/fallback/refusal-evidence.ts';
import { wasRefused, withBeside } from './calls-beside.ts';
import { answersStill } from '../../core/fallback/cooldown.ts';
import { endedLately, type LatelyEnded } from '../../core/fallback/outcomes.ts';
import { chargesAfter } from '../../core/selection/adaptive/charges.ts';
import { lateAnswerShare, NO_LATE_ENDS } from '../../core/selection/adaptive/hedge.ts';
import {
  DEFAULT_PACER_POLICY,
  FREE_PACE,
  paceAfterCall,
  paceAfterPromise,
  paceAfterReturn,
  paceAfterSending,
  type PacerPolicy,
  slotIn,
} from '../../core/selection/adaptive/pacer.ts';
import { type AdaptivePolicy, DEFAULT_ADAPTIVE_POLICY, MINIMUM_CALLS } from '../../core/selection/adaptive/policy.ts';
import { DEFAULT_HANG_DETECTION, silenceLikelihood } from '../../core/selection/adaptive/hang-detection.ts';
import { lateness } from '../../core/selection/adaptive/endpoint-room.ts';
import { growthFactor, type Timing, type TimedKind, type UsualTime } from '../../core/selection/adaptive/speed.ts';
import { failureUsd } from '../../core/selection/adaptive/health-score.ts';
import { calibrate, UNCALIBRATED, wantsReport } from '../../core/tokens/likely-tokens.ts';
import { measureCall, type CallMeasurement } from '../../core/selection/performance.ts';
import type { PlanStep } from '../../core/selection/route-plan.ts';
import type { EndpointRecord } from '../../core/selection/world.ts';
import type { Environment } from '../../platform/environment.ts';
import type { CallEnding, EndpointLoad, KnownEndpoints, RunningCall } from './endpoint-load.ts';
import type { HealthListener, IntendedCall, RecordPolicies, RecordsOptions, StartedCall } from './record-policies.ts';
import { isBlamed, type RequestFailures } from './request-failures.ts';
import { KnownRefusals } from './known-refusals.ts';
import { TokenCounts } from './token-counts.ts';
import { UsualTimes } from './usual-times.ts';

/** What this process knows of every endpoint it has called. The folds are pure; this holds their latest state. */
export class EndpointRecords {
  readonly #known: KnownEndpoints;
  #times: UsualTimes;
  readonly #policy: HealthPolicy;
  readonly #adaptive: AdaptivePolicy;
  readonly #pacer: PacerPolicy | undefined;
  readonly #hangDetection: Exclude<RecordPolicies['hangDetection'], false>;
  /** Without a pacer nobody waits for a place, so nobody is refused one. */
  readonly #concurrencyLimit: AdaptivePolicy['concurrencyLimit'];
  readonly #environment: Environment;
  /** When the process ran again after it had stood still. */
  #ranAgainAt = -Infinity;
  /** Called with every time for which an endpoint is not to be called, for those who share it. */
  onCooldown: ((endpoint: Endpoint, cooldown: Cooldown) => void) | undefined;
  readonly #onChange: HealthListener;
  /** What endpoints have refused. */
  readonly refusals: KnownRefusals;
  /** How endpoints count tokens of each account. */
  readonly counts: TokenCounts;

  constructor(
    known: KnownEndpoints,
    { health, adaptive, pacer, hangDetection }: RecordPolicies,
    environment: Environment,
    { onChange = () => {}, refusals = new KnownRefusals(), counts = new TokenCounts() }: RecordsOptions = {},
  ) {
    this.refusals = refusals;
    this.counts = counts;
    this.#onChange = onChange;
    this.#known = known;
    this.#policy = health;
    this.#adaptive = adaptive ?? DEFAULT_ADAPTIVE_POLICY;
    this.#times = new UsualTimes(this.#adaptive);
    this.#pacer = pacer === false ? undefined : (pacer ?? DEFAULT_PACER_POLICY);
    const { concurrencyLimit: limit } = this.#adaptive;
    this.#concurrencyLimit = pacer === false ? { ...limit, mostOver: Infinity } : limit;
    this.#hangDetection = hangDetection === false ? undefined : (hangDetection ?? DEFAULT_HANG_DETECTION);
    this.#environment = environment;
  }

  /** The same records, shared from now on, kept under other policies. */
  under(policies: RecordPolicies, onChange: HealthListener): EndpointRecords {
    const others = new EndpointRecords(this.#known, policies, this.#environment, {
      onChange,
      refusals: this.refusals,
      counts: this.counts,
    });
    others.#times = this.#times.under(others.#adaptive);
    return others;
  }

  /** Forgets that an endpoint refused our account: it may be called with another credential from now on. */
  forgetRefusal({ id }: Endpoint): void {
    const known = this.#known.find(id);
    const cause = known?.record.health.cooldown?.cause;
    if (known === undefined || cause === undefined || !OF_THE_ACCOUNT.has(cause)) return;
    known.record = { ...known.record, health: { ...known.record.health, cooldown: undefined, doubt: undefined } };
  }

  record = (endpoint: Endpoint): EndpointRecord | undefined => this.#known.find(endpoint.id)?.record;

  /** Whether an endpoint may be called now. */
  admission = (endpoint: Endpoint, call: IntendedCall = ANY_CALL): Admission =>
    this.#admission(endpoint, this.#environment.now(), call);

  /** Whether endpoints may be called at a time: the same, asked about many of them. */
  admissionAt(now: number): (endpoint: Endpoint) => Admission {
    return (endpoint) => this.#admission(endpoint, now, ANY_CALL);
  }

  #admission(endpoint: Endpoint, now: number, { tokens, promisedAt, account }: IntendedCall): Admission {
    const known = this.#known.find(endpoint.id);
    if (known === undefined) return ADMITTED;
    const { record, load } = known;
    const { health, pace } = record;
    const admitted = admission(health, this.#policy, now, {
      outliving: load.outliving(health.breaker, now),
      account,
    });
    if (!admitted.ok && admitted.cause !== 'rate_limited') return admitted;
    const room = load.room(endpoint, tokens, this.#concurrencyLimit, now);
    const isPaced = pace !== undefined && pace.rate !== Infinity && promisedAt !== endpoint.id;
    const slot = isPaced && this.#pacer !== undefined ? slotIn(pace, this.#pacer, now) : undefined;
    const waitMs = Math.max(room.waitMs, slot?.waitMs ?? 0);
    const headroom = Math.min(room.headroom, slot?.headroom ?? 1);
    // Whoever waits for the end of a refusal waits for a place behind those who wait already.
    if (!admitted.ok) return { ...admitted, waitMs: Math.max(admitted.waitMs, waitMs), headroom };
    if (waitMs > 0) {
      const crowded = room.crowded === true && waitMs === room.waitMs ? { crowded: true } : {};
      return { ok: false, waitMs, cause: 'pace', headroom, ...crowded };
    }
    return headroom === 1 ? admitted : { ...admitted, headroom };
  }

  /** Calls per second that an endpoint takes, as far as it is known. */
  rate = ({ id }: Endpoint): number => this.#known.find(id)?.record.pace?.rate ?? Infinity;

  /** Promises the next place to somebody who waits for it; the result gives it back unused. */
  promise(endpoint: Endpoint): () => void {
    const known = this.#known.of(endpoint.id);
    const pace = paceAfterPromise(known.record.pace ?? FREE_PACE, this.#environment.now());
    known.record = { ...known.record, pace };
    return () => (known.record = { ...known.record, pace: paceAfterReturn(known.record.pace ?? FREE_PACE) });
  }

  /** Notes that a call goes out, by default now. */
  started(
    endpoint: Endpoint,
    now: number = this.#environment.now(),
    { tokens: likely, promisedAt, account }: IntendedCall = ANY_CALL,
  ): StartedCall {
    const known = this.#known.called(endpoint.id);
    const { record, load } = known;
    const health = observeStart(record.health, this.#policy, now, account);
    const pace = paceAfterSending(record.pace ?? FREE_PACE, now, promisedAt === endpoint.id ? 'promised' : 'free');
    const { performance, speed, tokens, charges, unpriced } = record;
    known.record = { health, performance, speed, pace, tokens, charges, unpriced };
    load.started(endpoint, likely, now);
    if (health !== record.health) this.#compare(endpoint, record.health, health);
    const reportedMs = this.#pacer?.reportedMs ?? 0;
    return {
      generation: health.breaker.generation,
      onLimits: reportedMs === 0 ? undefined : load.listener(reportedMs, this.#environment.now),
      load,
    };
  }

  /** What is under way at an endpoint, for those who count it together with other instances. */
  loadOf({ id }: Endpoint): EndpointLoad {
    return this.#known.of(id).load;
  }

  /** Leaves an endpoint alone because somebody else was told to. */
  cool(endpointId: string, { since, until, cause, asked, unproven }: Cooldown): void {
    const known = this.#known.of(endpointId);
    const { cooldown: current } = known.record.health;
    if (current !== undefined && current.until >= until && current.account === undefined) return;
    const now = this.#environment.now();
    // One refusal at another instance is no more than one here.
    if (unproven === true && answersStill(known.record.health, now)) return;
    // Clocks of instances differ a little.
    const cooldown = { since: Math.min(since, now), until, cause, asked, unproven };
    known.record = { ...known.record, health: { ...known.record.health, cooldown } };
  }

  /**
   * Notes how a call ended, by default now.
   *
   * @returns What a failure has left, where it may turn out to be the fault of its request; `again` where a failure of the
   * same request was counted before.
   */
  ended(
    endpoint: Endpoint,
    outcome: CallOutcome,
    measurement?: CallMeasurement,
    now: number = this.#environment.now(),
  ): CountedHealth | 'again' | undefined {
    const known = this.#known.of(endpoint.id);
    const { record } = known;
    const health = observe(record.health, this.#policy, withBeside(outcome, known, now), now);
    known.record = {
      health,
      performance: measurement === undefined ? record.performance : measureCall(record.performance, measurement, now),
      speed: this.#times.after(endpoint, record.speed, measurement, now),
      pace:
        !outcome.ok && outcome.failure.doubtful === true
          ? record.pace
          : paceAfterCall(record.pace, this.#pacer, { outcome, health }, now),
      tokens: record.tokens,
      charges: record.charges,
      unpriced: record.unpriced,
    };
    known.load.ended();
    if (this.onCooldown !== undefined && !outcome.ok) {
      const cooldown = beganWith(record.health, health, outcome.failure.kind, now);
      if (cooldown !== undefined) this.onCooldown(endpoint, cooldown);
    }
    this.#compare(endpoint, record.health, health);
    if (outcome.ok || !isBlamed(outcome.failure)) return undefined;
    if (outcome.again === true) return 'again';
    return { at: now, account: outcome.account, before: record.health, after: health };
  }

  /** Whether the last of these calls was refused by an endpoint that refuses all. */
  isExhausted(attempts: readonly Attempt[]): boolean {
    const last = attempts.at(-1);
    return wasRefused(last) && isExhausted(this.record(last.step.endpoint)?.health.refusals);
  }

  /** Takes back what a request has left that failed in the end, where its failures were its own. */
  excuse({ all }: RequestFailures): void {
    const ends = all.map(({ endpoint, counted, failures }) => {
      const succeededAt = this.#known.find(endpoint.id)?.load.lastSuccessAt ?? -Infinity;
      return { failures, succeededSince: succeededAt > counted.at };
    });
    if (!isOfItsRequest(ends)) return;
    const now = this.#environment.now();
    for (const { endpoint, counted } of all) {
      const known = this.#known.find(endpoint.id);
      if (known === undefined) continue;
      const { record } = known;
      const health = forgiven(record.health, this.#policy, counted, now);
      known.record = { ...record, health };
      this.#compare(endpoint, record.health, health);
    }
  }

  /** How the calls of an endpoint have ended in the last half minute. */
  endedLately = ({ endpoint: { id } }: PlanStep): LatelyEnded => {
    const health = this.#known.find(id)?.record.health;
    return health === undefined ? { succeeded: 0, failed: 0 } : endedLately(health, this.#environment.now(), 30_000);
  };

  /** Notes that a call was given up because another one answered: it would have taken longer than this. */
  gaveUp(endpoint: Endpoint, { kind, work: tokens }: Pick<RunningCall, 'kind' | 'work'>, afterMs: number): void {
    const known = this.#known.of(endpoint.id);
    const { record } = known;
    const now = this.#environment.now();
    const speed = this.#times.afterGivingUp(endpoint, record.speed, { kind, ms: afterMs, tokens }, now);
    if (speed !== record.speed) known.record = { ...record, speed };
  }

  /** Whether a call has been answered that began after a time. */
  answeredSince = ({ endpoint: { id } }: PlanStep, at: number): boolean =>
    (this.#known.find(id)?.load.answeredStartedAt ?? -Infinity) > at;

  /** Notes how a late call ended that was waited for. */
  lateEnded({ id }: Endpoint, end: CallEnding): void {
    this.#known.of(id).load.lateEnded(end);
  }

  /** Share of the late calls of an endpoint that answer after all. */
  lateAnswerShare({ id }: Endpoint): number {
    return lateAnswerShare(this.#known.find(id)?.load.lateEnds ?? NO_LATE_ENDS);
  }

  /** How long calls of an endpoint usually take. */
  usual(endpoint: Endpoint, kind: TimedKind): UsualTime | undefined {
    return this.#times.of(endpoint, this.#known.find(endpoint.id)?.record.speed, kind);
  }

  /**
   * Notes that a call does not wait any more: its endpoint has begun an answer, so that what is silent after this is
   * silent since now, or there will be none.
   */
  waited(endpoint: Endpoint, call: RunningCall, end: CallEnding, now: number): void {
    const { record, load } = this.#known.of(endpoint.id);
    if (!load.waited(call, end, now)) return;
    const usual = this.#times.of(endpoint, record.speed, call.kind);
    if (usual === undefined) return;
    const { among: calls, startedAt, work } = call;
    const { growth, mean, isScaled } = usual;
    const late = lateness((now - startedAt) / growthFactor(growth, work), mean, calls);
    load.learnLimit({ calls, startedAt, late, isScaled, isAnswered: end === 'answered' }, this.#adaptive, now);
  }

  /** What a call takes at an endpoint at a time: the same, asked about many of them. */
  timingAt(now: number, kind: TimedKind): (endpoint: Endpoint) => Timing | undefined {
    return (endpoint) => {
      const known = this.#known.find(endpoint.id);
      return known?.load.timing(this.#times.of(endpoint, known.record.speed, kind), now);
    };
  }

  /** Notes that this process did not run for a while: whoever was silent meanwhile may have answered. */
  stalled(): void {
    this.#ranAgainAt = this.#environment.now();
  }

  /** How likely the silence of an endpoint is by chance, as a natural logarithm; 0 where nothing is known. */
  silenceLikelihood(endpoint: Endpoint): number {
    const load = this.#known.find(endpoint.id)?.load;
    if (this.#hangDetection === undefined || load === undefined) return 0;
    const now = this.#environment.now();
    const calls = load.waitingCalls(now, this.#ranAgainAt, (kind) => this.usual(endpoint, kind));
    return silenceLikelihood(calls, now - Math.max(load.lastSuccessAt, this.#ranAgainAt), this.#hangDetection);
  }

  /** Milliseconds after which a call is late while nothing is known of its model; undefined once something is. */
  firstResponseMs(endpoint: Endpoint, { kind, patience }: Pick<RunningCall, 'kind' | 'patience'>): number | undefined {
    const isKnown = (this.usual(endpoint, kind)?.calls ?? 0) >= MINIMUM_CALLS;
    return isKnown ? undefined : this.#hangDetection && this.#hangDetection.firstResponseMs * patience;
  }

  /** Whether `part` of what shows that an endpoint hangs is there; one that was never heard of shows nothing. */
  isSilent(endpoint: Endpoint, part = 1): boolean {
    return this.#hangDetection !== undefined && this.silenceLikelihood(endpoint) < part * this.#hangDetection.threshold;
  }

  /** Whether an endpoint has never answered, and a call waits longer than should be waited for that. */
  #isUnanswered(endpoint: Endpoint): boolean {
    const load = this.#known.find(endpoint.id)?.load;
    if (load === undefined || load.lastSuccessAt !== -Infinity) return false;
    const now = this.#environment.now();
    const waitsTooLong = (call: RunningCall): boolean =>
      now - Math.max(call.startedAt, this.#ranAgainAt) >= (this.firstResponseMs(endpoint, call) ?? Infinity);
    return load.running.some(waitsTooLong);
  }

  /** Looks whether an endpoint hangs. If it does, it is not called, and everybody who waits for it is told. */
  checkForHang(endpoint: Endpoint): boolean {
    if (this.#hangDetection === undefined || !(this.isSilent(endpoint) || this.#isUnanswered(endpoint))) return false;
    const known = this.#known.of(endpoint.id);
    const { record } = known;
    const now = this.#environment.now();
    const silentMs = known.load.running.reduce((most, { startedAt }) => Math.max(most, now - startedAt), 0);
    const lostUsd = failureUsd(silentMs);
    const health = observeHang(record.health, this.#policy, { roll: this.#environment.random(), lostUsd }, now);
    if (health !== record.health) {
      known.record = { ...record, health };
      this.onCooldown?.(endpoint, { since: now, until: health.breaker.openUntil, cause: 'timeout' });
      this.#compare(endpoint, record.health, health);
    }
    for (const call of known.load.running) call.onHang();
    return true;
  }

  /** Whether the circuit of an endpoint is open, or only half closed again. */
  isOut(endpoint: Endpoint): boolean {
    return this.#known.find(endpoint.id)?.record.health.breaker.state === 'open';
  }

  /** Whether a report of how many tokens a prompt had would teach anything at a time. */
  wantsTokens(endpoint: Endpoint, now: number): boolean {
    return wantsReport(this.#known.find(endpoint.id)?.record.tokens ?? UNCALIBRATED, now);
  }

  /** Notes how many tokens an endpoint counted in a prompt, and how many were estimated. */
  reported(endpoint: Endpoint, estimated: number, reported: number): void {
    const known = this.#known.of(endpoint.id);
    const tokens = calibrate(known.record.tokens ?? UNCALIBRATED, estimated, reported, this.#environment.now());
    known.record = { ...known.record, tokens };
  }

  /** Notes how many times as much as declared an answer cost. */
  charged({ id }: Endpoint, times: number, now: number): void {
    const known = this.#known.of(id);
    const charges = chargesAfter(known.record.charges, times, now);
    if (charges !== known.record.charges) known.record = { ...known.record, charges };
  }

  /** Notes that the cost of an answer is unknown; true the first time that this is noted of an endpoint. */
  noteUnpriced({ id }: Endpoint): boolean {
    const known = this.#known.of(id);
    if (known.record.unpriced === true) return false;
    known.record = { ...known.record, unpriced: true };
    return true;
  }

  /** Tells of a change, unless the cooldown and the circuit are as they were, whatever was counted meanwhile. */
  #compare(endpoint: Endpoint, before: EndpointHealth, after: EndpointHealth): void {
    if (hasChanged(before, after)) this.#onChange(endpoint, before, after);
  }
}

const ADMITTED: Admission = { ok: true };
const ANY_CALL: IntendedCall = { tokens: 0, promisedAt: undefined };

/** Failures that another credential may not have. */
const OF_THE_ACCOUNT: ReadonlySet<Cooldown['cause']> = new Set(['credentials', 'quota', 'model_not_found']);
