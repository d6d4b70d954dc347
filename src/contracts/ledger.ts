/** The contract of ledgers: what is written, and what can be queried. */
import type { MaybePromise } from '../platform/wait.ts';
import type { Choice } from '../protocol/chat-result.ts';
import type { Message } from '../protocol/message.ts';
import type { LedgerRecord } from './ledger-record.ts';

export type {
  LedgerFormat,
  LedgerRecord,
  LedgerUsage,
  LedgerCold,
  LedgerCandidate,
  LedgerExclusion,
  ObservedEndpoint,
  ObservedPercentiles,
  ObservedAdmission,
  ObservedTools,
  LedgerAttempt,
  LedgerPlugin,
  LedgerTool,
} from './ledger-record.ts';
export type { LedgerDecision, LedgerPreferences, LedgerTarget } from './ledger-decision.ts';

/**
 * What was decided about requests, what became of them and what they cost. One {@link LedgerRecord} for each request
 * whose account is known, also where it was refused before anything was planned; those have `refused`. A request with
 * credentials that are no good (401) is nobody's and is not recorded.
 *
 * Served over HTTP, below the base path of a mount:
 * - `GET /generation?id=gen-…`: one generation in the format of the hosted service (gaps 10), for its own account or
 *   with the scope `operator`; anybody else gets the same 404 as for an unknown id.
 * - `GET /ledger?after=&limit=&order=&format=jsonl|csv` and the filters of {@link LedgerFilter} (`account`, `model`,
 *   `provider`, `endpoint`, `called`, `error`, `session`, `batch`, `stream`, `longer_than_ms`, `tag=name:value`,
 *   `from`, `to`), with the scope `operator` for all accounts, or `management` for its own. JSON lines are records as they are here. The header `X-Next-Cursor`
 *   says where to go on; it is absent on the last page.
 * - `GET /ledger/costs?by=model|account|tag|day|provider|endpoint&tag=name&from=&to=&account=`, with the same
 *   scopes: `{ "object": "list", "data": LedgerCost[], "total": LedgerCost }`.
 */
export interface Ledger {
  /**
   * Keeps records. Called with batches, one call at a time and never while a request waits. A record that is there
   * already, by its id, stays as it is: a batch that failed may come again.
   */
  append(records: readonly LedgerRecord[]): void | Promise<void>;
  /** Records in the order in which they came, page by page. */
  read(query?: LedgerQuery): LedgerPage | Promise<LedgerPage>;
  /** One record by its generation id; undefined when it is not known, or not any more. */
  one(id: string): LedgerRecord | undefined | Promise<LedgerRecord | undefined>;
  /** What requests cost, by one of their properties: exact sums, the most expensive first, days in order. */
  costs(query: LedgerCostQuery): readonly LedgerCost[] | Promise<readonly LedgerCost[]>;
  /**
   * Requests, failures, cost and time to the first token over time, in order. Slots without requests are left out. Absent
   * in stores that cannot count without reading every record: the charts of the inspector are then left out.
   */
  timeline?(query: LedgerTimelineQuery): readonly LedgerSlot[] | Promise<readonly LedgerSlot[]>;
  /** Requests that failed since a time, by endpoint and type of error, the most frequent first. Absent as `timeline` is. */
  failures?(query: LedgerFailureQuery): readonly LedgerFailure[] | Promise<readonly LedgerFailure[]>;
  /** Lets go of files and connections. */
  close?(): void | Promise<void>;
  /**
   * How many records it keeps at most, in the memory of this process. A router then hands records over when somebody
   * reads, so that nothing is written out for nobody. Absent for stores that others read, or that last.
   */
  readonly keeps?: number | undefined;
}

/** Which records to read. Everything that is given must hold. */
export interface LedgerFilter {
  readonly account?: string | undefined;
  /** Id of the model that answered, or was called last. */
  readonly model?: string | undefined;
  /** Slug of the provider that answered, or was called last. */
  readonly provider?: string | undefined;
  /** Id of the endpoint that answered, or was called last. */
  readonly endpoint?: string | undefined;
  /** Id of an endpoint that was called, whether it answered or another one did after it. */
  readonly called?: string | undefined;
  /** `any`: every request that failed; otherwise an `error_type`. */
  readonly error?: string | undefined;
  /** A tag that the record has, with this value. */
  readonly tag?: readonly [name: string, value: string] | undefined;
  /** Hash of a session, as in the record. */
  readonly session?: string | undefined;
  /** True: only requests of batches; false: only others. */
  readonly batch?: boolean | undefined;
  /** True: only streaming requests; false: only others. */
  readonly stream?: boolean | undefined;
  /** Milliseconds that the request took at least. */
  readonly longerThanMs?: number | undefined;
  /** Milliseconds since 1970, included. */
  readonly from?: number | undefined;
  /** Milliseconds since 1970, excluded. */
  readonly to?: number | undefined;
}

