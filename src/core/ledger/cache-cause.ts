/** Finds out why a prompt was not in its provider's cache, by comparing it with the last one of its session. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { CacheCause, PromptCacheReport } from '../../contracts/prompt-cache.ts';
import type { Attempt } from '../fallback/attempt.ts';
import type { RoutePlan } from '../selection/route-plan.ts';
import type { PromptPrint } from './prompt-print.ts';

/** A request of a session, as far as the next one is compared with it. */
export interface AskedPrompt {
  readonly endpoint: Pick<Endpoint, 'id' | 'model'>;
  readonly print: PromptPrint;
  /** Monotonic milliseconds at which its answer began, and ended. */
  readonly at: number;
  readonly endedAt: number;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly writtenTokens: number;
  /** Whether something of it was marked for the cache by its caller. */
  readonly marked: boolean;
}

/** How an endpoint keeps prompts. */
export interface CacheRules {
  /** Milliseconds after which a prompt that was not used is certainly gone. */
  readonly keptMs: number;
  /** Prompts with fewer tokens are in no cache of any of its models. */
  readonly leastTokens: number;
  /** Some of its models keep nothing shorter than this. */
  readonly leastForSome: number;
  /** Whether only what is marked is kept. */
  readonly needsMarks: boolean;
}

/** What is compared. */
interface Comparison {
  readonly now: AskedPrompt;
  /** Undefined where none is known. */
  readonly last: AskedPrompt | undefined;
  /** Whether somebody else has served the session since the last request that is known here. */
  readonly servedElsewhere: boolean;
  /** Of the endpoint that answered. */
  readonly rules: CacheRules;
  /** Why the session is not where it was; asked only where that is so. */
  readonly moved: () => string | undefined;
  /** US dollars that a token costs more when it is not cached; undefined without a price. */
  readonly premiumUsd: number | undefined;
}

/** Share of what could be cached that must be, where nothing has changed: caches keep whole blocks. */
const WARM_SHARE = 0.8;
const BLOCK_TOKENS = 128;
/** Tokens, and share of what could be cached, whose loss is told where something has changed. */
const NAMED_TOKENS = 32;
const NAMED_SHARE = 0.01;
/** Share of what comes before a change below which the provider must have evicted some of it. */
const EVICTED_SHARE = 0.4;

/**
 * How much of a prompt was cached, and why not more. A cause is only named where it is enough by itself for what was
 * missed; what a provider has evicted is not told from what is unknown.
 */
export function cacheReport({ now, last, servedElsewhere, rules, moved, premiumUsd }: Comparison): PromptCacheReport {
  const { cachedTokens } = now;
  if (last === undefined || servedElsewhere) {
    if (cachedTokens > 0) return { expected_tokens: cachedTokens, cached_tokens: cachedTokens };
    return {
      expected_tokens: 0,
      cached_tokens: cachedTokens,
      cause: servedElsewhere ? 'evicted_or_unknown' : 'first',
      ...lost(0),
    };
  }
  const kept = last.cachedTokens + last.writtenTokens;
  const whole = Math.min(last.promptTokens, now.promptTokens);
  const isSame = last.endpoint.id === now.endpoint.id;
  // Where marks are needed, no more is kept than was marked.
  const expected = rules.needsMarks && kept > 0 ? Math.min(whole, kept) : whole;
  const missed = expected - cachedTokens;
  const change = missed > 0 ? firstChange(last.print, now.print) : undefined;
  const isWarm =
    change === undefined
      ? cachedTokens >= WARM_SHARE * expected - BLOCK_TOKENS
      : missed < Math.max(NAMED_TOKENS, NAMED_SHARE * expected);
  const isShort = whole < rules.leastTokens;
  if (isShort && cachedTokens === 0)
    return { expected_tokens: 0, cached_tokens: cachedTokens, cause: 'too_short', ...lost(0) };
  if (isWarm) return { expected_tokens: expected, cached_tokens: cachedTokens };
  const base = { expected_tokens: expected, cached_tokens: cachedTokens };
  const shown = (cause: CacheCause, details: Partial<PromptCacheReport> = {}): PromptCacheReport => ({
    ...base,
    cause,
    ...details,
    ...lost(missed),
  });
  if (last.endpoint.model !== now.endpoint.model) return shown('model_changed', { moved: moved() });
  if (!isSame) return shown('other_endpoint', { moved: moved() });
  if (rules.needsMarks && kept === 0) {
    if (!last.marked) return shown('not_marked');
    if (whole < rules.leastForSome)
      return { expected_tokens: 0, cached_tokens: cachedTokens, cause: 'too_short', ...lost(0) };
  }
  if (now.at - last.at > rules.keptMs) return shown('expired');
  if (change === undefined) return shown('evicted_or_unknown');
  // Of what came before the change most should have been there: where it was not, the change was not all.
  const before = change.share * last.promptTokens;
  const isEvicted = !rules.needsMarks && before >= rules.leastForSome && cachedTokens < EVICTED_SHARE * before;
  const { share: _, cause, ...place } = change;
  return isEvicted ? shown('evicted_or_unknown') : shown(cause, place);

  function lost(tokens: number): Pick<PromptCacheReport, 'lost_usd'> {
    return premiumUsd === undefined ? {} : { lost_usd: Math.max(0, tokens * premiumUsd) };
  }
}

