/** The plugin `context-compression`: makes prompts fit the context of a model. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { ModelTarget, NormalizedRequest } from '../../contracts/request.ts';
import { mostTokens } from '../../core/tokens/token-ceiling.ts';
import { likelyTextTokens } from '../../core/tokens/likely-tokens.ts';
import { likelyPromptTokens } from '../../core/tokens/token-estimate.ts';
import type { Plugin } from '../../contracts/plugin.ts';
import { definePlugin, SHORT_CONTEXT, unaskedFor } from '../../core/pipeline/define-plugin.ts';
import { amount, callable, type OptionShape } from '../../options/values.ts';
import { checkShape } from '../../platform/check-options.ts';
import { enumeration } from '../../schema/scalars.ts';
import type { Awaitable, PluginCause, StageRecord } from '../../contracts/plugin-context.ts';
import { parseCompressionOptions } from '../../protocol/web-options.ts';
import type { Message } from '../../protocol/message.ts';
import { type CountedMessage, countMessage, sampledCount, type TokenCounter } from './count-message.ts';
import type { Compressed, middleOut as MiddleOutFunction } from './middle-out.ts';
import { leastTokens } from './prompt-units.ts';
import { yieldTurn } from '../../platform/wait.ts';

/** Ways to make a prompt fit. */
export type CompressionEngine = 'middle-out' | 'relevant';

/** What makes a prompt fit, loaded by the first that does not. */
async function engineOf(name: CompressionEngine): Promise<typeof MiddleOutFunction> {
  if (name === 'middle-out') return (await import('./middle-out.ts')).middleOut;
  return (await import('./relevant.ts')).relevant;
}

/** Options of {@link contextCompression}. */
export interface ContextCompressionOptions {
  /**
   * How prompts are made to fit where a request does not say: `middle-out` takes messages out of the middle; `relevant`
   * keeps short messages, and passages of long ones, by what they have to do with the last question of the user. Default
   * `middle-out`.
   */
  readonly engine?: CompressionEngine | undefined;
  /**
   * Loads an exact counter of tokens, for example {@link gptTokens}. It is called when a prompt seems too long for an
   * endpoint. Default: an estimate that is rather too high than too low.
   */
  readonly countTokens?: (() => Awaitable<TokenCounter>) | undefined;
  /**
   * How many tokens an endpoint makes of one that was counted. Default: 1 for OpenAI's models, whose vocabularies are
   * counted with, 1.25 for Anthropic's, and 1.1 for all others.
   */
  readonly tokenFactor?: ((endpoint: Endpoint) => number) | undefined;
  /** Tokens of an image in full detail. Default 1,600. */
  readonly imageTokens?: number | undefined;
  /** Messages that an endpoint takes at most. Default: 1,000 for Anthropic's models, no limit for others. */
  readonly maxMessages?: ((endpoint: Endpoint) => number | undefined) | undefined;
  /**
   * When counting fails: `skip` sends the prompt as it is, whereupon the provider decides; `fail` answers 502.
   * Default `skip`.
   */
  readonly whenItThrows?: 'fail' | 'skip' | undefined;
}

const OPTIONS: OptionShape<ContextCompressionOptions> = {
  engine: enumeration<CompressionEngine>(['middle-out', 'relevant']),
  countTokens: callable,
  tokenFactor: callable,
  imageTokens: amount,
  maxMessages: callable,
  whenItThrows: enumeration(['fail', 'skip']),
};

/** What a request says about compression. */
export interface ContextCompressionRequestOptions {
  /** How the prompt is made to fit. Default: what the plugin was made with, which is `middle-out` unless it says so. */
  readonly engine?: CompressionEngine | undefined;
}

const ID = 'context-compression';

/**
 * The plugin `context-compression` (contract: plugins; gaps 5.8): takes the middle out of prompts that are too long for
 * an endpoint. Runs when a request names it or says `transforms: ["middle-out"]`, for all endpoints; and by itself
 * for endpoints with a context of at most 8,192 tokens, unless a request says `enabled: false` or `transforms:
 * []`. Register it behind plugins that add to the prompt.
 */