/** Which page of which records. */
export interface LedgerQuery extends LedgerFilter {
  /** Cursor of the page before. Default: from the beginning, or from the end where the latest come first. */
  readonly after?: string | undefined;
  /** Records of a page at most. Default 100. */
  readonly limit?: number | undefined;
  /** `oldest`: in the order in which records came. `latest`: by the time at which requests began, the latest first. Default `oldest`. */
  readonly order?: 'oldest' | 'latest' | undefined;
}

/**
 * A page of records. With the latest first, a store may stop looking before the page is full, so that no question takes
 * long however many records it keeps: the page is then short or empty, and has `next`.
 */
export interface LedgerPage {
  readonly records: readonly LedgerRecord[];
  /** Where the next page begins. Absent when there was nothing more at the time of the question. */
  readonly next?: string | undefined;
  /** Cursor behind the last record of this page, for those who wait for new ones. Absent for an empty page. */
  readonly last?: string | undefined;
}

/** By what costs are summed. */
export type LedgerCostKey = 'model' | 'account' | 'tag' | 'day' | 'provider' | 'endpoint';

/** Which costs, and by what. */
export interface LedgerCostQuery {
  readonly by: LedgerCostKey;
  /** Name of the tag to sum by; with `by: 'tag'` only, and then required. */
  readonly tag?: string | undefined;
  readonly account?: string | undefined;
  /** Milliseconds since 1970, included. Default: everything that is kept. */
  readonly from?: number | undefined;
  /** Milliseconds since 1970, excluded. */
  readonly to?: number | undefined;
}

/**
 * What requests cost. By model, provider or endpoint each upstream call counts where it was made; what tools and plugins
 * paid for services counts under the key `services`. So the sums of all keys are the same, whatever they are by.
 */
export interface LedgerCost {
  /** The account, the tag's value (empty for requests without it), the day in UTC such as `2026-11-22`, and so on. */
  readonly key: string;
  /** Requests that were answered there or, by account, tag and day, that came. */
  readonly requests: number;
  /** Those of them that failed. */
  readonly failed: number;
  /** Upstream calls. */
  readonly attempts: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  /** Tokens of the prompts that came from a provider's cache. */
  readonly cached_tokens: number;
  /** Whole nano-dollars (10⁻⁹ USD), of the calls whose price is known. */
  readonly cost_nano_usd: number;
  /** Upstream calls whose price is unknown: what they cost is not in `cost_nano_usd`. */
  readonly unpriced: number;
}

/** Which time, and in which steps. */
export interface LedgerTimelineQuery {
  /** Milliseconds since 1970; a multiple of `slotMs`. */
  readonly from: number;
  /** Milliseconds since 1970, excluded. */
  readonly to: number;
  /** Milliseconds of a slot: a multiple of 60,000. */
  readonly slotMs: number;
}

/** What requests that began within a slot of time came to. */
export interface LedgerSlot {
  /** Beginning of the slot, milliseconds since 1970. */
  readonly at: number;
  readonly requests: number;
  readonly failed: number;
  readonly cost_nano_usd: number;
  /** Upstream calls whose price is unknown. */
  readonly unpriced: number;
  /** Mean time to the first token of streams. Absent where there was none. */
  readonly first_token_ms?: number | undefined;
}

/** Since when failures are counted. */
export interface LedgerFailureQuery {
  /** Milliseconds since 1970. */
  readonly from: number;
}

/** Requests that failed in one way. */
export interface LedgerFailure {
  /** Endpoint that was called last; absent where none was called. */
  readonly endpoint?: string | undefined;
  readonly error_type: string;
  readonly requests: number;
  /** When the latest of them began, milliseconds since 1970. */
  readonly latest: number;
}

/** Prompt and answer of a chat request, for those who keep them to evaluate models. */
export interface LedgerContent {
  /** Generation id, as in the {@link LedgerRecord} of the request. */
  readonly id: string;
  readonly account: string;
  readonly model: string;
  readonly messages: readonly Message[];
  /** Generation id of the request that this is a copy of; absent for the request of a caller. */
  readonly mirrorOf?: string | undefined;
  /** As the caller got them; those of a copy were shown to nobody. */
  readonly choices: readonly Choice[];
}

/**
 * Takes prompts and answers out of what may be kept; undefined keeps nothing of this request. What it throws keeps
 * nothing either.
 */
export type RedactContent = (content: LedgerContent) => MaybePromise<LedgerContent | undefined>;

/** Keeps prompts and answers. Called after the answer was given; what it throws is a `warning` and nothing else. */
export type ContentSink = (content: LedgerContent) => MaybePromise<void>;
