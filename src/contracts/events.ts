/** The events that a router emits, and the facts that they carry. */
import type { AppliedConfiguration } from './request.ts';
import type { CostPart } from '../catalog/cost.ts';
import type { Operation } from '../catalog/model.ts';
import type { Batch, BatchStatus } from '../protocol/batch.ts';
import type { Choice } from '../protocol/chat-result.ts';
import type { JsonObject } from '../protocol/json.ts';
import type { Message } from '../protocol/message.ts';
import type { FunctionTool, ServerTool } from '../protocol/tools.ts';
import type { TraceContext } from './trace-context.ts';
import type { AttemptFailure } from './failure.ts';
import type { PromptCacheReport } from './prompt-cache.ts';
import type { Usage } from '../protocol/usage.ts';

/** The numbers that decided about an endpoint. */
export interface DecisionFigures {
  /** US dollars that the request is expected to cost there; undefined without a price. */
  readonly expectedCostUsd: number | undefined;
  /**
   * US dollars that each further request of the session is expected to cost there once its prompt is cached; absent where
   * that did not count, or without a price.
   */
  readonly laterCostUsd?: number | undefined;
  /**
   * US dollars that its failures are expected to add: what is charged for them, the tries that follow, and the time that
   * they take. Absent where none is remembered, or without a price.
   */
  readonly failureCostUsd?: number | undefined;
  /** Share of the prompt that is likely to be in the endpoint's cache. */
  readonly warmth: number;
  /** From 0 to 1: what is left after failures, slowness, and more calls at a time than it takes. */
  readonly health: number;
  /** How many times as long as usual its calls take at the moment. */
  readonly slowness: number;
  /** Share of its rate that is free; below 0 where it has more calls at a time than it answers in time. */
  readonly headroom: number;
  /**
   * Probability with which it was drawn to be the first of those that it was compared with: an order, own keys, tiers and
   * thresholds put groups behind each other, and so do models. 0 for one that must not be called now.
   */
  readonly share: number;
}

/** Facts that every event about a request carries. No prompts, no keys, no raw user ids. */
export interface RequestFacts {
  /** Generation id, `gen-…`: the answer's `id` and the header `X-Generation-Id`. */
  readonly id: string;
  /** What was requested: a chat answer or vectors. */
  readonly operation: Operation;
  /**
   * Generation id of the request whose plugin or server tool makes this one; its cost is part of that one's. Of a copy,
   * the request that it is a copy of.
   */
  readonly parent?: string | undefined;
  /** Alias whose mirror this is: a copy of `parent` for a candidate. Nobody is shown its answer, and its cost is its own. */
  readonly mirror?: string | undefined;
  /** Number of the hook or tool call of the parent that makes this request; see {@link StageFacts}. */
  readonly parentStage?: number | undefined;
  /** Id of the account that calls. */
  readonly account: string;
  /** Model as the request named it, before aliases and rules. */
  readonly requested: string;
  /** True for a stream. */
  readonly stream: boolean;
  /** Session as the request named it. */
  readonly session?: string | undefined;
  /** Labels that the request brought, such as `{ team: 'search' }`. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** The request's `trace`, as it came. */
  readonly trace?: JsonObject | undefined;
  /** Rules of the configuration that changed the request, models that aliases divide, and who gets a copy. */
  readonly applied?: AppliedConfiguration | undefined;
}

/**
 * A request begins: it was understood and is about to be planned or sent. Emitted in the caller's own turn, before
 * anything is waited for, and followed by one {@link ResultEvent} or one {@link ErrorEvent}.
 */
export interface RequestEvent {
  /** The request that this belongs to. */
  readonly request: RequestFacts;
  /** Numbers that the caller set, under their wire names. */
  readonly parameters: Readonly<Partial<Record<NumericParameter, number>>>;
  /** Where the trace of a caller in another process stands, if it sent it (header `traceparent`). */
  readonly traceContext?: TraceContext | undefined;
}