export function contextCompression(options: ContextCompressionOptions = {}): Plugin<ContextCompressionRequestOptions> {
  checkShape(OPTIONS, options, 'contextCompression');
  const {
    engine: usualEngine = 'middle-out',
    tokenFactor = usualFactor,
    imageTokens = 1_600,
    maxMessages = usualMaximum,
  } = options;
  const estimates = new PromptEstimates(tokenFactor, imageTokens);

  return definePlugin<ContextCompressionRequestOptions>({
    id: ID,
    whenItThrows: options.whenItThrows ?? 'skip',
    parseOptions: parseCompressionOptions,

    runsUnasked: unaskedFor('short_context', (request) => {
      // A router model shows its endpoints later.
      const maybeSmall = request.targets.some(({ endpoints: own }) => own.length === 0 || own.some(isSmall));
      if (!maybeSmall || request.native === undefined) return maybeSmall;
      const endpoints = request.targets.flatMap((target) => target.endpoints);
      // Taking part costs the caller's own body its way to the provider, so that needs a reason.
      if (request.native.requiredBy !== undefined) return false;
      const { isTooLong } = estimates.fit(request, 'itself', usualEngine);
      return endpoints.some((endpoint) => isSmall(endpoint) && isTooLong(endpoint));
    }),

    onCandidates: (targets, request, { engine = usualEngine }, { because }) =>
      markShortened(targets, request, estimates.fit(request, because, engine)),

    async onAttempt(request, endpoint, { engine = usualEngine }, context) {
      if (!mayShorten(endpoint, context.because)) return undefined;
      const { messages } = request;
      // A prompt that took long to read has taken its turn already.
      if (request.needs.promptTokens > LONG_PROMPT) await yieldTurn();
      const mostMessages = maxMessages(endpoint) ?? Infinity;
      const fit = estimates.fit(request, context.because, engine);
      const tooMany = messages.length > mostMessages;
      if (!tooMany && !fit.isTooLong(endpoint)) return undefined;
      const exact = await options.countTokens?.();
      const count = sampledCount(exact ?? mostTokens, request);
      const sizes = messages.map((one) =>
        exact === undefined ? estimates.size(one, count) : countMessage(one, count, imageTokens),
      );
      const factor = tokenFactor(endpoint);
      const room = scaled(promptRoom(endpoint, request, tokensBesideMessages(request, count) * factor), factor);
      const before = sumOf(sizes);
      if (!tooMany && before <= room.whole) return undefined;
      if (before > LONG_PROMPT) await yieldTurn();
      const slack = count === mostTokens ? excessOf(before, request) : 1;
      const shortened = Math.min(room.whole, Math.floor(room.shortened * slack));
      const limits = { tokens: before > room.whole ? shortened : room.whole, messages: mostMessages };
      const compressed = (await engineOf(engine))(messages, sizes, limits, count);
      if (compressed === undefined) return undefined;
      const after = sumOf(compressed.messages.map((one) => countMessage(one, count, imageTokens)));
      context.stage(stageOf(compressed, { messages: messages.length, before, after }, engine, endpoint));
      return { messages: compressed.messages };
    },
  });
}

/** Tokens of a prompt from which on its work is done in several turns of the event loop. */
const LONG_PROMPT = 50_000;

/** How far an estimate that is rather too high may be from the likely one for the difference to be used. */
const MOST_EXCESS = 1.4;

/**
 * How much too high the estimate of a prompt likely is: so much more of it may take the place that is kept for an
 * answer nobody limited. What even the high estimate lets into the context is never exceeded.
 */
function excessOf(most: number, request: NormalizedRequest): number {
  if (request.needs.inputModalities.length > 0) return 1;
  return Math.min(MOST_EXCESS, Math.max(1, most / Math.max(1, likelyPromptTokens(request))));
}

/** Where the highest estimate is so many times the likely one, vocabularies count too differently to trust the latter. */
const MOST_DOUBT = 2;
/** How far from the likely estimate towards the highest one: older vocabularies count European languages a third higher. */
const CAUTION = 0.4;

/**
 * An estimate between the likely one and the highest one, for prompts that only the highest does not let in: the highest
 * counts German half as long again as it is, and what fits is left alone (gaps 5.8).
 */
