import { parseHttpDate } from './http-date.ts';

/** Longest wait that a provider may ask for: an hour. */
export const MAX_RETRY_AFTER_MS = 3_600_000;

/** What a provider's headers may say about when to come back. */
export interface RetryHeaders {
  readonly 'retry-after-ms'?: string | undefined;
  readonly 'x-ms-retry-after-ms'?: string | undefined;
  readonly 'retry-after'?: string | undefined;
  /** The provider's own clock, against which a date is measured. */
  readonly date?: string | undefined;
}

/**
 * Milliseconds until a provider wants to be asked again, from the first header that says so in a valid form.
 * Seconds are digits only, dates the three forms of HTTP; everything else (`1e3`, `0x10`, `-1`, `tomorrow`) is
 * ignored, because parsers that guess turn it into nonsense. The result lies between 0 and one hour.
 */
export function retryAfterMs(headers: RetryHeaders, wallClock: number): number | undefined {
  const milliseconds = digits(headers['retry-after-ms'], true) ?? digits(headers['x-ms-retry-after-ms'], true);
  if (milliseconds !== undefined) return clamp(milliseconds);
  const value = headers['retry-after'];
  const seconds = digits(value, false);
  if (seconds !== undefined) return clamp(seconds * 1_000);
  const date = parseHttpDate(value);
  if (date === undefined) return undefined;
  return clamp(date - (parseHttpDate(headers.date) ?? wallClock));
}

/** Parses `27s`, `27.5s`, `120ms`, `1h2m3s` as Google and OpenAI write durations. */
export function durationMs(text: string | undefined): number | undefined {
  if (text === undefined || !/^(?:\d+(?:\.\d+)?(?:ms|h|m|s))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, amount = '0', unit = 's'] of text.matchAll(/(\d+(?:\.\d+)?)(ms|h|m|s)/g)) {
    total += Number(amount) * (UNIT_MS[unit] ?? 0);
  }
  return clamp(total);
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

function digits(value: string | undefined, fraction: boolean): number | undefined {
  if (value === undefined || value.length > 20) return undefined;
  const form = fraction ? /^\s*(\d+(?:\.\d+)?)\s*$/ : /^\s*(\d+)\s*$/;
  const match = form.exec(value);
  return match === null ? undefined : Number(match[1]);
}

function clamp(milliseconds: number): number {
  return Math.min(MAX_RETRY_AFTER_MS, Math.max(0, milliseconds));
}
