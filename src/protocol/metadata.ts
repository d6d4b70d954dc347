/** `router_metadata`: the explanation of a request's routing. */
import type { JsonObject } from './json.ts';

/** How the model was chosen. Open: plugins may add words. */
export type RoutingStrategy =
  | 'direct'
  | 'auto'
  | 'free'
  | 'latest'
  | 'alias'
  | 'fallback'
  | 'pareto'
  | 'bodybuilder'
  | 'fusion'
  | (string & {});

/** What a plugin, guardrail or server tool changed in this request (gaps 6.5). */
export interface PipelineStage {
  readonly type: string;
  readonly name: string;
  readonly summary?: string;
  readonly guardrail_id?: string;
  readonly guardrail_scope?: string;
  /** US dollars. */
  readonly cost_usd?: number | null;
  readonly data?: JsonObject;
}

/** The numbers that decided about an endpoint. */
export interface RoutingDecision {
  /** US dollars that the request was expected to cost there; absent without a price. */
  readonly expected_cost?: number;
  /** US dollars that each further request of the session was expected to cost there; absent where that did not count. */
  readonly later_cost?: number;
  /** US dollars that its failures were expected to add, with the time that they take; absent where none is remembered. */
  readonly failure_cost?: number;
  /** Share of the prompt that is likely to be in the endpoint's cache. */
  readonly warmth: number;
  /** From 0 to 1: what is left after failures, slowness, and more calls at a time than it takes. */
  readonly health: number;
  /** How many times as long as usual its calls take at the moment. */
  readonly slowness: number;
  /** Share of its rate that is free; below 0 where it has more calls at a time than it answers in time. */
  readonly headroom: number;
  /** Probability with which it was drawn to be the first of those that it was compared with. */
  readonly share: number;
}

/** Explains the routing of one request (contract: `router_metadata`; gaps 6.5). */
export interface RouterMetadata {
  /** Model slug or alias as it was sent. */
  readonly requested: string;
  readonly strategy: RoutingStrategy;
  readonly region: string | null;
  readonly summary: string;
  /** Attempt that answered, counted from 1, or the last that failed; 0 when nothing was tried. */
  readonly attempt: number;
  readonly is_byok: boolean;
  readonly endpoints: {
    readonly total: number;
    readonly available: readonly {
      readonly provider: string;
      readonly model: string;
      readonly selected: boolean;
      readonly decision?: RoutingDecision;
    }[];
    /** Endpoints that a budget could not pay, which were passed over; absent where there are none. */
    readonly excluded?: readonly {
      readonly provider: string;
      readonly model: string;
      readonly reason: 'budget';
      readonly detail: string;
    }[];
  };
  /** Upstream calls in order, with the status each ended in. */
  readonly attempts?: readonly {
    readonly provider: string;
    readonly model: string;
    readonly status: number;
    /** The call was made although an earlier one had not failed: that one was late, or its endpoint silent. */
    readonly hedge?: boolean;
    /** Encrypted reasoning of the conversation was left out of the call, because another provider made it. */
    readonly reasoning_removed?: boolean;
    /** What was changed in the request so that the provider takes it, a sentence for each change. */
    readonly adjustments?: readonly string[];
    /** The call was cancelled because the other one answered first. */
    readonly given_up?: boolean;
    /** US dollars that a call which was given up may have cost, beside the cost of the answer. */
    readonly cost?: number;
    /** Why its model refused to answer, in the provider's word; `other` where it gave none. */
    readonly refusal?: string;
    /** The stream of the call broke after it had begun, and what it had sent stayed part of the answer. */
    readonly kept?: boolean;
    /** The call went on with the text of one that broke: in which way, and after how many UTF-16 units of text. */
    readonly continued?: { readonly way: 'prefill' | 'repetition'; readonly after: number };
  }[];
  readonly params?: JsonObject;
  /** Milliseconds from the call to the provider to the end of its answer. */
  readonly generation_time?: number;
  /** How much of the prompt came from the provider's cache, and why not more. Present where a ledger is kept. */
  readonly cache?: {
    /** Tokens that would have come from it, had the request gone on from the last one of its session. */
    readonly expected_tokens: number;
    readonly cached_tokens: number;
    /** Absent where as much was cached as could be. */
    readonly cause?: string | undefined;
    /** First place that differs from the last request: `tools[2]`, `system[0]`, `messages[5]`. */
    readonly at?: string | undefined;
    /** Line of that block, counted from 1, where it has several. */
    readonly line?: number | undefined;
    /** How tools differ: `content`, `order`, `added` or `removed`. */
    readonly change?: string | undefined;
    /** Why the session moved to another endpoint. */
    readonly moved?: string | undefined;
    /** What the provider itself has found, in its own word; `unchanged` where it found no difference. */
    readonly provider_cause?: string | undefined;
    /** US dollars that the cached price would have saved. */
    readonly lost_usd?: number | undefined;
  };
  /** Only stages that changed something. */
  readonly pipeline?: readonly PipelineStage[];
  /** What the configuration has made of the request: rules that changed something, models that aliases divide, a copy. */
  readonly applied?: {
    readonly rules?: readonly string[] | undefined;
    readonly splits?: readonly { readonly alias: string; readonly model: string; readonly by: string }[] | undefined;
    readonly mirror?: { readonly alias: string; readonly model: string; readonly by: string } | undefined;
  };
  /** What had no effect, a sentence for each: names in `order`, `only` and `ignore` that are no provider of the router. */
  readonly warnings?: readonly string[];
}
