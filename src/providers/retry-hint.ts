/** Finds when a provider may be called again. */
import { durationMs, MAX_RETRY_AFTER_MS, retryAfterMs } from '../core/fallback/http-date.ts';
import type { ErrorShape } from './error-shape.ts';
import { resetOfUsedUpMs } from './limit-headers.ts';

/** Statuses with which a provider says that it has had enough for now; others have no reason to say when. */
const BUSY = new Set([429, 498, 503, 529]);

/** A provider that wants its callers to slow down does not mean for a second. */
const SLOW_DOWN_MS = 60_000;

/**
 * Milliseconds until a provider may be called again, from the first source that says so: its `Retry-After`
 * headers, the end of a used-up day, `RetryInfo` in the body, the reset of a limit that is used up, and its message
 * last.
 */
export function retryHintMs(
  status: number,
  header: (name: string) => string | undefined,
  shape: ErrorShape,
  wallClock: number,
): number | undefined {
  const stated = retryAfterMs(
    {
      'retry-after-ms': header('retry-after-ms'),
      'x-ms-retry-after-ms': header('x-ms-retry-after-ms'),
      'retry-after': header('retry-after'),
      date: header('date'),
    },
    wallClock,
  );
  if (!BUSY.has(status)) return stated;
  // The delay that comes with a used-up day says nothing about when the next one begins.
  if (shape.quotas?.some((quota) => /PerDay/i.test(quota)) === true) return untilNextDayMs(wallClock);
  const hint =
    stated ?? durationMs(shape.retryDelay) ?? resetOfUsedUpMs(header, wallClock) ?? waitInWords(shape.message);
  if (!/slow_down|ramp_limit|acceleration/i.test(`${shape.code ?? ''} ${shape.type ?? ''}`)) return hint;
  return Math.max(hint ?? 0, SLOW_DOWN_MS);
}

/** Google's quotas of a day begin anew at midnight on the American west coast. */
function untilNextDayMs(wallClock: number): number {
  const clock = new Intl.DateTimeFormat('en-US', { timeZone: 'America/Los_Angeles', hourCycle: 'h23', ...TIME_OF_DAY });
  const [hours = 0, minutes = 0, seconds = 0] = clock.format(wallClock).split(':').map(Number);
  return Math.min(MAX_RETRY_AFTER_MS, (DAY_SECONDS - hours * 3_600 - minutes * 60 - seconds) * 1_000);
}

const TIME_OF_DAY = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const;
const DAY_SECONDS = 86_400;

const IN_WORDS =
  /(?:try|retry) (?:again )?(?:in|after) (?:((?:\d{1,9}(?:\.\d{1,9})?(?:ms|[hms]))+)|(\d{1,9}(?:\.\d{1,9})?) (second|minute))/i;

/** The words of a message that say when to come back; undefined where there are none. */
export function waitSaid(message: string | undefined): string | undefined {
  return IN_WORDS.exec(message ?? '')?.[0];
}

/** `Please try again in 1.2s`, or in 20 seconds. */
function waitInWords(message: string | undefined): number | undefined {
  const [, short, amount, unit] = IN_WORDS.exec(message ?? '') ?? [];
  if (short !== undefined) return durationMs(short);
  return unit === undefined ? undefined : durationMs(`${amount}${unit.charAt(0).toLowerCase()}`);
}
