/** Decides whether the declared and reported rate limits of an endpoint have room for a call. */
import type { ReportedLimit } from '../../../contracts/provider.ts';

/** What an endpoint is declared to take. */
export interface DeclaredLimits {
  /** Requests per minute. */
  readonly rpm?: number | undefined;
  /** Tokens per minute, of prompts and answers together. */
  readonly tpm?: number | undefined;
  /** Calls at a time. */
  readonly concurrency?: number | undefined;
}

/** Whether limits have room for a call. */
export interface Room {
  /** 0: now. */
  readonly waitMs: number;
  /** Share of the limits that is free. */
  readonly headroom: number;
  /** True where only too many of our own calls are in the way. */
  readonly crowded?: boolean | undefined;
}

/** What was sent in the last minute, second by second, the oldest first. Only those in which something was. */
export type MinuteUse = readonly SecondUse[];

interface SecondUse {
  readonly second: number;
  readonly calls: number;
  readonly tokens: number;
}

/** Slices that may hold something of the last minute: the oldest only in part, but then it counts as a whole. */
const MINUTE_SECONDS = 61;
/** How soon to look again at an endpoint that is at its limit of calls at a time. */
export const LOOK_AGAIN_MS = 50;

/** Folds in a call of so many tokens. */
export function useAfterSending(use: MinuteUse, tokens: number, now: number): MinuteUse {
  const second = Math.floor(now / 1_000);
  const last = use.at(-1);
  if (last !== undefined && last.second >= second) {
    return use.with(-1, { ...last, calls: last.calls + 1, tokens: last.tokens + tokens });
  }
  return [...use.filter((one) => one.second > second - MINUTE_SECONDS), { second, calls: 1, tokens }];
}

/** Whether anything is declared. */
export function isLimited({ rpm, tpm, concurrency }: DeclaredLimits): boolean {
  return rpm !== undefined || tpm !== undefined || concurrency !== undefined;
}

/** Folds in how many tokens a call had that was counted with another number. */
export function useAfterAnswer(use: MinuteUse, sentAt: number, counted: number, used: number): MinuteUse {
  const second = Math.floor(sentAt / 1_000);
  const index = use.findIndex((one) => one.second === second);
  const found = use[index];
  if (found === undefined) return use;
  return use.with(index, { ...found, tokens: Math.max(0, found.tokens + used - counted) });
}

/** Milliseconds until the declared limits of an endpoint have room for a call of so many tokens; 0 for now. */
export function waitForLimits(
  limits: DeclaredLimits,
  use: MinuteUse,
  call: { readonly tokens: number; readonly running: number },
  now: number,
): number {
  const { rpm = Infinity, tpm = Infinity, concurrency = Infinity } = limits;
  if (call.running >= concurrency) return LOOK_AGAIN_MS;
  const oldest = Math.floor(now / 1_000) - MINUTE_SECONDS;
  let calls = 0;
  let tokens = 0;
  for (const one of use) {
    if (one.second <= oldest) continue;
    calls += one.calls;
    tokens += one.tokens;
  }
  // A call that is larger than the limit by itself has to go through at some time.
  const fits = (): boolean => calls + 1 <= rpm && (tokens === 0 || tokens + call.tokens <= tpm);
  if (fits()) return 0;
  for (const one of use) {
    if (one.second <= oldest) continue;
    calls -= one.calls;
    tokens -= one.tokens;
    if (fits()) return Math.max(1, (one.second + MINUTE_SECONDS) * 1_000 - now);
  }
  return LOOK_AGAIN_MS;
}

/** Share of the declared limits that is free. */
export function headroomOf(
  { rpm = Infinity, tpm = Infinity, concurrency = Infinity }: DeclaredLimits,
  use: MinuteUse,
  running: number,
  now: number,
): number {
  const oldest = Math.floor(now / 1_000) - MINUTE_SECONDS;
  const recent = use.filter((one) => one.second > oldest);
  const calls = recent.reduce((sum, one) => sum + one.calls, 0);
  const tokens = recent.reduce((sum, one) => sum + one.tokens, 0);
  return Math.max(0, 1 - Math.max(calls / rpm, tokens / tpm, running / concurrency));
}

/** What an endpoint will take until it says something new. */
export interface Allowance {
  readonly remaining: number;
  readonly limit: number | undefined;
  /** What comes back in a millisecond: limits are buckets that fill at a constant speed, unless their size is unknown. */
  readonly perMs: number;
  /** Monotonic milliseconds of the report, and of the end of what it says. */
  readonly at: number;
  readonly until: number;
}

/**
 * What follows from a report.
 *
 * @param spent - What was sent after the call that brought the report: the provider may not have counted it yet.
 * @param mostMs - Milliseconds for which a report is believed: one that is wrong must not lock an endpoint for hours.
 */
export function allowanceOf(
  { remaining, limit, resetMs }: ReportedLimit,
  spent: number,
  mostMs: number,
  now: number,
): Allowance {
  const missing = limit === undefined ? 0 : Math.max(0, limit - remaining);
  return {
    remaining: remaining - spent,
    limit,
    perMs: resetMs > 0 ? missing / resetMs : 0,
    at: now,
    until: now + Math.min(resetMs, mostMs),
  };
}

/** Folds in that something was sent. */
export function allowanceAfterSending(allowance: Allowance, amount: number): Allowance {
  return { ...allowance, remaining: allowance.remaining - amount };
}

/** Milliseconds until an endpoint takes so much; 0 for now. What is larger than the whole limit waits for all of it. */
export function waitForAllowance(allowance: Allowance | undefined, amount: number, now: number): number {
  if (allowance === undefined || now >= allowance.until) return 0;
  const { limit = Infinity, perMs, until } = allowance;
  const missing = Math.min(amount, limit) - leftNow(allowance, now);
  if (missing <= 0) return 0;
  return Math.max(1, Math.min(perMs > 0 ? missing / perMs : Infinity, until - now));
}

/** Share of the limit that is left; 1 where nothing is known. */
export function allowanceLeft(allowance: Allowance | undefined, now: number): number {
  if (allowance?.limit === undefined || now >= allowance.until) return 1;
  return Math.max(0, Math.min(1, leftNow(allowance, now) / Math.max(1, allowance.limit)));
}

function leftNow({ remaining, perMs, at }: Allowance, now: number): number {
  return remaining + perMs * Math.max(0, now - at);
}