/** Parameters of a request that are numbers, and so can say nothing private. */
export type NumericParameter =
  | 'temperature'
  | 'top_p'
  | 'top_k'
  | 'frequency_penalty'
  | 'presence_penalty'
  | 'max_completion_tokens'
  | 'seed';

/** Who is called in an attempt. */
export interface AttemptFacts {
  /** The request that this belongs to. */
  readonly request: RequestFacts;
  /** Counted from 1. */
  readonly attempt: number;
  /** Present when the call is made although an earlier one of the same request has not failed. */
  readonly hedge?: boolean | undefined;
  /** Display name of the provider, such as `OpenAI`. */
  readonly provider: string;
  /** Id of the model in this router, such as `openai/gpt-5-mini`. */
  readonly model: string;
  /** Whether the catalog lists the model. False where a provider takes any name: the name is the caller's text then. */
  readonly listed: boolean;
  /** Id of the endpoint, such as `openai#openai/gpt-5-mini`. */
  readonly endpoint: string;
}

/** One upstream call begins. Followed by one {@link AttemptEvent} of the same number. */
export interface AttemptStartEvent extends AttemptFacts {
  /** The numbers that put the endpoint in its place; absent where an order, a sort or prices alone decided. */
  readonly decision?: DecisionFigures | undefined;
  /** Sends these headers with the call, so that its trace goes on at the provider. To be called at once, if at all. */
  readonly carry: (traceContext: TraceContext) => void;
}

/** The first token of a stream is there: from now on the answer goes to the client. Not emitted for other answers. */
export interface FirstTokenEvent extends AttemptFacts {
  /** Milliseconds from the call to its first token. */
  readonly firstTokenMs: number;
}

/** One upstream call ended. */
export interface AttemptEvent extends AttemptFacts {
  /** Milliseconds from the call to the end of its answer. */
  readonly durationMs: number;
  /** Milliseconds to the first token of a stream, or to the end of a non-streaming response. */
  readonly firstTokenMs?: number | undefined;
  /** Absent when the call succeeded. Without the provider's own words, which may repeat a prompt. */
  readonly failure?: AttemptFailure | undefined;
  /** What the provider says this call used, also when its answer was no good. Absent when it said nothing. */
  readonly usage?: Usage | undefined;
  /** What is charged for this call, in whole nano-dollars. Absent for nothing, or when no price is known. */
  readonly costNanoUsd?: number | undefined;
  /** US dollars that a call which was given up may have cost. Absent for others, or when no price is known. */
  readonly givenUpCost?: number | undefined;
}

/** A request was answered. */
export interface ResultEvent {
  /** The request that this belongs to. */
  readonly request: RequestFacts;
  /** Display name of the provider, such as `OpenAI`. */
  readonly provider: string;
  /** Id of the model in this router, such as `openai/gpt-5-mini`. */
  readonly model: string;
  /** Whether the catalog lists the model; see {@link AttemptFacts}. */
  readonly listed: boolean;
  /** Upstream calls that were made. */
  readonly attempts: number;
  /** Milliseconds from the request to the end of its answer. */
  readonly durationMs: number;
  /** Milliseconds to the first token of a stream, or to the end of a non-streaming response. */
  readonly firstTokenMs: number;
  /** Tokens and cost of everything in the request. */
  readonly usage: Usage;
  /**
   * What the provider charges for, part by part, in whole nano-dollars that add up to the cost. Absent when the
   * provider reported its cost itself, or when no price is known.
   */
  readonly costParts?: readonly CostPart[] | undefined;
  /** Null for embeddings, which end in one way only. */
  readonly finishReason: string | null;
  /** How much of the prompt was cached, and why not more. Absent without a ledger, and where it is unknown. */
  readonly cache?: PromptCacheReport | undefined;
}

