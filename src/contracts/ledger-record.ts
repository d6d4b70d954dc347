/** The record of one request as the ledger keeps it. */
import type { AppliedConfiguration } from './request.ts';
import type { LedgerDecision } from './ledger-decision.ts';
import type { FailureKind } from './failure.ts';
import type { CacheCause, PromptCacheReport } from './prompt-cache.ts';
import type { ExclusionReason } from './exclusion-reason.ts';

/** API format in which a request came. `embeddings` has one only. */
export type LedgerFormat = 'chat' | 'responses' | 'messages' | 'embeddings';

/**
 * One request. A document: it is stored, sent and exported as it is, so its members have wire names. Holds no prompt, no
 * answer, no key and no raw session or user id. Times that end in `_ms` count from the beginning of the request; amounts
 * are whole nano-dollars (10⁻⁹ USD).
 *
 * As JSON, with a hedge that won and a search:
 *
 * ```json
 * {
 *   "version": 1,
 *   "id": "gen-1763845200-k3VxW1Zs8Qm0aYtR4uEp",
 *   "at": 1763845200123,
 *   "duration_ms": 1843.2, "first_token_ms": 912.5,
 *   "account": "team-a",
 *   "tags": { "feature": "search" },
 *   "session": "s_5V0qk1bJ2m",
 *   "format": "chat", "stream": true,
 *   "requested": "acme/writer",
 *   "strategy": "direct",
 *   "status": 200,
 *   "finish_reason": "stop", "native_finish_reason": "end_turn",
 *   "endpoint": "beta#acme/writer",
 *   "provider": "beta", "model": "acme/writer",
 *   "usage": { "prompt_tokens": 1200, "completion_tokens": 310, "cached_tokens": 1024, "reasoning_tokens": 64 },
 *   "cost_nano_usd": 6180000,
 *   "candidates": [
 *     {
 *       "endpoint": "alpha#acme/writer",
 *       "why": "drawn by expected cost and health: the prompt is cached there",
 *       "expected_cost_nano_usd": 812500, "warmth": 0.8533, "health": 0.981, "slowness": 1.04, "headroom": 0.75, "share": 0.97,
 *       "seen": {
 *         "condition": [0.93, 14250.5], "lateness": [0.0392, 120.25], "warm": { "ok": true, "headroom": 0.75 },
 *         "latency": [71, 73, 76, 81], "throughput": [50, 48, 46, 41]
 *       }
 *     },
 *     {
 *       "endpoint": "beta#acme/writer",
 *       "why": "next by expected cost and health",
 *       "expected_cost_nano_usd": 1430000, "share": 0.03,
 *       "seen": { "latency": [64, 66, 70, 75], "throughput": [47, 45, 44, 40] }
 *     },
 *     {
 *       "endpoint": "delta#acme/writer", "why": "no call is let through now", "health": 0.41, "headroom": 0, "share": 0,
 *       "seen": { "condition": [0.41, 350], "admission": { "ok": false, "cause": "rate_limited", "wait_ms": 4200, "asked": true } }
 *     }
 *   ],
 *   "excluded": [{ "endpoint": "gamma#acme/writer", "reason": "context_length", "detail": "8192" }],
 *   "attempts": [
 *     {
 *       "number": 1, "endpoint": "alpha#acme/writer", "start_ms": 1.3, "end_ms": 915.1, "outcome": "superseded",
 *       "status": 499, "cost_nano_usd": 120000
 *     },
 *     {
 *       "number": 2, "endpoint": "beta#acme/writer", "hedge": true, "start_ms": 640.2, "first_token_ms": 912.5,
 *       "end_ms": 1842.9, "outcome": "ok", "status": 200,
 *       "usage": { "prompt_tokens": 1200, "completion_tokens": 310, "cached_tokens": 1024, "reasoning_tokens": 64 },
 *       "cost_nano_usd": 1060000
 *     }
 *   ],
 *   "plugins": [{ "id": "web", "hook": "onRequest", "outcome": "changed", "start_ms": 0.1, "end_ms": 1.1 }],
 *   "tools": [
 *     {
 *       "type": "router:web_search", "name": "web_search", "outcome": "ok", "start_ms": 0.4, "end_ms": 1.0,
 *       "cost_nano_usd": 5000000
 *     }
 *   ],
 *   "decision": {
 *     "roll": 0.7183, "created": 1763845200, "prompt_tokens": 1180, "likely_prompt_tokens": 1204, "output_tokens": 1000,
 *     "session_draw": 2838112345, "served": [["alpha#acme/writer", 42000.5, 1024]], "usual_answer_tokens": 288,
 *     "targets": [{ "requested": "acme/writer" }]
 *   }
 * }
 * ```
 */
