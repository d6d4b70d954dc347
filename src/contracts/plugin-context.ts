/** What hooks of plugins are called with. */
import type { Catalog } from '../catalog/catalog.ts';
import type { ChatRequest } from '../protocol/chat-request.ts';
import type { ChatResult } from '../protocol/chat-result.ts';
import type { JsonObject } from '../protocol/json.ts';
import type { RoutingStrategy } from '../protocol/metadata.ts';
import type { Account } from './account.ts';
import type { ModelTarget } from './request.ts';
import type { Endpoint } from '../catalog/endpoint.ts';

/** A value now or later. What waits is the runtime; plugins may be `async` functions or plain ones. */
export type Awaitable<Value> = Value | PromiseLike<Value>;

/**
 * An entry for `router_metadata.pipeline` (gaps 6.5). The runtime fills in `type: 'plugin'` and the plugin's id as
 * `name` where they are left out.
 */
export interface StageRecord {
  /** Kind of stage: `plugin`, `guardrail`, `response_healing` and so on. */
  readonly type?: string | undefined;
  readonly name?: string | undefined;
  /** One line for people. No prompts: metadata ends up in logs. */
  readonly summary?: string | undefined;
  readonly guardrail_id?: string | undefined;
  readonly guardrail_scope?: string | undefined;
  /** US dollars that this stage cost. */
  readonly cost_usd?: number | null | undefined;
  readonly data?: JsonObject | undefined;
}

/** Something outside the model that was used for a request, and what it cost. */
export interface ServiceUse {
  /** US dollars; added to `usage.cost` and to `usage.cost_details.server_tool_cost`. */
  readonly cost?: number | undefined;
  /** Added to `usage.server_tool_use` and `usage.server_tool_use_details`. */
  readonly web_search_requests?: number | undefined;
  /** Added to `usage.server_tool_use`. */
  readonly web_fetch_requests?: number | undefined;
}

/** How a call of the router by a plugin or a server tool is made. */
export interface InnerCallOptions {
  /** Milliseconds after which the call is ended. Default: as long as whoever makes it may take. */
  readonly timeoutMs?: number | undefined;
}

/** Why a plugin takes part: who requested it. `model` is a router model of its own, `itself` its `runsUnasked`. */
export type PluginCause = 'request' | 'account' | 'router' | 'model' | 'itself';

/** Context of synchronous hooks. */
export interface PlanContext<State = unknown> {
  /** Who wanted the plugin to take part. */
  readonly because: PluginCause;
  /** What the plugin's own `onRequest` gave as `state`; undefined when it gave none, did not run, or in `explain`. */
  readonly state: State | undefined;
  /** All models and endpoints of this router. */
  readonly catalog: Catalog;
  /** A random number from 0 (included) to 1 (excluded); the same one whenever the same request is planned again. */
  readonly roll: number;
  /**
   * A model of the catalog with its endpoints, ready to stand among the targets of a request. Understands aliases and
   * endings such as `:nitro`; undefined for a model that nobody here serves.
   *
   * @param strategy - How it was chosen, for `router_metadata.strategy`. Default `auto`.
   */
  target(model: string, strategy?: RoutingStrategy): ModelTarget | undefined;
}

/** Context of `onChunks`. */
export interface ChunksContext<State = unknown> extends PlanContext<State> {
  /**
   * Leaves an entry in `router_metadata.pipeline`, also while the answer streams: the transform may call it. Without
   * one, the runtime writes its own.
   */
  stage(record: StageRecord): void;
}

/** Context of hooks that may wait. Made for one hook of one request; useless afterwards. */
export interface PluginContext<State = unknown> {
  /** Who wanted the plugin to take part. */
  readonly because: PluginCause;
  /** What the plugin's own `onRequest` gave as `state`; undefined before. */
  readonly state: State | undefined;
  /** Aborted when the hook's time is up or the client disconnects. Hand it to everything that waits. */
  readonly signal: AbortSignal;
  readonly account: Account;
  readonly catalog: Catalog;
  /** 0 for a request from outside, 1 for a call that one of its plugins made, and so on. */
  readonly depth: number;
  /** Monotonic milliseconds, for durations. */
  readonly now: () => number;
  /** Epoch milliseconds, for dates. */
  readonly wallClock: () => number;
  /** A number from 0 (included) to 1 (excluded). */
  readonly random: () => number;
  /** Types of the server tools that this router has. */
  readonly serverTools: ReadonlySet<string>;
  /**
   * Calls the router itself, on behalf of the same account. Runs the plugins that the inner request names and no
   * others. The outer request's rules about providers, data and prices hold. What the call used and cost is added to
   * the outer answer's `usage`, and it leaves a stage of type `call`.
   *
   * @throws {@link RouterError} like `router.chat`; 422 when plugins call each other more than two levels deep, and
   * 524 when the call takes longer than its own `timeoutMs`.
   */
  call(request: ChatRequest, options?: InnerCallOptions): PromiseLike<ChatResult>;
  /** Leaves an entry in `router_metadata.pipeline`. Without one, the runtime notes what a hook changed. */
  stage(record: StageRecord): void;
  /** Adds to what this request used and cost. */
  used(use: ServiceUse): void;
  /**
   * Adds to `error.metadata` if the request fails from here on: what was paid for and can be sent again, for example.
   * The error's own members win.
   */
  onError(metadata: JsonObject): void;
}

/** Context of a hook that chooses models. Nothing here waits. */
export interface CandidatesContext<State = unknown> extends PlanContext<State> {
  /**
   * Id of the endpoint that this session was last served by for the same router model; undefined without a session, for
   * an unknown one, and with `provider.order` (gaps 3.5). A model router keeps to its model while that is a candidate.
   */
  readonly sticky: string | undefined;
  /**
   * The models of a list that the request can use, each with the endpoints that pass all of its filters: account and
   * data policies, prices, modalities, context and so on. What is left out is reported by `explain` and errors.
   */
  usable(targets: readonly ModelTarget[]): readonly UsableTarget[];
  /** Reports to `explain` and errors that a model was left out, and why. */
  leaveOut(target: ModelTarget, why: string): void;
  /** Median tokens per second of the last five minutes; undefined when nobody measured it. */
  throughput(endpoint: Endpoint): number | undefined;
  /** Leaves an entry in `router_metadata.pipeline` and in the explanation. Without one, the runtime writes its own. */
  stage(record: StageRecord): void;
  /**
   * Warns the operator of something about the router's configuration, in a `warning` event with the code `plugin_notice`;
   * the same words at most once a minute. No prompts.
   */
  warn(message: string): void;
}

/** A model with those of its endpoints that a request may use; there is at least one. */
export interface UsableTarget {
  readonly target: ModelTarget;
  readonly endpoints: readonly Endpoint[];
}
