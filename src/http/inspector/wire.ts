import type { ColdSum } from '../../core/ledger/sum-cold.ts';
import type { CostPart } from '../../catalog/cost.ts';
import type { LedgerCost, LedgerFailure, LedgerRecord, LedgerSlot } from '../../contracts/ledger.ts';
import type { ExplainedRejection, ExplainedStep } from '../../core/selection/explain.ts';
import type { Batch } from '../../protocol/batch.ts';

/** What the page and its server tell each other, below `<base>/inspector/api`. Of one version; nobody else's business. */

/** `GET api/facts`: what does not change while the router runs. */
export interface InspectorFacts {
  readonly providers: readonly { readonly slug: string; readonly name: string }[];
  /** Ids of models that chat requests may name, as far as they are declared. */
  readonly models: readonly string[];
  readonly strategy: string;
  /** False: only what happens while a page is open can be seen. */
  readonly ledger: boolean;
  /** Whether prompts and answers of the last requests are kept. */
  readonly content: boolean;
}

/** `GET api/overview`: what is wrong now. */
export interface Overview {
  /** Milliseconds since 1970, by the router's clock. */
  readonly now: number;
  /** Endpoints that no call goes to, or one at a time, those with an open circuit first. */
  readonly circuits: readonly EndpointView[];
  /** Requests that failed in the last hour, the most frequent first; absent where the store cannot count them. */
  readonly failures?: readonly LedgerFailure[] | undefined;
  /** How many failed in other ways, of which there are too many to show. */
  readonly other_failures: number;
  /** What the last hour came to, as far as the store counts. */
  readonly hour?: Omit<LedgerSlot, 'at'> | undefined;
  /** The latest first. */
  readonly warnings: readonly { readonly code: string; readonly message: string; readonly at: number }[];
}

/** `GET api/timeline?span=hour|day|week`: slots in order, those without requests too. */
export interface Timeline {
  readonly slot_ms: number;
  /** Absent where the store of the ledger cannot count without reading every record. */
  readonly slots?: readonly LedgerSlot[] | undefined;
}

/** `GET api/suggestions`: values that requests had lately, by the name of the filter. */
export type Suggestions = Readonly<Record<string, readonly string[]>>;

/** `GET api/requests/<id>/content`: the prompt and the answer. */
export interface ContentView {
  readonly messages: readonly unknown[];
  readonly choices: readonly unknown[];
  /** True when it was too long to be kept. */
  readonly too_long?: true | undefined;
}

/** What may be spent, and what is left. Amounts are US dollars. */
export interface BudgetView {
  /** Account, and the label of a key. */
  readonly account: string;
  readonly key?: string | undefined;
  readonly name?: string | undefined;
  readonly disabled?: boolean | undefined;
  /** Milliseconds since 1970. */
  readonly expires_at?: number | undefined;
  readonly limit?: number | undefined;
  readonly period?: string | undefined;
  /** Spent in the period; absent where nobody counts it. */
  readonly spent?: number | undefined;
}

/** `GET api/budgets`. */
export interface BudgetViewList {
  readonly budgets: readonly BudgetView[];
  readonly keys: readonly BudgetView[];
  /** Keys that are not shown, because there are so many. */
  readonly more_keys: boolean;
  /** Tags and sessions that have budgets of their own. */
  readonly others: readonly { readonly of: string; readonly limit: number; readonly period: string }[];
}

/** One upstream call of a {@link LiveRow}. Times count from the beginning of the request, in milliseconds. */
export interface LiveAttempt {
  readonly endpoint: string;
  readonly start_ms: number;
  readonly first_token_ms?: number | undefined;
  /** Absent while it runs. */
  readonly end_ms?: number | undefined;
  readonly outcome?: string | undefined;
  readonly hedge?: true | undefined;
}

/** A request in the live view. */
export interface LiveRow {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly account: string;
  readonly requested: string;
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  readonly stream: boolean;
  /** Id of the request whose plugin or tool made this one, or that this one is a copy of. */
  readonly parent?: string | undefined;
  /** Alias whose mirror this is: a copy for a candidate. */
  readonly mirror?: string | undefined;
  readonly tags?: Readonly<Record<string, string>> | undefined;
  readonly attempts: readonly LiveAttempt[];
  /** Absent while it runs. */
  readonly duration_ms?: number | undefined;
  readonly status?: number | undefined;
  readonly error_type?: string | undefined;
  /** Why it was refused without a call, as in its record; not there yet of one that has just been planned. */
  readonly reason?: string | undefined;
  readonly prompt_tokens?: number | undefined;
  readonly completion_tokens?: number | undefined;
  readonly cached_tokens?: number | undefined;
  /** Absent while it runs, and where a price is unknown. */
  readonly cost_nano_usd?: number | undefined;
}

/** `GET api/live`: one server-sent event, a few times a second at most. Its id is where to go on. */
export interface LiveUpdate {
  /** Milliseconds since 1970, by the router's clock. */
  readonly now: number;
  /** Requests that have no answer yet, the oldest first; not all of them when there are many. */
  readonly running: readonly LiveRow[];
  readonly running_total: number;
  /** Requests that ended since the update before, the oldest first; some of them when there were many. */
  readonly ended: readonly LiveRow[];
  /** How many more ended that the filter lets through. */
  readonly left_out: number;
  /** Sums over everything since the first page was opened, whatever the filter. */
  readonly totals: LiveTotals;
}

