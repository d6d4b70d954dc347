/** Remembers the last prompt of each session as hashes, and says why the next one was not in its provider's cache. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { CacheCause, PromptCacheReport } from '../../contracts/prompt-cache.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import { type AskedPrompt, cacheReport, movedBecause } from '../../core/ledger/cache-cause.ts';
import { cacheRulesOf } from '../../core/ledger/cache-rules.ts';
import type { DraftedPrompt } from '../../core/ledger/pending-record.ts';
import { printOf, type PromptPrint } from '../../core/ledger/prompt-print.ts';
import { marksItsCache } from '../../core/normalize/cache-marks.ts';
import { ratesAt } from '../../catalog/price-at.ts';
import { hmacSha256 } from '../../platform/hash.ts';
import type { Recorded } from '../chat/answer.ts';
import { type EventHub, warn } from '../events/events.ts';

/** Sessions that are remembered: those that were heard of last. */
const MOST_SESSIONS = 10_000;
/** Times in a row that a session has the same cause before its operator is told. */
const WARNED_AFTER = 3;
/** Milliseconds by which the clock of another instance may differ. */
const SAME_TIME_MS = 2_000;

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

/** A session, and what was last seen of it. */
interface KnownSession extends AskedPrompt {
  readonly cause: CacheCause | undefined;
  readonly times: number;
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
  readonly #known = new Map<string, KnownSession>();

  /** @param salt - Of all hashes. */
  constructor(salt: number, events: EventHub) {
    this.#salt = salt;
    this.#events = events;
  }

  /**
   * Compares the prompt of a request that was answered with the last one of its session, and remembers it. Undefined
   * where the provider did not say what it used.
   *
   * @param takesMarks - Whether marks for the cache are words of the provider's API.
   */
  note({ request: requested, attempts, plan }: Recorded, takesMarks: boolean): DraftedPrompt | undefined {
    const own = attempts.at(-1);
    // What a plugin asks belongs to no session, and of several turns each had another prompt.
    const isAlone = own?.outcome.ok === true && attempts.every((one) => one === own || !one.outcome.ok);
    const usage = own?.usage;
    if (!isAlone || usage === undefined || usage.estimated === true || own === undefined) return undefined;
    if (requested.operation !== 'chat' || requested.within !== undefined || requested.batched === true)
      return undefined;
    const request = requested as NormalizedRequest;
    const { endpoint } = own.step;
    const print = printOf(request, this.#salt);
    const details = usage.prompt_tokens_details;
    const now: AskedPrompt = {
      endpoint: { id: endpoint.id, model: endpoint.model },
      print,
      at: own.firstTokenAt ?? own.endedAt,
      endedAt: own.endedAt,
      promptTokens: usage.prompt_tokens,
      cachedTokens: details?.cached_tokens ?? 0,
      writtenTokens: details?.cache_write_tokens ?? 0,
      marked: takesMarks && marksItsCache(request),
    };
    const { key: named } = request.session;
    const key = `${request.account.id}\n${named ?? print.messages[0] ?? ''}`;
    const known = this.#known.get(key);
    const last = known !== undefined && (named !== undefined || goesOn(known.print, print)) ? known : undefined;
    const latest = plan.seen?.served?.[0];
    const report = cacheReport({
      now,
      last,
      servedElsewhere: latest !== undefined && latest.at > (last?.endedAt ?? -Infinity) + SAME_TIME_MS,
      rules: cacheRulesOf(endpoint, request, { takesMarks }),
      moved: () => (last === undefined ? undefined : movedBecause(plan, attempts, last.endpoint.id)),
      premiumUsd: premiumOf(endpoint, request.created, now.promptTokens),
    });
    const { cause } = report;
    const times = cause !== undefined && cause === last?.cause ? last.times + 1 : 1;
    this.#known.delete(key);
    this.#known.set(key, { ...now, cause, times });
    const [eldest] = this.#known.keys();
    if (this.#known.size > MOST_SESSIONS && eldest !== undefined) this.#known.delete(eldest);
    if (times === WARNED_AFTER && cause !== undefined && AVOIDABLE.has(cause))
      this.#notify(request, endpoint, report, cause);
    return { print, report };
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

/** Whether a prompt without a named session goes on from another one, and does not only begin with the same words. */
function goesOn({ messages: before }: PromptPrint, { messages }: PromptPrint): boolean {
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
