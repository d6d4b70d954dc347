/** Decides when refusals of an endpoint keep other requests from it, and for how long. */
import { type AttemptFailure, FAILURE_RULES } from '../../contracts/failure.ts';
import type { Breaker } from './breaker.ts';
import { isExhausted, type RefusalEvidence } from './refusal-evidence.ts';

/** Time in which an endpoint is left alone, because it said so or because our key does not work there. */
export interface Cooldown {
  readonly since: number;
  readonly until: number;
  readonly cause: AttemptFailure['kind'];
  /** True when the provider said for how long. */
  readonly asked?: boolean | undefined;
  /** Id of the account that it concerns alone, because nobody else has met what it is for. Absent: it concerns all. */
  readonly account?: string | undefined;
  /** True where a refusal began it of which is unknown whether the next call would be refused too. */
  readonly unproven?: boolean | undefined;
}

/** What of the health of an endpoint decides about its cooldown. */
interface CooledHealth {
  readonly breaker: Pick<Breaker, 'succeededAt'>;
  readonly cooldown?: Cooldown | undefined;
  readonly refusals?: RefusalEvidence | undefined;
}

/** How long cooldowns are, in milliseconds. */
interface CooldownPolicy {
  readonly maxCooldownMs: number;
  readonly refusalMs?: number | undefined;
}

/** Milliseconds for which a success says that an endpoint answers, so that one refusal is no reason to leave it alone. */
const ANSWERS_MS = 60_000;

/** The time for which a failure asks that the endpoint is left alone; undefined for one that asks for none. */
export function cooldownOf(
  { kind, retryAfterMs }: AttemptFailure,
  policy: CooldownPolicy,
  now: number,
): Cooldown | undefined {
  const usual = kind === 'rate_limited' ? policy.refusalMs : undefined;
  const wanted = retryAfterMs ?? usual ?? FAILURE_RULES[kind].cooldownMs;
  if (wanted <= 0 || FAILURE_RULES[kind].next !== 'endpoint') return undefined;
  const until = now + Math.min(wanted, policy.maxCooldownMs);
  return { since: now, until, cause: kind, ...(retryAfterMs === undefined ? {} : { asked: true }) };
}

/**
 * The cooldown after one more is asked for. A refusal among answers is one failed try: whoever else would have been
 * answered is not kept from the endpoint, until it evidently refuses everything.
 */
export function cooldownAfter(health: CooledHealth, wanted: Cooldown, now: number): Cooldown | undefined {
  const { cooldown: current, refusals } = health;
  const isProven = isExhausted(refusals);
  if (!isProven && answersStill(health, now)) return current;
  const isLonger = current !== undefined && current.account === undefined && current.until > wanted.until;
  if (isLonger && !(isProven && current.unproven === true)) return current;
  return { ...wanted, ...(isLonger ? current : {}), unproven: isProven ? undefined : true };
}

/** Whether an endpoint has answered a call lately. */
export function answersStill({ breaker, refusals }: Omit<CooledHealth, 'cooldown'>, now: number): boolean {
  if (Math.abs(now - breaker.succeededAt) < ANSWERS_MS) return true;
  return refusals !== undefined && Math.abs(now - refusals.acceptedAt) < ANSWERS_MS;
}

/** Whether a success ends a cooldown: one that was sent since it began, or any where little speaks for it. */
export function isOver({ since, unproven, cause }: Cooldown, startedAt: number): boolean {
  return (unproven === true && cause === 'rate_limited') || startedAt >= since;
}