export interface LedgerRecord {
  /** Version of this shape. */
  readonly version: 1;
  /** Generation id; those of batches begin with `gen-batch-`. */
  readonly id: string;
  /** When it began, milliseconds since 1970. */
  readonly at: number;
  readonly duration_ms: number;
  /** First token of a stream, or the end of a non-streaming answer. Absent when there was none. */
  readonly first_token_ms?: number | undefined;
  readonly account: string;
  /**
   * Generation id of the request whose plugin or tool made this one, or that this one is a copy of. The cost of this one
   * is not in that one's.
   */
  readonly parent?: string | undefined;
  /** Alias whose mirror this is: a copy of `parent` for a candidate, whose answer nobody was shown. */
  readonly mirror?: string | undefined;
  /** True for a request of a batch. */
  readonly batch?: true | undefined;
  /** Those members of the request's `metadata` that the option `ledger.tags` names. */
  readonly tags?: Readonly<Record<string, string>> | undefined;
  /** Keyed hash of the session's id: equal for requests of one session of one account in one process or fleet. */
  readonly session?: string | undefined;
  readonly format: LedgerFormat;
  readonly stream: boolean;
  /** Model or alias as it was sent. */
  readonly requested: string;
  /** Rules, splits and mirrors of the configuration that took part. Replay keeps the models that rules chose. */
  readonly applied?: AppliedConfiguration | undefined;
  /** How the model was chosen, as in `router_metadata`. */
  readonly strategy: string;
  /**
   * True when it was refused before anything was planned: a body that is not valid, an unknown model, a rule, a key
   * without the scope, a rate limit. `requested` is then what could be read of the body, and may be empty.
   */
  readonly refused?: true | undefined;
  /** HTTP status for the caller: 200, 499 when it disconnected, otherwise that of the error. */
  readonly status: number;
  /** As in the error's body. Absent when the request was answered. */
  readonly error_type?: string | undefined;
  /**
   * Why it was refused without a call: the router's sentence, such as that of a rule or a budget, or the path in the body
   * that is wrong. Nothing in it is what the caller sent: quoted texts are left out. Absent where a call was made.
   */
  readonly reason?: string | undefined;
  /** True when part of a stream had been sent before it failed. */
  readonly committed?: true | undefined;
  readonly finish_reason?: string | undefined;
  /** In the words of the provider, where they are others. */
  readonly native_finish_reason?: string | undefined;
  /** Who answered, or was called last. Absent when nobody was. */
  readonly endpoint?: string | undefined;
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  /** True when the account's own key at the provider was used. */
  readonly own_key?: true | undefined;
  /** Of the answer: what the caller got, without what plugins' own requests used. */
  readonly usage?: LedgerUsage | undefined;
  /**
   * What was charged: all attempts, and services of plugins and tools; 0 for what is free. Requests that plugins make are
   * records of their own. Absent where the price of an attempt is unknown: the attempts that have a price say what they
   * cost, the others have `unpriced`.
   */
  readonly cost_nano_usd?: number | undefined;
  /** What providers charge the account itself, for calls with its own keys. Absent for nothing. */
  readonly own_key_cost_nano_usd?: number | undefined;
  /** How the response cache was used; the answer cost nothing with `hit`. Absent where it took no part. */
  readonly cache?: 'hit' | 'miss' | undefined;
  /** Endpoints in the order in which they would be tried. */
  readonly candidates: readonly LedgerCandidate[];
  readonly excluded: readonly LedgerExclusion[];
  /** Upstream calls in order, cancelled ones too. */
  readonly attempts: readonly LedgerAttempt[];
  readonly plugins?: readonly LedgerPlugin[] | undefined;
  readonly tools?: readonly LedgerTool[] | undefined;
  /**
   * Salted hashes of the blocks of the prompt, and nothing of its text: how many tools, blocks of instructions and
   * messages there were, and base64 of eight bits for each of the first 90. The beginning that two prompts of one fleet
   * share is the beginning that these share. Absent where the provider did not say what it used.
   */
  readonly prompt?: string | undefined;
  /** Why the prompt was not in the provider's cache. Absent where it was, and where that is unknown. */
  readonly cold?: LedgerCold | undefined;
  /** What else the decision depended on. Absent where nothing was planned: a plugin or the response cache answered. */
  readonly decision?: LedgerDecision | undefined;
}

