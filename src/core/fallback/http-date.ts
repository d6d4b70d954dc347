/** Reads the dates and durations in which providers say when to come back. */
import { unixSecondsOfDate } from '../../catalog/price-at.ts';

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** The one form that is still written. */
const IMF_FIXDATE =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (?<day>\d{2}) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) (?<time>\d{2}:\d{2}:\d{2}) GMT$/;
/** Two obsolete forms that must still be read. */
const RFC_850 =
  /^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (?<day>\d{2})-(?<month>[A-Z][a-z]{2})-(?<year>\d{2}) (?<time>\d{2}:\d{2}:\d{2}) GMT$/;
const ASCTIME =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?<month>[A-Z][a-z]{2}) (?<day>[ \d]\d) (?<time>\d{2}:\d{2}:\d{2}) (?<year>\d{4})$/;

/**
 * Epoch milliseconds of a date as HTTP writes it, in any of its three forms; undefined for everything else, days that
 * do not exist included. The platform's own parser guesses, and would take `120` for a year.
 */
export function parseHttpDate(value: string | undefined): number | undefined {
  const text = value?.trim() ?? '';
  const parts = (IMF_FIXDATE.exec(text) ?? RFC_850.exec(text) ?? ASCTIME.exec(text))?.groups;
  if (parts === undefined) return undefined;
  const { day = '', month = '', year = '', time = '' } = parts;
  const [hours = 0, minutes = 0, seconds = 0] = time.split(':').map(Number);
  const fullYear = year.length === 2 ? centuryOf(Number(year)) : Number(year);
  const midnight = unixSecondsOfDate(fullYear, MONTHS.indexOf(month) + 1, Number(day));
  if (midnight === undefined || hours > 23 || minutes > 59 || seconds > 60) return undefined;
  return (midnight + hours * 3_600 + minutes * 60 + seconds) * 1_000;
}

/** Two digits mean this century up to 69, and the last one from 70 on. */
function centuryOf(twoDigits: number): number {
  return twoDigits < 70 ? 2_000 + twoDigits : 1_900 + twoDigits;
}

/** Longest wait that a provider may request: an hour. */
export const MAX_RETRY_AFTER_MS = 3_600_000;

/** What a provider's headers may say about when to come back. */
interface RetryHeaders {
  readonly 'retry-after-ms'?: string | undefined;
  readonly 'x-ms-retry-after-ms'?: string | undefined;
  readonly 'retry-after'?: string | undefined;
  /** The provider's own clock, against which a date is measured. */
  readonly date?: string | undefined;
}

/**
 * Milliseconds until a provider may be called again, from the first header that says so in a valid form. Seconds
 * are digits with or without decimals, dates the three forms of HTTP; everything else (`1e3`, `0x10`, `-1`, `tomorrow`) is ignored, because
 * parsers that guess turn it into nonsense. The result lies between 0 and one hour.
 */
export function retryAfterMs(headers: RetryHeaders, wallClock: number): number | undefined {
  const milliseconds =
    numberIn(headers['retry-after-ms'], DECIMAL) ?? numberIn(headers['x-ms-retry-after-ms'], DECIMAL);
  if (milliseconds !== undefined) return clamp(milliseconds);
  const value = headers['retry-after'];
  const seconds = numberIn(value, DECIMAL);
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

const DECIMAL = /^\s*(\d+(?:\.\d+)?)\s*$/;

function numberIn(value: string | undefined, form: RegExp): number | undefined {
  if (value === undefined || value.length > 20) return undefined;
  const match = form.exec(value);
  return match === null ? undefined : Number(match[1]);
}

function clamp(milliseconds: number): number {
  return Math.min(MAX_RETRY_AFTER_MS, Math.max(0, milliseconds));
}
