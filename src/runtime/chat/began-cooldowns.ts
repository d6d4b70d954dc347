/** Finds the cooldowns that a failure began. */
import type { Cooldown, EndpointHealth } from '../../core/fallback/health.ts';

/** Whether the cooldown or the circuit of an endpoint is another, whatever was counted meanwhile. */
export function hasChanged(before: EndpointHealth, after: EndpointHealth): boolean {
  const { state, openings, probes } = before.breaker;
  const { breaker } = after;
  const isSame = state === breaker.state && openings === breaker.openings && probes === breaker.probes;
  return before.cooldown !== after.cooldown || !isSame;
}

/** The cooldown that a failure began: one that was requested, or the opening of a breaker. */
export function beganWith(
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
