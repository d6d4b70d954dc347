/** Remembers the last prompt of each session as hashes, and says why the next one was not in its provider's cache. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { CacheCause, PromptCacheReport } from '../../contracts/prompt-cache.ts';
import type { Attempt } from '../../core/fallback/attempt.ts';
import type { NormalizedRequest, RoutedRequest } from '../../contracts/request.ts';
import type { FactsPiece } from '../../contracts/stream-piece.ts';
import {
  type AskedPrompt,
  cacheReport,
  type CacheRules,
  comparedWith,
  movedBecause,
  withProviderCause,
} from '../../core/ledger/cache-cause.ts';
import { cacheRulesOf } from '../../core/ledger/cache-rules.ts';
import type { DraftedPrompt } from '../../core/ledger/pending-record.ts';
import { openingOf, printOf, type PromptPrint } from '../../core/ledger/prompt-print.ts';
import { marksItsCache } from '../../core/normalize/cache-marks.ts';
import { ratesAt } from '../../catalog/price-at.ts';
import { hmacSha256 } from '../../platform/hash.ts';
import type { Recorded } from '../chat/answer.ts';
import type { Dialing } from '../chat/attempt-call.ts';
import { type EventHub, warn } from '../events/events.ts';

/** Prompts that are remembered: those of the sessions that were heard of last. */
const MOST_PROMPTS = 20_000;
/** Of one session: agents that work side by side have one session, and each has prompts of its own. */
const MOST_OF_SESSION = 4;
/** Times in a row that a session has the same cause before its operator is told. */
const WARNED_AFTER = 3;
/** Milliseconds by which the clock of another instance may differ. */
const SAME_TIME_MS = 2_000;

/** Times after which the shortest that an endpoint has had cached says how short it may be. */
const MANY_HITS = 20;
/** The least that most vendors keep, in tokens. What was seen may be longer by chance. */
const USUAL_LEAST_TOKENS = 1_024;

/** Causes that somebody can do something about. */
const AVOIDABLE: ReadonlySet<CacheCause> = new Set<CacheCause>([
  'expired',
  'other_endpoint',
  'model_changed',
  'tools_changed',
  'system_changed',
  'message_edited',
  'not_marked',
]);

/** A prompt of a session, and what was found out about it. */
interface KnownPrompt extends AskedPrompt {
  readonly cause: CacheCause | undefined;
  readonly times: number;
  /** The provider's id of its answer. */
  readonly answerId: string | undefined;
}

/** What a prompt is compared by, besides itself and the usage of its answer. */
interface PromptFacts {
  /** Whether marks for the cache are words of the provider's API. */
  readonly takesMarks: boolean;
  /** What the answer says of itself. */
  readonly said: Pick<FactsPiece, 'upstreamId' | 'cacheMiss'>;
  /** As {@link StickySessions.servedAt} says it, before this request was noted there. */
  readonly servedAt: number;
}

/** The prompts of sessions, under a salt that is the same for all who have the secret. */
export async function coldCaches(secret: string, events: EventHub): Promise<ColdCaches> {
  const salt = await hmacSha256(secret, 'prompt blocks');
  return new ColdCaches(Number.parseInt(salt.slice(0, 8), 16) | 0, events);
}

/** The prompts of sessions. One for each ledger. */
export class ColdCaches {
  readonly #salt: number;
  readonly #events: EventHub;
  /** Of each session, the oldest first; sessions in the order in which they were heard of. */
  readonly #known = new Map<string, KnownPrompt[]>();
  #size = 0;
  /** What endpoints have said of what they had cached, by their ids: only what they leave out then is nothing. */
  readonly #reporting = new Map<string, SeenCache>();
  /** Providers that do not know how to compare. */
  readonly #refusing = new Set<string>();

  /** @param salt - Of all hashes. */
  constructor(salt: number, events: EventHub) {
    this.#salt = salt;
    this.#events = events;
  }

