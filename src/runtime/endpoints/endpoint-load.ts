/** Counts what is under way at each endpoint. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import {
  type Allowance,
  allowanceAfterSending,
  allowanceLeft,
  allowanceOf,
  headroomOf,
  type Room,
  isLimited,
  type MinuteUse,
  useAfterAnswer,
  useAfterSending,
  waitForAllowance,
  waitForLimits,
  type ConcurrencyLimit,
  type ConcurrencyLimitPolicies,
  concurrencyLimitAfter,
  concurrencyRoom,
  type CrowdedCall,
} from '../../core/selection/adaptive/endpoint-room.ts';
import type { CallsBeside } from '../../core/fallback/refusal-evidence.ts';
import type { Breaker } from '../../core/fallback/breaker.ts';
import { outlives } from '../../core/fallback/throttle.ts';
import { lateEndsAfter, NO_LATE_ENDS } from '../../core/selection/adaptive/hedge.ts';
import type { ConcurrencyLimitPolicy } from '../../core/selection/adaptive/policy.ts';
import {
  FIRST_CALLS,
  isKnownStill,
  type Timing,
  timingOf,
  type TimedKind,
  type UsualTime,
} from '../../core/selection/adaptive/speed.ts';
import type { WaitingCall } from '../../core/selection/adaptive/hang-detection.ts';
import { UNKNOWN_HEALTH } from '../../core/fallback/health.ts';
import { UNMEASURED } from '../../core/selection/performance.ts';
import type { EndpointRecord } from '../../core/selection/world.ts';
import type { ReportedLimits } from '../../contracts/provider.ts';

/** How a call ended for those who waited for its answer. */
export type CallEnding = 'answered' | 'failed';

/** A call that has not answered yet. */
export interface RunningCall {
  readonly startedAt: number;
  readonly kind: TimedKind;
  /** How many times as long as most calls it may take by its time limits. */
  readonly patience: number;
  /** Called once when its endpoint turns out to hang. */
  onHang(): void;
  /** Where it is among those of its endpoint. */
  index: number;
  /** Calls that its endpoint had when it began, itself counted. */
  among: number;
  /** Tokens that it has to compute, as far as that is known. */
  readonly tokens: number;
  /** Those that its endpoint is likely spared by its cache. */
  readonly spared: number;
  /** What it has to compute, with what the calls have that waited before it. */
  work: number;
  /** The same if nothing of it were in the cache any more. */
  mostWork: number;
  /** True once it has waited so long that it cannot have been refused, and that was counted. */
  isAccepted: boolean;
}

const UNLIMITED: Room = { waitMs: 0, headroom: 1 };

function lesserOf(one: Room, other: Room): Room {
  const headroom = Math.min(one.headroom, other.headroom);
  if (one.waitMs > 0 && other.waitMs > 0) return { waitMs: Math.max(one.waitMs, other.waitMs), headroom };
  const { waitMs, crowded } = one.waitMs > 0 ? one : other;
  return { waitMs, headroom, crowded };
}

/** What is under way at an endpoint, and what was sent lately. Changes with each call, so it is not copied each time. */
export class EndpointLoad {
  /**
   * Calls that wait for their answer. Not a set: each table that a set outgrows keeps what was in it, and points to the
   * next one, so once one of them is old, all calls after it outlive the young generation.
   */
  readonly #running: RunningCall[] = [];
  /** Tokens that these have to compute. */
  #waitingTokens = 0;
  /** Tokens that the cache likely spares them. */
  #sparedTokens = 0;
  /** Monotonic milliseconds. */
  lastSuccessAt = -Infinity;
  /** When the latest of the calls began that were answered. */
  answeredStartedAt = -Infinity;
  /** Milliseconds that calls took at most that have failed since the last success. */
  #failedAfterMs = 0;
  /** How calls ended that were so late that another was made beside them, or would have been. */
  lateEnds = NO_LATE_ENDS;
  #calls = 0;
  /** Calls since nothing was known of it; not all that were sent. */
  #tries = 0;
  #triedAt = -Infinity;
  #use: MinuteUse = [];
  /** Calls and tokens that were ever sent. */
  #sent = 0;
  #sentTokens = 0;
  /** What the endpoint said that it will still take. */
  #requests: Allowance | undefined;
  #tokens: Allowance | undefined;
  /** How many calls at a time it answers in time; undefined before the first answer. */
  #concurrencyLimit: ConcurrencyLimit | undefined;
  /** Until when other instances leave no room in the declared limits. */
  #fullUntil = -Infinity;