function closerEstimate(most: number, request: NormalizedRequest, imageTokens: number): number {
  const count = sampledCount((text) => likelyTextTokens([text]), request);
  const likely = sumOf(request.messages.map((message) => countMessage(message, count, imageTokens)));
  return most > MOST_DOUBT * likely ? most : Math.min(most, Math.ceil(likely + CAUTION * (most - likely)));
}

/**
 * A request that names compression gets it everywhere; by itself it is for small contexts. Never for those that only draw.
 */
function mayShorten(endpoint: Endpoint, because: PluginCause): boolean {
  return !onlyDraws(endpoint) && (because !== 'itself' || isSmall(endpoint));
}

function usualFactor({ model }: Endpoint): number {
  if (model.startsWith('openai/')) return 1;
  return model.startsWith('anthropic/') ? 1.25 : 1.1;
}

function usualMaximum({ model }: Endpoint): number | undefined {
  return model.startsWith('anthropic/') ? 1_000 : undefined;
}

function sumOf(sizes: readonly CountedMessage[]): number {
  return sizes.reduce((sum, size) => sum + size.tokens, 0);
}

/** Room in the endpoint's own tokens as room in tokens that were counted. */
function scaled({ whole, shortened }: ReturnType<typeof promptRoom>, factor: number): ReturnType<typeof promptRoom> {
  return { whole: Math.floor(whole / factor), shortened: Math.floor(shortened / factor) };
}

/** Messages before compression, and tokens before and after it. */
interface PromptSizes {
  readonly messages: number;
  readonly before: number;
  readonly after: number;
}

function stageOf(
  { messages, removed, shortened }: Compressed,
  { messages: original, before, after }: PromptSizes,
  engine: CompressionEngine,
  { model, providerName }: Endpoint,
): StageRecord {
  return {
    type: 'context_compression',
    summary: `${removed} of ${original} messages removed and ${shortened} shortened, for ${model} at ${providerName}`,
    data: {
      engine,
      input_type: 'messages',
      original_count: original,
      compressed_count: messages.length,
      removed_count: removed,
      shortened_count: shortened,
      original_tokens: before,
      compressed_tokens: after,
      model,
      provider: providerName,
    },
  };
}

/** Estimates of prompts. Messages are frozen while plugins run, so what was counted once stays right. */
class PromptEstimates {
  readonly #tokenFactor: (endpoint: Endpoint) => number;
  readonly #imageTokens: number;
  readonly #sizes = new WeakMap<Message, CountedMessage>();

  constructor(tokenFactor: (endpoint: Endpoint) => number, imageTokens: number) {
    this.#tokenFactor = tokenFactor;
    this.#imageTokens = imageTokens;
  }