  /**
   * A call that lets its provider compare the prompt with the last of its session, where it does that.
   *
   * @param attempts - Those of the request that have ended: who refused to compare is not asked again.
   */
  comparing(dialing: Dialing<NormalizedRequest>, attempts: readonly Attempt[]): Dialing<NormalizedRequest> {
    const { request, provider, endpoint } = dialing;
    if (provider.diagnosesCache?.(endpoint.upstreamModel) !== true) return dialing;
    for (const { step, outcome } of attempts) {
      if (!outcome.ok && outcome.failure.addition === 'diagnostics') this.#refusing.add(step.endpoint.provider);
    }
    const { zeroDataRetention, denyDataCollection } = request.preferences;
    if (isApart(request) || zeroDataRetention || denyDataCollection || this.#refusing.has(endpoint.provider)) {
      return dialing;
    }
    const cache = { ...request.cache, compareWith: this.#lastAnswer(request, endpoint) };
    return { ...dialing, request: { ...request, cache }, addition: 'diagnostics' };
  }

  /** The provider's id of the last answer of a conversation; null where there is none yet. */
  #lastAnswer({ session, account, messages }: NormalizedRequest, { provider }: Endpoint): string | null {
    const opening = openingOf(messages, this.#salt);
    const known = this.#known.get(`${account.id}\n${session.key ?? opening ?? ''}`);
    const last = known?.findLast(
      (one) => one.endpoint.provider === provider && one.answerId !== undefined && one.print.messages[0] === opening,
    );
    return last?.answerId ?? null;
  }

  /**
   * Compares the prompt of a request that was answered with those of its session, and remembers it. Undefined where the
   * provider did not say what it used.
   *
   */
  note(
    { request: requested, attempts, plan }: Recorded,
    { takesMarks, said, servedAt }: PromptFacts,
  ): DraftedPrompt | undefined {
    const own = attempts.at(-1);
    // What a plugin asks belongs to no session, and of several turns each had another prompt.
    const isAlone = own?.outcome.ok === true && attempts.every((one) => one === own || !one.outcome.ok);
    const usage = own?.usage;
    if (!isAlone || usage === undefined || usage.estimated === true || own === undefined) return undefined;
    if (requested.operation !== 'chat' || isApart(requested)) return undefined;
    const request = requested as NormalizedRequest;
    const { endpoint } = own.step;
    const details = usage.prompt_tokens_details;
    const reported = details?.cached_tokens ?? undefined;
    const seen =
      this.#reporting.get(endpoint.id) ?? (reported === undefined ? undefined : { hits: 0, least: Infinity });
    // Many servers have caches and say nothing of them.
    if (seen === undefined) return undefined;
    this.#reporting.set(endpoint.id, seen);
    const print = printOf(request, this.#salt);
    const cachedTokens = reported ?? 0;
    const { prompt_tokens: counted } = usage;
    const now: AskedPrompt = {
      endpoint: { id: endpoint.id, model: endpoint.model, provider: endpoint.provider },
      print,
      startedAt: own.startedAt,
      at: own.firstTokenAt ?? own.endedAt,
      endedAt: own.endedAt,
      // Some gateways count only what was not cached.
      promptTokens: cachedTokens > counted ? cachedTokens + counted : counted,
      cachedTokens,
      writtenTokens: details?.cache_write_tokens ?? 0,
      marked: takesMarks && marksItsCache(request),
    };
    const { key: named } = request.session;
    const key = `${request.account.id}\n${named ?? print.messages[0] ?? ''}`;
    const all = this.#known.get(key) ?? [];
    const rules = knownRules(cacheRulesOf(endpoint, request, { takesMarks }), seen);
    if (cachedTokens > 0) {
      seen.hits += 1;
      seen.least = Math.min(seen.least, cachedTokens);
    }
    const mine = named === undefined ? all.filter((one) => isLater(one.print, print)) : all;
    const last = comparedWith(now, mine, rules);
    const compared = cacheReport({
      now,
      last,
      servedElsewhere: mayBeElsewhere(print, last, servedAt),
      rules,
      moved: () => (last === undefined ? undefined : movedBecause(plan, attempts, last.endpoint.id)),
      premiumUsd: premiumOf(endpoint, request.created, now.promptTokens),
    });
    const report = withProviderCause(compared, said.cacheMiss);
    const { cause } = report;
    const times = cause !== undefined && cause === last?.cause ? last.times + 1 : 1;
    this.#remember(key, all, { ...now, cause, times, answerId: said.upstreamId });
    if (times === WARNED_AFTER && cause !== undefined && AVOIDABLE.has(cause))
      this.#notify(request, endpoint, report, cause);
    return { print, report };
  }

  #remember(key: string, all: KnownPrompt[], now: KnownPrompt): void {
    all.push(now);
    this.#size += 1;
    if (all.length > MOST_OF_SESSION) {
      all.shift();
      this.#size -= 1;
    }
    this.#known.delete(key);
    this.#known.set(key, all);
    while (this.#size > MOST_PROMPTS) {
      const [eldest] = this.#known;
      if (eldest === undefined) return;
      this.#known.delete(eldest[0]);
      this.#size -= eldest[1].length;
    }
  }

  /** Says it once while it goes on: three times in a row is no chance. */
  #notify(
    request: NormalizedRequest,
    { model }: Endpoint,
    { at, line, lost_usd: lost, moved }: PromptCacheReport,
    cause: CacheCause,
  ): void {
    const place = at === undefined ? '' : ` at ${at}${line === undefined ? '' : `, line ${line}`}`;
    const why = moved === undefined ? '' : ` (${moved})`;
    const cost = lost === undefined ? '' : `, which cost ${lost.toFixed(4)} USD more the last time`;
    warn(this.#events, {
      code: 'cache_cold',
      message:
        `The prompt cache was cold ${WARNED_AFTER} times in a row in a session of account "${request.account.id}" with ` +
        `${model}: ${cause}${place}${why}${cost}. ${ADVICE[cause] ?? ''}`.trim(),
    });
  }
}