  /** Calls that wait for their answer. */
  get running(): readonly RunningCall[] {
    return this.#running;
  }

  /**
   * What one more call takes; undefined where it was hardly called lately, so that a few more calls have to find out.
   *
   * @param usual - How long such calls usually take.
   */
  timing(usual: UsualTime | undefined, now: number): Timing | undefined {
    if (this.#tries < FIRST_CALLS || !isKnownStill(this.#triedAt, now)) return undefined;
    return timingOf(usual, this.#calls, this.#waitingTokens);
  }

  /**
   * The calls that wait for their answer, with what is usual for each.
   *
   * @param since - Monotonic time from which on calls are seen to wait.
   */
  waitingCalls(now: number, since: number, usualOf: (kind: TimedKind) => UsualTime | undefined): WaitingCall[] {
    const calls: WaitingCall[] = [];
    for (const { startedAt, kind, mostWork: work } of this.#running) {
      const usual = usualOf(kind);
      if (usual !== undefined) calls.push({ ageMs: now - Math.max(startedAt, since), usual, work });
    }
    return calls;
  }

  /** Notes that a call waits for its answer. */
  waiting(call: RunningCall): void {
    call.index = this.#running.length;
    call.among = this.#calls;
    this.#waitingTokens += call.tokens;
    this.#sparedTokens += call.spared;
    call.work = this.#waitingTokens;
    call.mostWork = call.work + this.#sparedTokens;
    this.#running.push(call);
  }

  /**
   * Notes that a call does not wait any more, because its answer came or never will.
   *
   * @returns Whether it waited until now: the second time this has no effect.
   */
  waited(call: RunningCall, end: CallEnding, now: number): boolean {
    const running = this.#running;
    const { index, startedAt } = call;
    if (end === 'answered') {
      this.lastSuccessAt = now;
      this.answeredStartedAt = Math.max(this.answeredStartedAt, startedAt);
      this.#failedAfterMs = 0;
    }
    if (running[index] !== call) return false;
    if (end === 'failed') this.#failedAfterMs = Math.max(this.#failedAfterMs, now - startedAt);
    const last = running.pop();
    if (last !== undefined && last !== call) {
      running[index] = last;
      last.index = index;
    }
    this.#waitingTokens = running.length === 0 ? 0 : this.#waitingTokens - call.tokens;
    this.#sparedTokens = running.length === 0 ? 0 : this.#sparedTokens - call.spared;
    return true;
  }

  /** Learns how many calls at a time are answered in time from one that has waited, by how late it was. */
  learnLimit(ended: CrowdedCall, policies: ConcurrencyLimitPolicies, now: number): void {
    this.#concurrencyLimit = concurrencyLimitAfter(this.#concurrencyLimit, policies, ended, now);
  }

  /** Calls under way that outlive those that fail, where its circuit is open; of those since it opened. */
  outliving({ probes, openedAt }: Breaker, now: number): number {
    if (probes === 0) return 0;
    let count = 0;
    for (const { startedAt } of this.#running) {
      if (startedAt >= openedAt && outlives(now - startedAt, this.#failedAfterMs)) count += 1;
    }
    return count;
  }

  /**
   * Counts what is under way beside a call that was refused: who outlives it is accepted, though an answer takes longer than
   * a refusal. That is counted once.
   *
   * @param since - Monotonic time at which it began to refuse.
   */
  beside(refusedAfterMs: number, since: number, now: number): CallsBeside {
    let accepted = 0;
    let acceptedSince = 0;
    let undecided = 0;
    for (const call of this.#running) {
      const isSince = call.startedAt >= since;
      if (call.isAccepted) continue;
      if (outlives(now - call.startedAt, refusedAfterMs)) {
        call.isAccepted = true;
        accepted += 1;
        if (isSince) acceptedSince += 1;
      } else if (isSince) undecided += 1;
    }
    return { accepted, acceptedSince, undecided };
  }

  /** Notes how a late call ended that was waited for. */
  lateEnded(end: CallEnding): void {
    this.lateEnds = lateEndsAfter(this.lateEnds, end);
  }

  /** Whether there is room for a call of so many tokens. */
  room(endpoint: Endpoint, tokens: number, policy: ConcurrencyLimitPolicy, now: number): Room {
    const reported =
      this.#requests === undefined && this.#tokens === undefined ? UNLIMITED : this.#reported(tokens, now);
    const concurrencyLimit = concurrencyRoom(this.#concurrencyLimit, policy, this.#calls);
    const found = concurrencyLimit.headroom === 1 ? reported : lesserOf(reported, concurrencyLimit);
    if (!isLimited(endpoint)) return found;
    const call = { tokens, running: this.#calls };
    const waitMs = Math.max(this.#fullUntil - now, waitForLimits(endpoint, this.#use, call, now));
    return lesserOf(found, { waitMs, headroom: headroomOf(endpoint, this.#use, this.#calls, now) });
  }

  /** Notes that a call goes out. */
  started(endpoint: Endpoint, tokens: number, now: number): void {
    this.#tries = isKnownStill(this.#triedAt, now) ? this.#tries + 1 : 1;
    this.#triedAt = now;
    this.#calls += 1;
    this.#sent += 1;
    this.#sentTokens += tokens;
    if (this.#requests !== undefined) this.#requests = allowanceAfterSending(this.#requests, 1);
    if (this.#tokens !== undefined) this.#tokens = allowanceAfterSending(this.#tokens, tokens);
    if (isLimited(endpoint)) this.#use = useAfterSending(this.#use, tokens, now);
  }

  /** Notes that a call has ended. */
  ended(): void {
    this.#calls = Math.max(0, this.#calls - 1);
  }

  /** Notes how many tokens a call had that was sent with another estimate. */
  used(sentAt: number, estimated: number, tokens: number): void {
    this.#use = useAfterAnswer(this.#use, sentAt, estimated, tokens);
  }

  /** Notes that all instances together use the declared limits up. */
  full(until: number): void {
    this.#fullUntil = until;
  }

  /**
   * What hears of the limits that a provider reports with the answer to a call that has just been sent.
   *
   * @param mostMs - How long a report is believed.
   */
  listener(mostMs: number, now: () => number): (limits: ReportedLimits) => void {
    const sent = this.#sent;
    const sentTokens = this.#sentTokens;
    return ({ requests, tokens }) => {
      if (requests !== undefined) this.#requests = allowanceOf(requests, this.#sent - sent, mostMs, now());
      if (tokens !== undefined) this.#tokens = allowanceOf(tokens, this.#sentTokens - sentTokens, mostMs, now());
    };
  }

  #reported(tokens: number, now: number): Room {
    return {
      waitMs: Math.max(waitForAllowance(this.#requests, 1, now), waitForAllowance(this.#tokens, tokens, now)),
      headroom: Math.min(allowanceLeft(this.#requests, now), allowanceLeft(this.#tokens, now)),
    };
  }
}

/** A bounded map. */
export interface RecordMap<Value> {
  readonly size: number;
  get(key: string): Value | undefined;
  set(key: string, value: Value): unknown;
}

/** What is known of one endpoint, and what is under way there: together, so that they are looked up once. */
export interface KnownEndpoint {
  /** The latest state of the folds. */
  record: EndpointRecord;
  readonly load: EndpointLoad;
}

const FRESH: EndpointRecord = { health: UNKNOWN_HEALTH, performance: UNMEASURED };

/** All endpoints that were ever called. */
export class KnownEndpoints {
  readonly #entries: RecordMap<KnownEndpoint>;
  /** Whom the last question was about: each request asks a dozen about the same endpoint. */
  #latestId: string | undefined;
  #latest: KnownEndpoint | undefined;

  constructor(entries: RecordMap<KnownEndpoint>) {
    this.#entries = entries;
  }

  /** Undefined for an endpoint that nothing is known of. */
  find(id: string): KnownEndpoint | undefined {
    if (id === this.#latestId) return this.#latest;
    const known = this.#entries.get(id);
    if (known !== undefined) {
      this.#latestId = id;
      this.#latest = known;
    }
    return known;
  }

  /** The same, of which something is about to be known. */
  of(id: string): KnownEndpoint {
    const known = this.find(id);
    if (known !== undefined) return known;
    const made = { record: FRESH, load: new EndpointLoad() };
    this.#entries.set(id, made);
    return made;
  }

  /** The same of an endpoint that is about to be called: who was not called for the longest time is forgotten first. */
  called(id: string): KnownEndpoint {
    const known = this.find(id) ?? { record: FRESH, load: new EndpointLoad() };
    this.#entries.set(id, known);
    return known;
  }
}