/** The first place where a prompt is not what was sent before. */
type Change = Pick<PromptCacheReport, 'at' | 'line' | 'change'> & {
  readonly cause: CacheCause;
  /** Share of the earlier prompt that comes before it. */
  readonly share: number;
};

/** Where a prompt differs from one that it should go on from; undefined where it goes on. */
export function firstChange(last: PromptPrint, now: PromptPrint): Change | undefined {
  return changeOfTools(last, now) ?? changeOfSystem(last, now) ?? changeOfMessages(last, now);
}

function changeOfTools(last: PromptPrint, now: PromptPrint): Change | undefined {
  const index = firstDifference(last.tools, now.tools);
  if (index < 0) return undefined;
  const found = { cause: 'tools_changed', at: `tools[${index}]`, share: 0 } as const;
  if (last.toolNames[index] === now.toolNames[index]) return { ...found, change: 'content' };
  const isMoved = sameMembers(last.toolNames, now.toolNames);
  if (isMoved) return { ...found, change: 'order' };
  return { ...found, change: last.toolNames.length < now.toolNames.length ? 'added' : 'removed' };
}

function changeOfSystem(last: PromptPrint, now: PromptPrint): Change | undefined {
  const index = firstDifference(last.system, now.system);
  if (index < 0) return undefined;
  const [before, after] = [last.lines[index], now.lines[index]];
  const { sizes } = last;
  const share = (sizes.tools + sum(sizes.system.slice(0, index))) / charactersOf(last);
  const found = { cause: 'system_changed', at: `system[${index}]`, share } as const;
  if (before === undefined || after === undefined || after.length === 1) return found;
  return { ...found, line: firstDifference(before, after) + 1 };
}

/** What is said at the end of a prompt is new; what was there before must be there again. */
function changeOfMessages(last: PromptPrint, now: PromptPrint): Change | undefined {
  for (let index = 0; index < last.messages.length; index += 1) {
    if (last.messages[index] === now.messages[index]) continue;
    const { sizes } = last;
    const before = sizes.tools + sum(sizes.system) + sum(sizes.messages.slice(0, index));
    return { cause: 'message_edited', at: `messages[${index}]`, share: before / charactersOf(last) };
  }
  return undefined;
}

function charactersOf({ sizes }: PromptPrint): number {
  return Math.max(1, sizes.tools + sum(sizes.system) + sum(sizes.messages));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

/** Index of the first item that differs, also where one list has no more; -1 for the same lists. */
function firstDifference(left: readonly number[], right: readonly number[]): number {
  const most = Math.max(left.length, right.length);
  for (let index = 0; index < most; index += 1) if (left[index] !== right[index]) return index;
  return -1;
}

function sameMembers(left: readonly number[], right: readonly number[]): boolean {
  return left.length === right.length && firstDifference(left.toSorted(byValue), right.toSorted(byValue)) < 0;
}

function byValue(left: number, right: number): number {
  return left - right;
}

/** Why a session is not at the endpoint where it was: what failed there, what excluded it, or what came before it. */
export function movedBecause(
  { steps, rejected }: Pick<RoutePlan, 'steps' | 'rejected'>,
  attempts: readonly Attempt[],
  from: string,
): string | undefined {
  const failed = attempts.find(({ step, outcome }) => step.endpoint.id === from && !outcome.ok);
  if (failed?.outcome.ok === false) return `it failed: ${failed.outcome.failure.kind}`;
  const excluded = rejected.find(({ endpoint }) => endpoint.id === from);
  if (excluded !== undefined) return `it was excluded: ${excluded.reason}`;
  const step = steps.find(({ endpoint }) => endpoint.id === from);
  if (step === undefined) return 'the request does not name it';
  return `others came first: ${attempts.at(-1)?.step.why ?? step.why}`;
}