/** Sums of the live view. */
export interface LiveTotals {
  readonly requests: number;
  readonly failed: number;
  readonly cost_nano_usd: number;
  /** Requests of which a price is unknown: what they cost is not in the sum, or not all of it. */
  readonly unpriced: number;
  readonly tokens: number;
}

/** `GET api/requests`: requests that ended, the latest first. */
export interface RequestList {
  readonly rows: readonly LiveRow[];
  /** For `after` of the next page. */
  readonly next?: string | undefined;
}

/** `GET api/records`: records as they are kept, the oldest first, for export. */
export interface RecordPage {
  readonly records: readonly LedgerRecord[];
  readonly next?: string | undefined;
}

/** `GET api/requests/<id>`: everything that is known about one request. */
export interface RequestPage {
  readonly record: LedgerRecord;
  /** Cost of each attempt, part by part, at the prices of the time; empty where no price is known. */
  readonly parts: readonly { readonly attempt: number; readonly parts: readonly CostPart[] }[];
  /** Endpoints in the order in which their chances lay side by side when one was drawn; absent where it is not known. */
  readonly draw?: readonly string[] | undefined;
  /** Copies of it for candidates. Absent where there are none. */
  readonly copies?: readonly LiveRow[] | undefined;
  /** What a request like it would do now. Absent when it would be refused. */
  readonly now?: PlanNow | undefined;
  /** Why it would be refused now. */
  readonly refused?: string | undefined;
}

/** The plan that a request would get now. */
export interface PlanNow {
  readonly steps: readonly ExplainedStep[];
  readonly rejected: readonly ExplainedRejection[];
}

/** An endpoint as it stands. */
export interface EndpointView {
  readonly id: string;
  readonly model: string;
  readonly provider: string;
  readonly tag: string;
  readonly circuit: 'closed' | 'open' | 'half_open';
  /** Milliseconds until calls go through again, and why none do; absent when they do. */
  readonly rest?: { readonly ms: number; readonly cause: string; readonly asked: boolean } | undefined;
  readonly health: number;
  readonly slowness: number;
  /** Milliseconds to the first token in the last five minutes, at percentiles. */
  readonly latency?: PercentileRow | undefined;
  /** Tokens per second in the last five minutes, at percentiles from the fast side. */
  readonly throughput?: PercentileRow | undefined;
  /** Median to the first token, tokens per second, and calls, in slices of the last half hour, the oldest first. */
  readonly slices: readonly EndpointSlice[];
  /** Calls that succeeded in the last half hour. */
  readonly calls: number;
  /** Of the calls of its model that succeeded in the last half hour. */
  readonly share?: number | undefined;
  readonly uptime?: number | undefined;
  /** Calls per second that it takes, where it has refused some. */
  readonly rate?: number | undefined;
  readonly headroom: number;
  readonly limits: {
    readonly rpm?: number | undefined;
    readonly tpm?: number | undefined;
    readonly concurrency?: number | undefined;
  };
  /** Words that it has refused to accounts, whose requests go there without them. */
  readonly refuses: readonly string[];
  /** US dollars per million tokens. */
  readonly price?:
    | { readonly prompt: number; readonly completion: number; readonly cacheRead?: number | undefined }
    | undefined;
}

/** Values at percentiles. */
export interface PercentileRow {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
}

/** A slice of time of an endpoint. Absent numbers were not measured. */
export interface EndpointSlice {
  readonly latency?: number | undefined;
  readonly throughput?: number | undefined;
  readonly calls: number;
}

/** `GET api/endpoints`: by model, those with traffic first. */
export interface EndpointRows {
  readonly now: number;
  /** Which configuration is in force, and since when. */
  readonly configuration: { readonly version: number; readonly since: number };
  readonly models: readonly {
    readonly model: string;
    readonly calls: number;
    readonly endpoints: readonly EndpointView[];
  }[];
  /** Models that were left out, because there are so many. */
  readonly left_out: number;
}

/** `GET api/costs`. */
export interface CostList {
  readonly data: readonly LedgerCost[];
  readonly total: LedgerCost;
  /** Names of tags that requests had lately. */
  readonly tags: readonly string[];
  /** The tag that is summed by: the one that was requested, or the first that there is. */
  readonly tag?: string | undefined;
}

/** What cold prompt caches cost in the last seven days. */
export interface ColdList {
  readonly data: readonly ColdSum[];
  /** Requests that were looked at. */
  readonly requests: number;
  /** True when there were more: the latest were looked at. */
  readonly cut?: true | undefined;
}

/** A batch of whatever account. */
export interface BatchView extends Pick<
  Batch,
  | 'id'
  | 'endpoint'
  | 'model'
  | 'status'
  | 'created_at'
  | 'finalized_at'
  | 'expires_at'
  | 'provider'
  | 'request_counts'
  | 'error'
> {
  readonly account: string;
}

/** `GET api/batches`: newest first. */
export interface BatchViewList {
  readonly now: number;
  readonly data: readonly BatchView[];
}

/** `GET api/batches/<id>/errors?account=`: how many requests failed in which way, among those that were looked at. */
export interface BatchErrorCounts {
  readonly looked_at: number;
  readonly kinds: readonly { readonly kind: string; readonly count: number; readonly example: string }[];
}