/** A request failed, or its client disconnected. */
export interface ErrorEvent {
  /** The request that this belongs to. */
  readonly request: RequestFacts;
  /** Who was called last; absent when nobody was. */
  readonly provider?: string | undefined;
  /** Model that was called last, if one was. */
  readonly model?: string | undefined;
  readonly listed?: boolean | undefined;
  /** HTTP status of the answer; 499 when the client disconnected. */
  readonly status: number;
  /** Kind of the error, such as `provider_unavailable`. */
  readonly errorType: string;
  /** Upstream calls that were made. */
  readonly attempts: number;
  /** Milliseconds from the request to the end of its answer. */
  readonly durationMs: number;
  /** True when part of a stream had been sent. */
  readonly committed: boolean;
}

/** A piece of work of a plugin or server tool within a request. */
export interface StageFacts {
  /** The request that this belongs to. */
  readonly request: RequestFacts;
  /** Counted from 1 over all hooks and tool calls of the request. Requests that it makes name it as `parentStage`. */
  readonly stage: number;
}

/** What a piece of work took. */
export interface StageCosts {
  /** Milliseconds. */
  readonly durationMs: number;
  /** US dollars for services such as a search, without calls of models. Absent when there were none. */
  readonly serviceCost?: number | undefined;
  /** The same in whole nano-dollars, as it is charged: exact sums are made of these. */
  readonly serviceNanoUsd?: number | undefined;
  /** US dollars for the models that it asked through the router; those are requests of their own. */
  readonly modelCost?: number | undefined;
  /** Tokens of the models that it asked. */
  readonly modelTokens?: number | undefined;
}

/** Which hook of which plugin is at work. Hooks that may wait are reported; synchronous ones take no time. */
export interface PluginFacts extends StageFacts {
  /** Id of the plugin. */
  readonly plugin: string;
  /** Which hook of it. */
  readonly hook: 'onRequest' | 'onAttempt' | 'onResult';
}

/** How a hook came out. `skipped` went wrong and the request went on without the plugin. */
export type PluginOutcome = 'unchanged' | 'changed' | 'answered' | 'refused' | 'skipped' | 'failed' | 'aborted';

/** A hook of a plugin ended. */
export interface PluginEvent extends PluginFacts, StageCosts {
  /** What the hook did with the request. */
  readonly outcome: PluginOutcome;
}

/** Which server tool is at work. */
export interface ToolFacts extends StageFacts {
  /** Type of the server tool, such as `router:web_search`. */
  readonly tool: string;
  /** Name under which the model called it. */
  readonly name: string;
}

/** How a call of a server tool came out. The model gets a failure as a result and goes on. */
export type ToolCallOutcome = 'ok' | 'failed' | 'timeout' | 'aborted';

/** A call of a server tool ended. */
export interface ToolEvent extends ToolFacts, StageCosts {
  /** How the call ended. */
  readonly outcome: ToolCallOutcome;
}

/** An endpoint is left alone for a while, or is tried again. */
export type HealthEvent = {
  /** Display name of the provider, such as `OpenAI`. */
  readonly provider: string;
  /** Id of the model in this router, such as `openai/gpt-5-mini`. */
  readonly model: string;
  /** Whether the catalog lists the model; see {@link AttemptFacts}. */
  readonly listed: boolean;
  /** Id of the endpoint, such as `openai#openai/gpt-5-mini`. */
  readonly endpoint: string;
} & (
  | {
      readonly type: 'cooldown';
      /** Milliseconds from now on. */
      readonly forMs: number;
      readonly cause: AttemptFailure['kind'];
    }
  /** Too many calls failed: none go through for `forMs`. */
  | { readonly type: 'breaker'; readonly state: 'open'; readonly forMs: number }
  /** One call goes through and decides; or one did, and succeeded. */
  | { readonly type: 'breaker'; readonly state: 'half_open' | 'closed' }
);

/** Another configuration is in force: requests that begin from now on follow it. */
export interface ConfigurationEvent {
  /** Counted from 1, the configuration of the start, in this process. */
  readonly version: number;
}

