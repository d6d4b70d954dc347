/** The contract of server tools. */
import type { RouterError } from '../protocol/router-error.ts';
import type { Annotation, OutputImage } from '../protocol/chat-result.ts';
import type { JsonObject, JsonValue } from '../protocol/json.ts';
import type { OptionsParser } from '../protocol/options.ts';
import type { StandardSchema } from '../protocol/standard-schema.ts';
import type { ServerTool } from '../protocol/tools.ts';
import type { NormalizedRequest, RequestParameters } from './request.ts';
import type { Awaitable, PluginContext, ServiceUse } from './plugin-context.ts';

/** How a model sees a server tool: as a function. */
export interface ToolFunction {
  /** When and how to use it, for the model. */
  readonly description: string;
  /** JSON Schema of its arguments, an object. */
  readonly parameters: JsonObject;
}

/** What a call of a server tool came to. */
export interface ToolOutcome {
  /** What the model reads. A text goes as it is, anything else as JSON. */
  readonly result: JsonValue;
  /** Sources to be cited by the answer (`message.annotations`). */
  readonly annotations?: readonly Annotation[] | undefined;
  /** Images for the answer (`message.images`). */
  readonly images?: readonly OutputImage[] | undefined;
  /** What the call used and cost, besides its inner calls, which are counted by themselves. */
  readonly used?: ServiceUse | undefined;
  /** Ends the whole request with this error. For what makes any answer worthless; everything else is a result. */
  readonly fails?: RouterError | undefined;
}

/** Context of a server tool. */
export interface ToolContext extends Omit<PluginContext, 'because' | 'state' | 'used' | 'onError'> {
  /** The request that this call belongs to, with the conversation so far. Frozen. */
  readonly request: NormalizedRequest;
  /** Name of the tool for the model. */
  readonly name: string;
  /** Counted from 1 over all calls of this tool in this request. */
  readonly use: number;
}

/** Context of a server tool that makes functions of an entry. */
export interface ToolExpansion {
  /** Aborted when the time of the tool is up, or the client disconnects. */
  readonly signal: AbortSignal;
  /** Milliseconds of the router's own clock, which never goes backwards. */
  readonly now: () => number;
  /** Warns the operator of what is wrong outside of the router, as a warning, at most once a minute. Not for prompts. */
  warn(message: string): void;
}

/**
 * A tool that the router itself runs: a request offers it with `tools: [{ type: 'router:name', parameters }]`, the
 * model calls it like a function, and the router goes on with the result until the model has its answer
 * (gaps 2.1, 5.11). `createRouter({ serverTools })` registers it.
 *
 * The model sees it under its name without the prefix. A call that throws, takes too long or exceeds its budget is a
 * result that says so to the model, never an error of the request.
 *
 * @typeParam Options - What {@link ServerToolDefinition.parseOptions} makes of the `parameters` of the request.
 */
export interface ServerToolDefinition<Options = unknown> {
  /** Type in requests: `router:` and lower-case letters and `_`. */
  readonly type: `router:${string}`;
  /** Checks and completes the `parameters` of a request's entry. Without it or a schema, the tool refuses any. */
  readonly parseOptions?: OptionsParser<Options> | undefined;
  /** A schema in the place of `parseOptions`, as in `options` of a plugin. */
  readonly options?: StandardSchema<Options> | undefined;
  /** Milliseconds that one call may take. Default: `timeouts.serverToolMs` of the router, which is 30,000. */
  readonly timeoutMs?: number | undefined;
  /**
   * True: a request may offer it several times with different options, each under a {@link ServerToolDefinition.nameOf}
   * of its own. Default false.
   */
  readonly repeatable?: boolean | undefined;

  /**
   * Leaves the work to the provider where every endpoint of the request can do it: gives the parameters that request
   * it, and the function is not offered. Called before {@link ServerToolDefinition.describe}; pure. Default: never.
   */
  native?(options: Options, request: NormalizedRequest): RequestParameters | undefined;

  /**
   * Makes several functions of one entry, such as the tools of a server elsewhere: gives the options of each, which the
   * other functions of this definition then get in the place of those of the entry. Called once when a request runs,
   * with the time of a call, and not by `explain`. Default: an entry is one function.
   *
   * @throws {@link RouterError} that ends the request; anything else ends it with 502.
   */
  expand?(options: Options, context: ToolExpansion): Awaitable<readonly Options[]>;

  /**
   * The function that the model is shown.
   *
   * @throws {@link RouterError} when this request cannot have the tool.
   */
  describe(options: Options, request: NormalizedRequest): ToolFunction;

  /**
   * Name of the function, for tools that may be offered several times. Default: the type without its prefix. Letters
   * that function names may not have become `_`, and a number is added where two would be the same. Two entries of a
   * request for which it gives the same name are a 400.
   */
  nameOf?(options: Options): string | undefined;

  /** Server tools that its own calls of models will offer. They are checked like those of the request. */
  innerTools?(options: Options): readonly ServerTool[];

  /** Calls that one request may make; further ones get an error as their result. Default: no limit of its own. */
  maxUses?(options: Options): number | undefined;

  /**
   * Runs one call. Calls of one turn run at the same time.
   *
   * @param args - What the model gave, parsed; not checked against the schema: models make mistakes.
   */
  execute(args: JsonObject, options: Options, context: ToolContext): Awaitable<ToolOutcome>;

  /** Frees what the tool holds. Called by `router.close()`; may be called more than once. */
  close?(): Awaitable<void>;
}