  size(message: Message, count: TokenCounter): CountedMessage {
    const known = this.#sizes.get(message);
    if (known !== undefined) return known;
    const counted = countMessage(message, count, this.#imageTokens);
    this.#sizes.set(message, counted);
    return counted;
  }

  /** How a prompt fits endpoints by estimate, in tokens of the estimate. */
  fit(request: NormalizedRequest, because: PluginCause, engine: CompressionEngine): PromptFit {
    const count = sampledCount(mostTokens, request);
    const sizes = request.messages.map((message) => this.size(message, count));
    const beside = tokensBesideMessages(request, count);
    const tokens = sumOf(sizes);
    const roomAt = (endpoint: Endpoint): PromptRoom => {
      const factor = this.#tokenFactor(endpoint);
      return scaled(promptRoom(endpoint, request, beside * factor), factor);
    };
    let closer: number | undefined;
    return {
      tokens,
      least: leastTokens(request.messages, sizes, { withInstructions: engine === 'relevant' }),
      roomAt,
      isTooLong: (endpoint) => {
        const { whole } = roomAt(endpoint);
        if (tokens <= whole) return false;
        closer ??= closerEstimate(tokens, request, this.#imageTokens);
        return closer > whole;
      },
      shortenable: (endpoint) => mayShorten(endpoint, because),
    };
  }
}

/** How long a prompt is, and what endpoints can do with it. */
interface PromptFit {
  /** Tokens of the messages. */
  readonly tokens: number;
  /** Tokens that the messages can be brought down to. */
  readonly least: number;
  /** Room for messages at an endpoint, in the same tokens. */
  readonly roomAt: (endpoint: Endpoint) => PromptRoom;
  /** Whether the prompt does not fit an endpoint, as far as an estimate can tell. */
  readonly isTooLong: (endpoint: Endpoint) => boolean;
  /** Whether the prompt may be shortened for an endpoint at all. */
  readonly shortenable: (endpoint: Endpoint) => boolean;
}

/**
 * Marks the endpoints that get a shortened prompt: those that can hold at least half of prompt and answer, or, where
 * neither they nor any other can hold it, those with the longest context (gaps 5.8).
 */
function markShortened(
  targets: readonly ModelTarget[],
  { needs }: NormalizedRequest,
  { tokens, least, roomAt, isTooLong, shortenable }: PromptFit,
): readonly ModelTarget[] {
  const all = targets.flatMap((target) => target.endpoints);
  const tooLong = all.filter(isTooLong);
  if (tooLong.length === 0) return targets;
  const possible = tooLong.filter((endpoint) => shortenable(endpoint) && least <= roomAt(endpoint).shortened);
  const half = (tokens + (needs.outputTokens ?? 0)) / 2;
  let chosen = possible.filter((endpoint) => contextOf(endpoint) >= half);
  if (chosen.length === 0 && tooLong.length === all.length) {
    const longest = Math.max(...possible.map(contextOf));
    chosen = possible.filter((endpoint) => contextOf(endpoint) === longest);
  }
  if (chosen.length === 0) return targets;
  return targets.map((target) => {
    const shortened = target.endpoints.filter((endpoint) => chosen.includes(endpoint));
    return shortened.length === 0 ? target : { ...target, shortened };
  });
}

function contextOf({ contextLength, maxPromptTokens }: Endpoint): number {
  return Math.min(contextLength ?? Infinity, maxPromptTokens ?? Infinity);
}

/** Tokens that a model needs to begin an answer with, when the request sets no limit. */
const LEAST_OUTPUT = 256;
/** What is kept free for the answer of a request without a limit once a prompt is shortened anyway. */
const USUAL_OUTPUT = 4_096;

/** How many tokens of messages an endpoint takes; all Infinity for one whose context is unknown. */
interface PromptRoom {
  /** A prompt of up to this length is left alone. */
  readonly whole: number;
  /** A longer one is shortened to this. */
  readonly shortened: number;
}

/** Works out the room for messages: the context without the requested output and without what is beside them. */
function promptRoom(endpoint: Endpoint, request: NormalizedRequest, beside: number): PromptRoom {
  const { contextLength = Infinity, maxPromptTokens = Infinity, maxOutputTokens = Infinity } = endpoint;
  const requested = request.needs.outputTokens;
  const least = Math.min(LEAST_OUTPUT, contextLength / 8);
  const usual = Math.min(USUAL_OUTPUT, maxOutputTokens, contextLength / 4);
  const room = (output: number): number => Math.floor(Math.min(contextLength - output, maxPromptTokens) - beside);
  return { whole: room(requested ?? least), shortened: room(requested ?? Math.max(least, usual)) };
}

/** Tokens of everything in a prompt that is no message: the functions, the schema of the answer, the beginning of it. */
function tokensBesideMessages({ tools, responseFormat }: NormalizedRequest, count: TokenCounter): number {
  const functions = tools.reduce((sum, tool) => sum + 12 + count(JSON.stringify(tool.function)), 0);
  const schema = responseFormat?.type === 'json_schema' ? count(JSON.stringify(responseFormat.json_schema)) : 0;
  return 3 + functions + schema;
}

/** True for an endpoint whose prompts are shortened unrequested (gaps 5.8). */
function isSmall({ contextLength }: Endpoint): boolean {
  return contextLength !== undefined && contextLength <= SHORT_CONTEXT;
}

/** True for an endpoint that only draws: what it is told is no conversation. */
function onlyDraws({ outputModalities }: Endpoint): boolean {
  return outputModalities !== undefined && outputModalities.has('image') && !outputModalities.has('text');
}
