/** Finds out why a prompt was not in its provider's cache, by comparing it with the last one of its session. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { CacheCause, PromptCacheReport } from '../../contracts/prompt-cache.ts';
import type { Attempt } from '../fallback/attempt.ts';
import type { RoutePlan } from '../selection/route-plan.ts';
import type { PromptPrint } from './prompt-print.ts';

/** A request of a session, as far as later ones are compared with it. */
export interface AskedPrompt {
  readonly endpoint: Pick<Endpoint, 'id' | 'model' | 'provider'>;
  readonly print: PromptPrint;
  /** Monotonic milliseconds at which its call began, its answer began, and its answer ended. */
  readonly startedAt: number;
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
  /** Milliseconds after which a prompt that was not used is gone. */
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
  /** The earlier one; undefined where none is known that this one could go on from. */
  readonly last: AskedPrompt | undefined;
  /** Whether others may have served the session between the two, or before this one where none is known. */
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
const NAMED_TOKENS = 256;
const NAMED_SHARE = 0.05;
/** Share of what comes before a change below which the provider must have evicted some of it. */
const EVICTED_SHARE = 0.4;
/** Characters of a token at most: a prompt with more than this many for each is not as short as its provider says. */
const MOST_CHARACTERS = 8;

/**
 * How much of a prompt was cached, and why not more. A cause is only named where it is enough by itself for what was
 * missed; what a provider has evicted is not distinguished from what is unknown.
 */
export function cacheReport({ now, last, servedElsewhere, rules, moved, premiumUsd }: Comparison): PromptCacheReport {
  const { cachedTokens } = now;
  if (last === undefined || servedElsewhere) {
    if (cachedTokens > 0) return { expected_tokens: cachedTokens, cached_tokens: cachedTokens };
    const cause = servedElsewhere ? (neverCached(now, rules) ?? 'evicted_or_unknown') : 'first';
    return { expected_tokens: 0, cached_tokens: cachedTokens, cause, ...lost(0) };
  }
  const isWhole = goesOn(last.print, now.print);
  const change = isWhole ? firstChange(last.print, now.print) : changeOfBeginning(last.print, now.print);
  const kept = last.cachedTokens + last.writtenTokens;
  const gone = notResent(last.print, now.print, change);
  const couldBe = isWhole ? 1 - gone.share : charactersBefore(last.print, 0) / charactersOf(last.print);
  const whole = Math.floor(Math.min(last.promptTokens, now.promptTokens) * couldBe);
  // Where marks are needed, no more is kept than was marked, and whether a beginning was is unknown.
  if (!isWhole && change === undefined && rules.needsMarks) {
    return cachedTokens > 0
      ? { expected_tokens: cachedTokens, cached_tokens: cachedTokens }
      : { expected_tokens: 0, cached_tokens: 0, cause: 'first', ...lost(0) };
  }
  const expected = rules.needsMarks && kept > 0 ? Math.min(whole, kept) : whole;
  const missed = expected - cachedTokens;
  const isSame = last.endpoint.id === now.endpoint.id;
  const isWarm =
    change === undefined
      ? missed <= (isSame ? 1 - WARM_SHARE : NAMED_SHARE) * expected + BLOCK_TOKENS
      : missed < Math.max(NAMED_TOKENS, (gone.isAll ? 1 - EVICTED_SHARE : NAMED_SHARE) * expected) ||
        isKnownThere(change.until, last, now);
  const isShort = whole < rules.leastTokens && charactersOf(last.print) < MOST_CHARACTERS * rules.leastTokens;
  if (isShort && cachedTokens === 0) {
    // What two conversations of a session have in common may be short where they are not.
    const cause = isWhole ? 'too_short' : (neverCached(now, rules) ?? 'first');
    return { expected_tokens: 0, cached_tokens: 0, cause, ...lost(0) };
  }
  if (isWarm) return { expected_tokens: expected, cached_tokens: cachedTokens };
  const shown = (cause: CacheCause, details: Partial<PromptCacheReport> = {}): PromptCacheReport => ({
    expected_tokens: expected,
    cached_tokens: cachedTokens,
    cause,
    ...details,
    ...lost(missed),
  });
  // Where neither was marked, nothing would have been there without the move either.
  if (rules.needsMarks && kept === 0 && !last.marked && !now.marked) return shown('not_marked');
  if (last.endpoint.model !== now.endpoint.model) return shown('model_changed', { moved: moved() });
  if (!isSame) return shown('other_endpoint', { moved: moved() });
  if (rules.needsMarks && kept === 0) {
    if (!last.marked) return shown('not_marked');
    if (whole < rules.leastForSome) return { expected_tokens: 0, cached_tokens: 0, cause: 'too_short', ...lost(0) };
  }
  if (now.startedAt - last.startedAt > rules.keptMs) return shown('expired');
  if (change === undefined || gone.isAll || isEvicted(change.share, last, now, rules))
    return shown('evicted_or_unknown');
  const { share: _, until: __, cause, ...place } = change;
  return shown(cause, place);

  function lost(tokens: number): Pick<PromptCacheReport, 'lost_usd'> {
    return premiumUsd === undefined ? {} : { lost_usd: Math.max(0, tokens * premiumUsd) };
  }
}

/** Why nothing of a prompt could have been cached, whatever came before it; undefined where something could. */
function neverCached({ promptTokens, print, marked }: AskedPrompt, rules: CacheRules): CacheCause | undefined {
  const { leastTokens, needsMarks } = rules;
  if (promptTokens < leastTokens && charactersOf(print) < MOST_CHARACTERS * leastTokens) return 'too_short';
  return needsMarks && !marked ? 'not_marked' : undefined;
}

/** Whether more was cached than what comes before the end of a change: then the changed prompt has been sent before. */
function isKnownThere(until: number, last: AskedPrompt, now: AskedPrompt): boolean {
  return last.endpoint.id === now.endpoint.id && now.cachedTokens > 1.15 * until * last.promptTokens + BLOCK_TOKENS;
}

/**
 * Share of an earlier prompt that is not sent again, and whether something is behind a message that is another one now:
 * of a conversation that was taken up again at an earlier place nothing is lost.
 */
function notResent(
  last: PromptPrint,
  now: PromptPrint,
  change: Change | undefined,
): { readonly share: number; readonly isAll: boolean } {
  if (change?.cause !== 'message_edited') return { share: 0, isAll: false };
  const { messages, sizes } = last;
  const from = messages.findIndex((hash, index) => hash !== now.messages[index]);
  let gone = 0;
  let isAll = true;
  for (let index = from + 1; index < messages.length; index += 1) {
    if (messages[index] === now.messages[index]) isAll = false;
    else gone += sizes.messages[index] ?? 0;
  }
  // The message itself would have been sent again where what follows was.
  return { share: (gone + (isAll ? (sizes.messages[from] ?? 0) : 0)) / charactersOf(last), isAll };
}

/**
 * Whether a change was not all: of what comes before it most should have been cached. Where marks are needed that is what
 * was found the last time.
 */
function isEvicted(
  share: number,
  last: AskedPrompt,
  now: AskedPrompt,
  { needsMarks, leastForSome }: CacheRules,
): boolean {
  const before = share * last.promptTokens;
  if (needsMarks)
    return last.cachedTokens > 0 && before > last.cachedTokens && now.cachedTokens < EVICTED_SHARE * last.cachedTokens;
  return before >= leastForSome && now.cachedTokens < EVICTED_SHARE * before;
}

/**
 * Which of the prompts of a session another one is compared with: the one that it has most in common with, among those
 * that its provider may still have; those of other conversations of the session are none. What was still being computed
 * when this one was sent could not be found.
 */
export function comparedWith<Known extends AskedPrompt>(
  now: AskedPrompt,
  known: readonly Known[],
  { keptMs }: CacheRules,
): Known | undefined {
  let best: Known | undefined;
  let most = -1;
  for (const one of known) {
    if (one.at > now.startedAt || !isRelated(one.print, now.print)) continue;
    const isKept = now.startedAt - one.startedAt <= keptMs;
    const isSame = one.endpoint.id === now.endpoint.id;
    const score = sharedCharacters(one.print, now.print) + (isKept ? 1e12 : 0) + (isSame ? 0.5 : 0);
    if (score < most) continue;
    best = one;
    most = score;
  }
  if (best === undefined || best.endpoint.id === now.endpoint.id) return best;
  const { id } = best.endpoint;
  const own = known.findLast(
    (one) => one.endpoint.id === now.endpoint.id && one.at <= now.startedAt && goesOn(one.print, now.print),
  );
  // What the endpoint had before the session went elsewhere it has lost as well, so the way back is not all.
  const isLost = own !== undefined && now.startedAt - own.startedAt <= keptMs && isMissing(own, now);
  return isLost && own.endpoint.id !== id ? own : best;
}

function isMissing({ promptTokens, print }: AskedPrompt, now: AskedPrompt): boolean {
  return firstChange(print, now.print) === undefined && now.cachedTokens < WARM_SHARE * promptTokens - BLOCK_TOKENS;
}

/** Whether a prompt goes on from another one, or begins like it. */
function isRelated(last: PromptPrint, now: PromptPrint): boolean {
  return goesOn(last, now) || (isAlike(last.toolNames, now.toolNames) && hasAlikeInstructions(last, now));
}

/** Whether two prompts are of one conversation: they begin with the same message, or have most of them in common. */
function goesOn({ messages: before }: PromptPrint, { messages }: PromptPrint): boolean {
  const shared = Math.min(before.length, messages.length);
  if (shared === 0) return before.length === messages.length;
  if (before[0] === messages[0]) return true;
  let same = 0;
  for (let index = 1; index < shared; index += 1) if (before[index] === messages[index]) same += 1;
  return 2 * same >= shared;
}

/** Instructions that differ in a line or two are the same ones; those of another agent are others. */
function hasAlikeInstructions(last: PromptPrint, now: PromptPrint): boolean {
  if (last.system.length === 0 || now.system.length === 0) return last.system.length === now.system.length;
  const alike = last.lines.filter((lines, index) => {
    const others = now.lines[index];
    if (others === undefined) return false;
    if (lines.length === 1 && others.length === 1) {
      return lines[0] === others[0] || last.sizes.system[index] === now.sizes.system[index];
    }
    return isAlike(lines, others);
  });
  return 2 * alike.length >= Math.max(last.system.length, now.system.length);
}

/** Whether at least half of two lists are the same members. */
function isAlike(left: readonly number[], right: readonly number[]): boolean {
  const members = new Set(left);
  const shared = right.filter((one) => members.has(one)).length;
  return shared * 2 >= Math.max(left.length, right.length);
}

/** Characters at the beginning that two prompts have in common. */
function sharedCharacters(last: PromptPrint, now: PromptPrint): number {
  const { sizes } = last;
  if (firstDifference(last.tools, now.tools) >= 0) return 0;
  const system = firstDifference(last.system, now.system);
  if (system >= 0) return sizes.tools + sum(sizes.system.slice(0, system));
  const message = last.messages.findIndex((hash, index) => hash !== now.messages[index]);
  return charactersBefore(last, message < 0 ? last.messages.length : message);
}

/** The first place where a prompt is not what was sent before. */
type Change = Pick<PromptCacheReport, 'at' | 'line' | 'change'> & {
  readonly cause: CacheCause;
  /** Share of the earlier prompt that comes before it, and before the end of what it is in. */
  readonly share: number;
  readonly until: number;
};

/** Where a prompt differs from one that it should go on from; undefined where it goes on. */
export function firstChange(last: PromptPrint, now: PromptPrint): Change | undefined {
  return changeOfBeginning(last, now) ?? changeOfMessages(last, now);
}

/** Where the tools or the instructions of two prompts differ. */
function changeOfBeginning(last: PromptPrint, now: PromptPrint): Change | undefined {
  return changeOfTools(last, now) ?? changeOfSystem(last, now);
}

function changeOfTools(last: PromptPrint, now: PromptPrint): Change | undefined {
  const index = firstDifference(last.tools, now.tools);
  if (index < 0) return undefined;
  const until = last.sizes.tools / charactersOf(last);
  const found = { cause: 'tools_changed', at: `tools[${index}]`, share: 0, until } as const;
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
  const until = share + (sizes.system[index] ?? 0) / charactersOf(last);
  const found = { cause: 'system_changed', at: `system[${index}]`, share, until } as const;
  if (before === undefined || after === undefined || after.length === 1) return found;
  return { ...found, line: firstDifference(before, after) + 1 };
}

/** What is said at the end of a prompt is new; what was there before must be there again. */
function changeOfMessages(last: PromptPrint, now: PromptPrint): Change | undefined {
  for (let index = 0; index < last.messages.length; index += 1) {
    if (last.messages[index] === now.messages[index]) continue;
    const share = charactersBefore(last, index) / charactersOf(last);
    const until = charactersBefore(last, index + 1) / charactersOf(last);
    return { cause: 'message_edited', at: `messages[${index}]`, share, until };
  }
  return undefined;
}

function charactersOf(print: PromptPrint): number {
  return Math.max(1, charactersBefore(print, print.messages.length));
}

/** Characters before a message. */
function charactersBefore({ sizes }: PromptPrint, message: number): number {
  let characters = sizes.tools + sum(sizes.system);
  for (let index = 0; index < message; index += 1) characters += sizes.messages[index] ?? 0;
  return characters;
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

/** Causes that words of providers stand for, where they are ours. */
const PROVIDER_WORDS: Readonly<Partial<Record<string, readonly (CacheCause | undefined)[]>>> = {
  model_changed: ['model_changed'],
  tools_changed: ['tools_changed'],
  system_changed: ['system_changed'],
  messages_changed: ['message_edited'],
  input_changed: ['system_changed', 'message_edited'],
  context_compacted: ['message_edited'],
  // The provider compares two prompts, and not what became of them in its cache.
  unchanged: [undefined, 'first', 'expired', 'too_short', 'not_marked', 'evicted_or_unknown'],
};

/** A report with what the provider itself has found, where it has compared something and a cause is looked for. */
export function withProviderCause(report: PromptCacheReport, word: string | undefined): PromptCacheReport {
  return word === undefined || (word === 'unchanged' && report.cause === undefined)
    ? report
    : { ...report, provider_cause: word };
}

/** Whether a provider has found another cause than the router. */
export function differsFromProvider({
  cause,
  provider_cause: word,
}: Pick<PromptCacheReport, 'cause' | 'provider_cause'>): boolean {
  return word !== undefined && PROVIDER_WORDS[word]?.includes(cause) !== true;
}