/** Something concerns the operator of the router. */
export interface WarningEvent {
  /** Which warning, such as `catalog_stale`: what programs branch on. */
  readonly code: string;
  /** What is wrong and what would be right. Never a prompt or a key. */
  readonly message: string;
  /** What a plugin, server tool or provider threw. For a debugger: it may hold anything, so it is never printed by us. */
  readonly thrown?: unknown;
}

/**
 * What was sent and answered: emitted to listeners of it, and part of no other event. `request` follows the
 * {@link RequestEvent}; `answer` comes before the {@link ResultEvent}, or before the {@link ErrorEvent} of a stream that had
 * begun; `tool` comes before the {@link ToolEvent}. Requests for embeddings have none.
 */
export type ContentEvent =
  | {
      readonly type: 'request';
      readonly request: RequestFacts;
      /** As they are sent, before a provider's form is given to them. */
      readonly messages: readonly Message[];
      /** Functions of the caller and server tools. */
      readonly tools: readonly (FunctionTool | ServerTool)[];
    }
  | {
      readonly type: 'answer';
      readonly request: RequestFacts;
      /** As the caller gets them. */
      readonly choices: readonly Choice[];
    }
  | {
      readonly type: 'tool';
      readonly request: RequestFacts;
      /** Number of the tool call; see {@link StageFacts}. */
      readonly stage: number;
      /** Id of the model's call. */
      readonly id: string;
      readonly arguments: JsonObject;
      /** What the model gets; absent when the client disconnected. */
      readonly result?: string | undefined;
    };

/** Something about a batch changed. Emitted in the process that changed it. */
export type BatchUpdateEvent =
  | {
      readonly type: 'status';
      readonly account: string;
      /** Without its results. */
      readonly batch: Batch;
      /** Absent for a new batch. */
      readonly previous?: BatchStatus | undefined;
    }
  /** Requests came to their outcomes: `batch.request_counts` is up to date. */
  | { readonly type: 'progress'; readonly account: string; readonly batch: Batch }
  /** A try to deliver the webhook is over. */
  | {
      readonly type: 'webhook';
      readonly account: string;
      readonly batch: Batch;
      readonly outcome: 'delivered' | 'again' | 'given_up';
      /** Counted from 1. */
      readonly tries: number;
      /** Status of the receiver; absent when it did not answer. */
      readonly status?: number | undefined;
    };

/** Events by name. */
export interface RouterEvents {
  readonly request: RequestEvent;
  readonly attempt_start: AttemptStartEvent;
  readonly first_token: FirstTokenEvent;
  readonly attempt: AttemptEvent;
  readonly plugin_start: PluginFacts;
  readonly plugin: PluginEvent;
  readonly tool_start: ToolFacts;
  readonly tool: ToolEvent;
  readonly health: HealthEvent;
  readonly result: ResultEvent;
  readonly error: ErrorEvent;
  readonly warning: WarningEvent;
  readonly batch: BatchUpdateEvent;
  readonly configuration: ConfigurationEvent;
  readonly content: ContentEvent;
}

/** A function that is called with one kind of event. What it throws is ignored. */
export type RouterListener<Name extends keyof RouterEvents> = (event: RouterEvents[Name]) => void;

/** Listeners by the names of their events. */
export type RouterListeners = { readonly [Name in keyof RouterEvents]?: RouterListener<Name> | undefined };

/** Where listeners can be added: a router. */
export interface RouterEventSource {
  /** Adds a listener and gives the function that removes it. */
  on<Name extends keyof RouterEvents>(name: Name, listener: RouterListener<Name>): () => void;
}

/** Adds several listeners and gives the function that removes them all. */
export function listen(source: RouterEventSource, listeners: RouterListeners): () => void {
  const names = Object.keys(listeners) as (keyof RouterEvents)[];
  // Warnings first: whoever listens to content is the reason of one.
  names.sort((one, other) => Number(other === 'warning') - Number(one === 'warning'));
  const removals = names.flatMap((name) => {
    const listener = listeners[name];
    return listener === undefined ? [] : [source.on(name, listener as RouterListener<typeof name>)];
  });
  return () => {
    for (const remove of removals) remove();
  };
}