/** What an endpoint has had in its cache. */
interface SeenCache {
  hits: number;
  /** Tokens of the shortest. */
  least: number;
}

/** The rules of an endpoint after what it has had: what is shorter than the shortest of many is too short for it. */
function knownRules(rules: CacheRules, { hits, least }: SeenCache): CacheRules {
  if (hits < MANY_HITS) return rules;
  const { leastTokens, leastForSome } = rules;
  return {
    ...rules,
    leastTokens: Math.max(leastTokens, Math.min(USUAL_LEAST_TOKENS, least)),
    leastForSome: Math.max(leastTokens, Math.min(leastForSome, least)),
  };
}

/** Whether a request belongs to no session: it is part of another one, or of a batch. */
function isApart({ within, batched }: RoutedRequest): boolean {
  return within !== undefined || batched === true;
}

/**
 * Whether others may have served a session since the last prompt that is known here, or before the first one: the store
 * says so, or the prompt has more answers in it than were given here.
 */
function mayBeElsewhere({ answers }: PromptPrint, last: AskedPrompt | undefined, servedAt: number): boolean {
  if (answers > (last === undefined ? 0 : last.print.answers + 1)) return true;
  if (servedAt === Infinity) return answers === 0;
  return servedAt > (last?.endedAt ?? -Infinity) + SAME_TIME_MS;
}

/** Whether a prompt without a named session goes on from another one, and does not only begin with the same words. */
function isLater({ messages: before }: PromptPrint, { messages }: PromptPrint): boolean {
  return messages.length >= before.length && (before.length < 2 || messages[1] === before[1]);
}

/** What can be done about a cause. */
const ADVICE: Readonly<Partial<Record<CacheCause, string>>> = {
  expired: 'Ask sooner, or mark the prompt with a longer ttl where the provider has one',
  other_endpoint: 'Send a session_id, or pin the provider with provider.order',
  model_changed: 'Stay with one model in a session',
  tools_changed: 'Send the same tools in the same order in each request',
  system_changed: 'Move what changes behind the instructions, to the last message',
  message_edited: 'Add to the conversation, and leave what was sent as it is',
  not_marked: 'Mark the end of what repeats with cache_control, or leave cacheMarks on',
};

/** US dollars that a token costs more where it does not come from the cache. */
function premiumOf({ price }: Endpoint, at: number, promptTokens: number): number | undefined {
  if (price === undefined) return undefined;
  const rates = ratesAt(price, { at, promptTokens });
  if (rates === undefined) return undefined;
  const { prompt, cacheRead = prompt } = rates;
  return Math.max(0, prompt - cacheRead) / 1e6;
}
