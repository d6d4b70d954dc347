/** The rates that a price has at a time, in a tier and for a length of prompt. */
import type { BilledTier, Price, Rates } from './price.ts';

const SECONDS_OF_A_DAY = 86_400;

/** Unix seconds of the midnight (UTC) that begins a day `YYYY-MM-DD` or a month `YYYY-MM`; undefined for others. */
export function unixSecondsOfDay(day: string): number | undefined {
  const match = /^(\d{4})-(\d{2})(?:-(\d{2}))?$/.exec(day);
  return match === null ? undefined : unixSecondsOfDate(Number(match[1]), Number(match[2]), Number(match[3] ?? 1));
}

/** The same of a date whose months count from 1; undefined for one that does not exist. */
export function unixSecondsOfDate(year: number, month: number, date: number): number | undefined {
  if (month < 1 || month > 12 || date < 1 || date > daysIn(year, month)) return undefined;
  return (daysBeforeYear(year) - daysBeforeYear(1_970) + daysBeforeMonth(year, month) + date - 1) * SECONDS_OF_A_DAY;
}

/** Minutes after midnight UTC of a time such as `16:30:00Z` or `08:00+02:00`; undefined for others. */
export function minuteOfTime(time: string): number | undefined {
  const match = /^(\d{2}):(\d{2})(?::\d{2}(?:\.\d+)?)?(?:Z|([+-])(\d{2}):(\d{2}))$/.exec(time);
  if (match === null) return undefined;
  const [hours, minutes] = [Number(match[1]), Number(match[2])];
  const away = Number(match[4] ?? 0) * 60 + Number(match[5] ?? 0);
  if (hours > 23 || minutes > 59 || away >= MINUTES_OF_A_DAY) return undefined;
  const minute = hours * 60 + minutes + (match[3] === '+' ? -away : away);
  return (minute + MINUTES_OF_A_DAY) % MINUTES_OF_A_DAY;
}

const MINUTES_OF_A_DAY = 1_440;

function daysIn(year: number, month: number): number {
  if (month === 2) return isLeap(year) ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

function daysBeforeMonth(year: number, month: number): number {
  let days = 0;
  for (let earlier = 1; earlier < month; earlier += 1) days += daysIn(year, earlier);
  return days;
}

function daysBeforeYear(year: number): number {
  const last = year - 1;
  return 365 * year + Math.floor(last / 4) - Math.floor(last / 100) + Math.floor(last / 400);
}

function isLeap(year: number): boolean {
  return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
}

/** What decides which of a price's rates hold. */
interface Circumstances {
  /** Unix seconds of the request. */
  readonly at: number;
  readonly promptTokens: number;
  /** Tier that served the request, where it is not the endpoint's own. */
  readonly otherTier?: BilledTier | undefined;
}

/** The rates of a request, or undefined when the price of its tier is unknown. */
export function ratesAt(price: Price, circumstances: Circumstances): Rates | undefined {
  const { at, promptTokens, otherTier } = circumstances;
  const current = inForce(price, at);
  if (otherTier === undefined) return ofLength(current, promptTokens);
  const tier = (current.serviceTiers ?? price.serviceTiers)?.[otherTier];
  if (tier === undefined) return undefined;
  if (typeof tier === 'number') return ofLength(multipliedPrice(current, tier), promptTokens);
  return ofLength(inForce(tier, at), promptTokens);
}

/**
 * The tier that a provider's word for it means, where it is another than the endpoint's own. Words that mean no tier
 * which is billed apart, and silence, are the endpoint's own.
 */
export function billedTier(own: BilledTier, served: string | null | undefined): BilledTier | undefined {
  const tier = served == null ? undefined : TIER_OF_WORD.get(served.toLowerCase());
  return tier === own ? undefined : tier;
}

/**
 * The tier in which a provider served, as answers name it whatever the provider calls it (gaps 2.7): some say `standard`
 * or `on_demand` for the default tier. A provider that repeats `auto` does not say which it was.
 */
export function namedTier(served: string | null | undefined): string | null {
  if (served == null || served === 'auto') return null;
  return TIER_OF_WORD.get(served.toLowerCase()) ?? served;
}

const TIER_OF_WORD: ReadonlyMap<string, BilledTier> = new Map<string, BilledTier>([
  ['default', 'default'],
  ['standard', 'default'],
  ['on_demand', 'default'],
  ['priority', 'priority'],
  ['fast', 'priority'],
  ['flex', 'flex'],
  ['batch', 'batch'],
]);

function inForce(price: Price, at: number): Price {
  const minute = Math.floor(at / 60) % MINUTES_OF_A_DAY;
  const change = price.changes?.findLast(
    ({ from = -Infinity, hours }) => at >= from && (hours === undefined || isWithin(minute, hours)),
  );
  return change?.price ?? price;
}

function isWithin(minute: number, { from, to }: { readonly from: number; readonly to: number }): boolean {
  return from <= to ? minute >= from && minute < to : minute >= from || minute < to;
}

function ofLength(price: Price, promptTokens: number): Rates {
  if (price.above === undefined) return price;
  let rates: Rates = price;
  let bound = -1;
  for (const { promptTokens: lower, ...others } of price.above) {
    if (promptTokens > lower && lower > bound) {
      rates = { ...price, ...others };
      bound = lower;
    }
  }
  return rates;
}

/** Rates that are per unit and not per token; no tier changes them (gaps 8.9). */
const PER_UNIT: ReadonlySet<string> = new Set<keyof Rates>(['request', 'image', 'outputImage', 'webSearch']);

/** A price whose token rates are multiplied, for prompts of every length and at every time. */
export function multipliedPrice(price: Price, factor: number): Price {
  const { above, changes, serviceTiers: _, ...rates } = price;
  return {
    ...multiplied(rates, factor),
    above: above?.map(({ promptTokens, ...others }) => ({ promptTokens, ...multiplied(others, factor) })),
    changes: changes?.map((change) => ({ ...change, price: multipliedPrice(change.price, factor) })),
  };
}

function multiplied<Some extends Partial<Rates>>(rates: Some, factor: number): Some {
  const changed = Object.entries(rates).flatMap(([name, rate]) =>
    typeof rate === 'number' && !PER_UNIT.has(name) ? [[name, roundedRate(rate * factor)] as const] : [],
  );
  return { ...rates, ...Object.fromEntries(changed) };
}

/** A millionth of a dollar per million tokens is the finest step that is billed. */
function roundedRate(usdPerMillion: number): number {
  return Math.round(usdPerMillion * 1e6) / 1e6;
}
