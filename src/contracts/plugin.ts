/** The contract of plugins. */
import type { Endpoint } from '../catalog/endpoint.ts';
import type { RouterError } from '../protocol/router-error.ts';
import type { ChatResult, Choice } from '../protocol/chat-result.ts';
import type { RoutingStrategy } from '../protocol/metadata.ts';
import type { OptionsParser } from '../protocol/options.ts';
import type { StandardSchema } from '../protocol/standard-schema.ts';
import type { ModelTarget, Needs, NormalizedRequest } from './request.ts';
import type { Mismatch } from './failure.ts';
import type { Awaitable, ChunksContext, PluginContext, CandidatesContext } from './plugin-context.ts';
import type { DeltaPiece, ReportedUsage } from './stream-piece.ts';

/** What `onRequest` decides. */
export type Verdict<State = unknown> =
  /** Go on, with a changed request if there is a change. The state comes back in the plugin's later hooks. */
  | { readonly type: 'continue'; readonly change?: RequestChange | undefined; readonly state?: State | undefined }
  /** This is the answer; no provider is called. Later plugins' `onRequest` do not run; chunk and result hooks do. */
  | { readonly type: 'answer'; readonly answer: PluginAnswer }
  /** Refuse the request. Always ends it, whatever `whenItThrows` says. */
  | { readonly type: 'block'; readonly error: RouterError };

/** An answer that a plugin gives in place of a provider. */
export interface PluginAnswer {
  readonly choices: readonly Choice[];
  /** Model that the answer names. Default: the one that was requested. */
  readonly model?: string | undefined;
  /** Display name of who answered. Default: the plugin's id. */
  readonly provider?: string | undefined;
  /** How it came about, for `router_metadata.strategy`. Default `direct`. */
  readonly strategy?: RoutingStrategy | undefined;
  /** What it used, besides what inner calls used. Default: nothing. */
  readonly usage?: ReportedUsage | undefined;
}

/**
 * A plugin: a value with hooks, made by a factory that is given its services. `createRouter({ plugins })` registers
 * it, and a request names it in `plugins: [{ id, ...options }]` (contract: plugins; gaps 5).
 *
 * It takes part in a request when the request names it, when the account or the router has it as a default, when the
 * request requires one of its {@link Plugin.models}, or when {@link Plugin.runsUnasked} says so; a request switches it
 * off with `enabled: false`. Then its hooks run once each, in the order in which plugins were registered; what comes
 * back from the model goes through them in the opposite order, like through the layers of an onion.
 *
 * Everything that goes into a hook is deeply frozen, and everything that comes out is checked and copied. A hook that
 * throws, takes too long or gives back something else than its type says is handled as {@link Plugin.whenItThrows}
 * says, and leaves a stage and a `warning`.
 *
 * @typeParam Options - What {@link Plugin.parseOptions} makes of an entry's options.
 * @typeParam State - What `onRequest` hands to the later hooks of the same request.
 */
export interface Plugin<Options = unknown, State = unknown> {
  /** Name in requests: letters, digits and `-`, at most 64. */
  readonly id: string;
  /**
   * Checks and completes the options of an entry; gets them without `id` and `enabled`, and an empty object when the
   * plugin runs without an entry. Without this function or {@link Plugin.options}, the plugin has none and refuses any.
   */
  readonly parseOptions?: OptionsParser<Options> | undefined;
  /**
   * A schema of zod, valibot, arktype or another library that implements Standard Schema, in the place of
   * `parseOptions`. It must not answer by a promise. Options that are null are not set, so it does not see them.
   */
  readonly options?: StandardSchema<Options> | undefined;
  /**
   * `fail`: the request fails, with the {@link RouterError} that was thrown or with {@link Plugin.failStatus}. `skip`:
   * it goes on as if the plugin were not there. A caller who leaves ends everything in any case.
   */
  readonly whenItThrows: 'fail' | 'skip';
  /** Status of a failed request when the plugin threw no error of ours. Default 502. */
  readonly failStatus?: 500 | 502 | 503 | undefined;
  /** Milliseconds that each of its hooks may take. Default: `timeouts.pluginMs` of the router, which is 10,000. */
  readonly timeoutMs?: number | undefined;
  /**
   * True: what requests say of this plugin is ignored, so that no caller can change it or switch it off. Only defaults
   * of the account or the router, and the plugin itself, decide. For guardrails. Default false.
   */
  readonly preventOverrides?: boolean | undefined;
  /**
   * Slugs of router models that this plugin resolves, such as `router/auto`. A request for one gets a target without
   * endpoints in its place, and the plugin's {@link Plugin.onCandidates} puts real models there.
   */
  readonly models?: readonly string[] | undefined;
  /**
   * True: it decides where a request goes, or whether it goes at all, and changes nothing of it. A request in another
   * API format that names it can still go to a provider of that format in the client's own words. Default false.
   */
  readonly onlyRoutes?: boolean | undefined;
  /** True: its work is done by server tools, which batches do not have, so they refuse requests that name it. Default false. */
  readonly usesServerTools?: boolean | undefined;

  /**
   * Gets what its hooks need and what should not be loaded with the program: tables, a parser. Awaited before the
   * plugin's hooks run for the first time; `explain` awaits it too. Once it has succeeded it is not called again for
   * this plugin; when it fails or takes longer than a hook may, {@link Plugin.whenItThrows} says what becomes of the
   * request, and the next one tries again. Synchronous hooks (`onCandidates`, `onChunks`) may rely on it.
   */
  load?(): Awaitable<void>;

