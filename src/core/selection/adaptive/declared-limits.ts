/** What an endpoint is declared to take. */
export interface DeclaredLimits {
  /** Requests per minute. */
  readonly rpm?: number | undefined;
  /** Tokens per minute, of prompts and answers together. */
  readonly tpm?: number | undefined;
  /** Calls at a time. */
  readonly concurrency?: number | undefined;
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
const LOOK_AGAIN_MS = 50;

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
