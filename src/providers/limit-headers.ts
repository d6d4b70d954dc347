/** Reads rate limits from the headers of responses. */
import { durationMs, retryAfterMs } from '../core/fallback/http-date.ts';
import type { TransportResponse } from '../net/transport.ts';
import type { ReportedLimit, ReportedLimits } from '../contracts/provider.ts';

type Header = (name: string) => string | undefined;
type Answer = Pick<TransportResponse, 'header'>;

/** Headers about one limit. */
interface LimitHeaders {
  readonly remaining: string;
  readonly limit: string;
  readonly reset: string;
}

const openai = (what: string): LimitHeaders => ({
  remaining: `x-ratelimit-remaining-${what}`,
  limit: `x-ratelimit-limit-${what}`,
  reset: `x-ratelimit-reset-${what}`,
});
const anthropic = (what: string): LimitHeaders => ({
  remaining: `anthropic-ratelimit-${what}-remaining`,
  limit: `anthropic-ratelimit-${what}-limit`,
  reset: `anthropic-ratelimit-${what}-reset`,
});

/** Headers about numbers of requests and of tokens, as OpenAI and those after it, and Anthropic name them. */
const REQUESTS = [openai('requests'), anthropic('requests')] as const;
const TOKENS = [openai('tokens'), anthropic('tokens'), anthropic('input-tokens'), anthropic('output-tokens')] as const;

/** What a provider says in the headers of an answer about what it will still take; undefined when it says nothing. */
export function reportedLimits(answer: Answer, wallClock: number): ReportedLimits | undefined {
  const requests = firstOf(REQUESTS, answer, wallClock);
  const tokens = firstOf(TOKENS, answer, wallClock);
  return requests === undefined && tokens === undefined ? undefined : { requests, tokens };
}

/** Milliseconds until the last of the limits that are used up is there again; undefined when none is. */
export function resetOfUsedUpMs(header: Header, wallClock: number): number | undefined {
  const waits = [...REQUESTS, ...TOKENS]
    .filter(({ remaining }) => header(remaining)?.trim() === '0')
    .map(({ reset }) => untilReset(header(reset), wallClock))
    .filter((wait) => wait !== undefined);
  return waits.length === 0 ? undefined : Math.max(...waits);
}

function firstOf(names: readonly LimitHeaders[], answer: Answer, wallClock: number): ReportedLimit | undefined {
  for (const { remaining: name, limit, reset } of names) {
    const stated = answer.header(name);
    // Most providers tell nothing of most limits.
    const remaining = stated === undefined ? undefined : wholeNumber(stated);
    if (remaining === undefined) continue;
    const resetMs = untilReset(answer.header(reset), wallClock);
    // Without a time nobody can say when there will be more.
    return resetMs === undefined ? undefined : { remaining, limit: wholeNumber(answer.header(limit)), resetMs };
  }
  return undefined;
}

function wholeNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\s*\d{1,15}\s*$/.test(text) ? Number(text) : undefined;
}

/** `1s`, `6m0s`, `120ms`, or a time as Anthropic writes it. */
function untilReset(value: string | undefined, wallClock: number): number | undefined {
  return durationMs(value?.trim()) ?? untilMs(value, wallClock);
}

/** Until a time such as `2026-11-20T10:00:00Z`. */
function untilMs(time: string | undefined, wallClock: number): number | undefined {
  if (time === undefined || !/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z$/.test(time)) return undefined;
  return retryAfterMs({ 'retry-after-ms': String(Math.max(0, Date.parse(time) - wallClock)) }, wallClock);
}