  /** Whether the plugin takes part in a request that says nothing of it. Pure. Default: never. */
  runsUnasked?(request: NormalizedRequest): boolean;

  /**
   * Before anything is planned: change the request, answer it, or refuse it. Not run by `explain`, which calls nobody.
   */
  onRequest?(request: NormalizedRequest, options: Options, context: PluginContext<State>): Awaitable<Verdict<State>>;

  /**
   * While the route is planned: filter and order the models that may answer. Gets the targets of the request in order,
   * each with the endpoints that serve it, and gives back those to use: fewer, others, in another order, or with fewer
   * endpoints. Endpoints that were left out are reported by `explain`. Synchronous and pure, because `explain` calls it
   * too: the same input gives the same output. No targets at all is a 404.
   *
   * Targets that a plugin adds to a request for one of its {@link Plugin.models} stand for that router model: they take
   * over its `:nitro` or `:floor`, and a session keeps to the one that answered.
   */
  onCandidates?(
    targets: readonly ModelTarget[],
    request: NormalizedRequest,
    options: Options,
    context: CandidatesContext<State>,
  ): readonly ModelTarget[];

  /**
   * Before a request goes to an endpoint for the first time: what to change for this endpoint alone. Called again only
   * when a tool loop has changed the messages. For what depends on the endpoint: its context length, its modalities.
   */
  onAttempt?(
    request: NormalizedRequest,
    endpoint: Endpoint,
    options: Options,
    context: PluginContext<State>,
  ): Awaitable<RequestChange | undefined>;

  /**
   * How the content of the answer is rewritten as it comes, or undefined to leave it as it is. Called once per request,
   * before the first chunk. A non-streaming response goes through it too, unless the plugin has {@link
   * Plugin.onResult}.
   */
  onChunks?(request: NormalizedRequest, options: Options, context: ChunksContext<State>): ChunkTransform | undefined;

  /**
   * Whether the answers to a request are judged before one of them is taken, and how; undefined to take any. Asked once
   * per request, before the first call; synchronous, so {@link Plugin.load} gets what it needs. A judge sees every
   * complete answer of an endpoint, may repair it, and may refuse it: then the next endpoint is asked, and once the fault
   * is named, as far as `fallback.maxAttempts` allows. When nothing fits, the request fails with a 502 of the type
   * `schema_mismatch`. A stream is held back until its answer is judged. Answers that call tools are not judged.
   */
  onAnswer?(request: NormalizedRequest, options: Options, context: ChunksContext<State>): AnswerJudge | undefined;

  /** Rewrites a non-streaming response. Streams do not pass here. Only `choices` may be changed; the rest is for reading. */
  onResult?(
    result: ChatResult,
    request: NormalizedRequest,
    options: Options,
    context: PluginContext<State>,
  ): Awaitable<ChatResult>;

  /** Frees what the plugin holds. Called by `router.close()`; may be called more than once. */
  close?(): Awaitable<void>;
}

/** Judges the choices of a complete answer. Pure. One that throws is handled as {@link Plugin.whenItThrows} says. */
export type AnswerJudge = (choices: readonly Choice[]) => AnswerVerdict;

/** What becomes of an answer that a plugin has judged. */
export type AnswerVerdict =
  /** It is taken, with other choices where it was repaired. */
  | { readonly type: 'taken'; readonly choices?: readonly Choice[] | undefined }
  /** It is refused for what is wrong with it. */
  | { readonly type: 'refused'; readonly mismatch: Mismatch };

export type { PluginDefault } from '../options/accounts.ts';

/**
 * A pure machine that rewrites the content of an answer as it streams by. The state is a value: a step gets the last
 * one and gives the next, so the same transform serves any number of streams at once.
 *
 * A chunk is a {@link DeltaPiece}: what one chunk adds to one choice, with text as `delta.content`. Finish reasons,
 * usage and ids are none of its business; they are sent after everything else in any case.
 */
export interface ChunkTransform<State = unknown> {
  /** State before the first chunk. */
  readonly start: State;
  /** Chunks that take the place of one chunk: none to hold it back or drop it, several to split it. */
  step(state: State, chunk: DeltaPiece): readonly [State, readonly DeltaPiece[]];
  /** Chunks to send after the last one: what was held back. */
  end(state: State): readonly DeltaPiece[];
}

/**
 * What a plugin changes in a request. A member that is given replaces the request's own; to add a message, give all
 * messages: `{ messages: [...request.messages, mine] }`. What an endpoint must be able to do (`request.needs`) is
 * derived again from the result.
 */
export type RequestChange = Partial<Pick<NormalizedRequest, (typeof CHANGEABLE)[number]>> & {
  /**
   * What the plugin knows better than the derivation; wins over it, for this and all later changes. A plugin that will
   * shorten the prompt for each endpoint gives a smaller `promptTokens`, so that small endpoints stay candidates.
   */
  readonly needs?: Partial<Needs>;
};

/** Members of a request that plugins may change. */
export const CHANGEABLE = [
  'messages',
  'parameters',
  'tools',
  'serverTools',
  'toolChoice',
  'responseFormat',
  'reasoning',
  'outputModalities',
  'preferences',
  'extra',
] as const satisfies readonly (keyof NormalizedRequest)[];