/** Why a prompt was not in its provider's cache. */
export interface LedgerCold {
  readonly cause: CacheCause;
  /** First place that differs from the last request of the session: `tools[2]`, `system[0]`, `messages[5]`. */
  readonly at?: string | undefined;
  /** Line of that block, counted from 1, where it has several. */
  readonly line?: number | undefined;
  /** How tools differ. */
  readonly change?: PromptCacheReport['change'];
  /** Why the session moved to another endpoint. */
  readonly moved?: string | undefined;
  /** What the provider itself has found, in its own word. Absent where it did not say. */
  readonly provider_cause?: string | undefined;
  /** Tokens that would have come from the cache. Absent for none. */
  readonly missed_tokens?: number | undefined;
  /** What the cached price would have saved. Absent for nothing. */
  readonly lost_nano_usd?: number | undefined;
}

/** Tokens of an answer. */
export interface LedgerUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly cached_tokens?: number | undefined;
  readonly cache_write_tokens?: number | undefined;
  readonly reasoning_tokens?: number | undefined;
  /** True when the provider reported nothing and the tokens were estimated. */
  readonly estimated?: true | undefined;
}

/**
 * An endpoint that could be tried. Its id is `tag#model`: the tag as in provider preferences, which begins with the
 * provider's slug, and the model's id. There is no `share` where an order, a sort or prices alone decided.
 */
export interface LedgerCandidate {
  readonly endpoint: string;
  /** Index of the requested model that it serves. Absent for 0. */
  readonly target?: number | undefined;
  /** In words. */
  readonly why: string;
  /** Absent without a price. */
  readonly expected_cost_nano_usd?: number | undefined;
  /** What each further request of the session was expected to cost there. Absent where that did not count, or without a price. */
  readonly later_cost_nano_usd?: number | undefined;
  /** Share of the prompt that is likely to be in its cache; here and below to four digits. Absent for 0. */
  readonly warmth?: number | undefined;
  /** From 0 to 1: what is left after failures and slowness. Absent for 1. */
  readonly health?: number | undefined;
  /** How many times as long as usual its calls take. Absent for 1. */
  readonly slowness?: number | undefined;
  /** Share of its rate that is free; below 0 where it had more calls at a time than it answers in time. Absent for 1. */
  readonly headroom?: number | undefined;
  /**
   * Probability with which it was drawn to be the first of those that it was compared with. Present exactly where numbers
   * decided.
   */
  readonly share?: number | undefined;
  /** What the decision saw of it. Absent for one that was never called. */
  readonly seen?: ObservedEndpoint | undefined;
}

/** An endpoint that was left out. */
export interface LedgerExclusion {
  readonly endpoint: string;
  readonly reason: ExclusionReason;
  /** What exactly did not fit, for example `image` or `context 8,192`. */
  readonly detail?: string | undefined;
  /** What the decision saw of it, where it was compared before it was left out. */
  readonly seen?: ObservedEndpoint | undefined;
}

/**
 * What a decision saw of an endpoint: enough to decide again. Not rounded, because a decision may hang on the last digit.
 * What is absent is as with an endpoint of which nothing bad is known.
 */
export interface ObservedEndpoint {
  /** What failures had left of it, how many milliseconds before the decision that was, and US dollars that a call lost by them. */
  readonly condition?: readonly [value: number, ageMs: number, lostUsd?: number] | undefined;
  /** Logarithm of how many times as long as usual calls took, and its age in milliseconds. */
  readonly lateness?: readonly [value: number, ageMs: number] | undefined;
  /** Why a call was not simply let through. Absent where it was. */
  readonly admission?: ObservedAdmission | undefined;
  /** p50, p75, p90 and p99 of the last five minutes; a value of b stands for 2^(b/8) ms to the first token. */
  readonly latency?: ObservedPercentiles | undefined;
  /** Likewise, for 2^(b/8) tokens a second. */
  readonly throughput?: ObservedPercentiles | undefined;
  /** Medians of two hours, where nothing was measured in the last five minutes. */
  readonly before?: { readonly latency?: number | undefined; readonly throughput?: number | undefined } | undefined;
  /** Of the last half hour and two hours, for how its tool calls turned out. Present where that was compared. */
  readonly tools?: ObservedTools | undefined;
  /** Tokens that it counts for one that was estimated. Present where the context might have been too short. */
  readonly tokens?: number | undefined;
  /** How many times as much as its declared price it charged. Absent where it is that. */
  readonly charges?: number | undefined;
  /** 1: below par; 2: only as a last resort. Absent for a stable one. */
  readonly stability?: 1 | 2 | undefined;
  /** What a call took: without tokens, for each that no cache had, and for calls that waited. Absent where unknown. */
  readonly timing?: readonly [baseMs: number, perTokenMs: number, queueMs: number] | undefined;
}

/** Buckets at the percentiles 50, 75, 90 and 99. */
export type ObservedPercentiles = readonly [p50: number, p75: number, p90: number, p99: number];

/** Whether an endpoint might be called. */
export interface ObservedAdmission {
  readonly ok: boolean;
  /** True when the call would have found out whether an endpoint that was out is back. */
  readonly probe?: true | undefined;
  readonly headroom?: number | undefined;
  /** Why not: a failure, an open circuit, or a rate that is used up. */
  readonly cause?: FailureKind | 'breaker' | 'pace' | undefined;
  readonly wait_ms?: number | undefined;
  /** True when the provider had said for how long. */
  readonly asked?: true | undefined;
}

/** How the tool calls of an endpoint turned out, and its answers that were held to a schema. */
export interface ObservedTools {
  readonly requests: number;
  readonly tool_requests: number;
  readonly bad_tool_calls: number;
  /** Absent where none was held to a schema. */
  readonly schema_answers?: number | undefined;
  /** Those of them that did not fit. */
  readonly misfits?: number | undefined;
  /** Bucket of the median, as in {@link ObservedEndpoint.throughput}. */
  readonly throughput?: number | undefined;
}

/** One upstream call. */
export interface LedgerAttempt {
  /** Counted from 1. */
  readonly number: number;
  readonly endpoint: string;
  /** True when it was made although an earlier one had not failed. */
  readonly hedge?: true | undefined;
  readonly start_ms: number;
  /** Absent when it failed before that. */
  readonly first_token_ms?: number | undefined;
  readonly end_ms: number;
  /** `superseded`: the other call answered first. `aborted`: the caller disconnected. */
  readonly outcome: 'ok' | FailureKind;
  /** Of the provider where it answered with one, otherwise the one that stands for the outcome. */
  readonly status: number;
  /** Where a call went that failed: scheme, host and path. Absent where its provider does not say it. */
  readonly provider_url?: string | undefined;
  /** What the provider reported, also of a call that failed. */
  readonly usage?: LedgerUsage | undefined;
  /** What was charged for it. Absent for nothing, and where it is unknown. */
  readonly cost_nano_usd?: number | undefined;
  /** True when it may have cost something and its price is unknown. Records of tables of version 1 do not say it. */
  readonly unpriced?: true | undefined;
  /** Why its model refused to answer, in the provider's word; `other` where it gave none. Absent where it did not refuse. */
  readonly refusal?: string | undefined;
  /** True when its stream broke after it had begun, and what it had sent stayed part of the answer. */
  readonly kept?: true | undefined;
  /** How it went on with the text of an earlier one that broke. Absent where it did not. */
  readonly continued?: 'prefill' | 'repetition' | undefined;
}

/** A hook of a plugin that took part. */
export interface LedgerPlugin {
  readonly id: string;
  readonly hook: 'onRequest' | 'onAttempt' | 'onResult';
  readonly outcome: 'unchanged' | 'changed' | 'answered' | 'refused' | 'skipped' | 'failed' | 'aborted';
  readonly start_ms: number;
  readonly end_ms: number;
  /** What it paid for services, without models. Absent for nothing. */
  readonly cost_nano_usd?: number | undefined;
}

/** A call of a server tool. */
export interface LedgerTool {
  /** Such as `router:web_search`. */
  readonly type: string;
  /** Name under which the model called it. */
  readonly name: string;
  readonly outcome: 'ok' | 'failed' | 'timeout' | 'aborted';
  readonly start_ms: number;
  readonly end_ms: number;
  /** What it paid for services, without models. Absent for nothing. */
  readonly cost_nano_usd?: number | undefined;
}
