import type { ConfigProblem } from '../../protocol/router-error.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { anyText, checkProviderShape } from '../check-options.ts';
import { httpProvider } from '../http-provider.ts';
import { readEnvironment } from '../../platform/environment.ts';
import { CHAT_PROVIDER_OPTIONS, type ChatProviderOptions, type ModelTable } from '../openai-compatible/options.ts';
import type { ModelIds } from '../openai-compatible/vendors.ts';
import type { Provider } from '../../contracts/provider.ts';
import { geminiBatches } from './native-batches.ts';
import { group, kind, listOf, type OptionShape, text } from '../../platform/option-kinds.ts';
import type { ParameterName } from '../../catalog/model.ts';
import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import type { Codec, DecodedResult } from '../codec.ts';
import { callIdPrefix } from '../tool-ids.ts';
import { type ErrorContext, parseJson, parseObjects } from '../upstream-failure.ts';
import { type AnswerContext, AnswerReader } from './answer-reader.ts';
import { encodeRequest } from './encode-request.ts';
import { SignatureMemory } from './encode-assistant.ts';
import { googleEmbeddings } from './embeddings.ts';
import { type GoogleSurface, modelPath } from './wire.ts';
import { failure } from '../../core/fallback/failure.ts';
import { scatter, type StreamPiece } from '../../core/stream/pieces.ts';
import type { StreamDecoder } from '../piece-stream.ts';
import type { SseEvent } from '../sse.ts';
import { ResultCollector } from '../../core/stream/collect.ts';
import type { Choice } from '../../protocol/chat-result.ts';

const GEMINI_API = 'https://generativelanguage.googleapis.com/v1beta';
const KEY_VARIABLES = ['GEMINI_API_KEY', 'GOOGLE_API_KEY'] as const;

/** How much of what Google's filters find is let through, by category, in Google's own words. */
export interface SafetySetting {
  /** For example `HARM_CATEGORY_HARASSMENT`. */
  readonly category: string;
  /** For example `BLOCK_ONLY_HIGH`, `BLOCK_NONE` or `OFF`. */
  readonly threshold: string;
}

/** Options of {@link google}. */
export interface GoogleOptions<Models extends ModelTable = ModelTable> extends Omit<
  ChatProviderOptions<Models>,
  'apiKey'
> {
  /**
   * Key, or a function that gives the key or token for each call; it should keep a token until shortly before it
   * expires. Default: `GEMINI_API_KEY` or `GOOGLE_API_KEY` of the environment, unless `authorization` is `bearer`.
   */
  readonly apiKey?: string | (() => string | Promise<string>) | undefined;
  /**
   * How the key is sent: `api-key` in `x-goog-api-key`, `bearer` as an OAuth access token, as Vertex AI wants it.
   * Default `api-key`.
   */
  readonly authorization?: 'api-key' | 'bearer' | undefined;
  /** Name of the provider in preferences, for routers that have Google twice. Default `google`. */
  readonly slug?: string | undefined;
  /** Safety settings of all requests that bring no `safety_settings` of their own. Default: Google's. */
  readonly safetySettings?: readonly SafetySetting[] | undefined;
}

const GOOGLE_OPTIONS: OptionShape<GoogleOptions> = {
  ...CHAT_PROVIDER_OPTIONS,
  apiKey: kind('a text or a function', (value) => typeof value === 'string' || typeof value === 'function'),
  authorization: text,
  slug: anyText,
  safetySettings: listOf(group<SafetySetting>({ category: text, threshold: text })),
};

/**
 * Google's Gemini models over their native wire, which keeps thought signatures, thinking and safety verdicts that the
 * chat completions layer loses.
 *
 * The same wire reaches Vertex AI. With a key (express mode) only the address is another one; with a project, the key
 * is an access token:
 *
 * ```ts
 * google({ slug: 'vertex', baseURL: 'https://aiplatform.googleapis.com/v1/publishers/google', apiKey })
 * google({
 *   slug: 'vertex',
 *   baseURL: `https://${location}-aiplatform.googleapis.com/v1/projects/${project}/locations/${location}/publishers/google`,
 *   authorization: 'bearer',
 *   apiKey: () => auth.getAccessToken(),
 * })
 * ```
 *
 * Keys of the unpaid tier let Google learn from prompts; set `dataCollection: true` for one of those.
 *
 * @throws {@link ConfigError} when the slug, the address or the key cannot be right, or the key is missing.
 */
export function google<const Models extends ModelTable = never>(
  options: GoogleOptions<Models> = {},
): Provider<ModelIds<Models>> {
  checkProviderShape<GoogleOptions>(GOOGLE_OPTIONS, options, { slug: 'google' });
  const bearer = options.authorization === 'bearer';
  const slug = options.slug ?? 'google';
  const baseURL = (options.baseURL ?? GEMINI_API).replace(/\/+$/, '');
  const apiKey = options.apiKey ?? (bearer ? undefined : keyFromEnvironment());
  const problems: ConfigProblem[] = [];
  if (apiKey === undefined) {
    const problem = bearer
      ? 'is missing: pass an access token, or a function that gives one'
      : `is missing: pass apiKey, or set ${KEY_VARIABLES.join(' or ')} in the environment`;
    problems.push({ path: `providers.${slug}.apiKey`, problem });
  }
  const vertex = /\/publishers\/[^/]+$/.test(baseURL);
  // Vertex AI takes batches from buckets only.
  if (vertex && options.nativeBatches === true) {
    const problem = 'cannot be true for Vertex AI, which takes batches from storage buckets only; leave it out';
    problems.push({ path: `providers.${slug}.nativeBatches`, problem });
  }
  const hasBatches = options.nativeBatches ?? baseURL === GEMINI_API;
  const version = baseURL.slice(baseURL.lastIndexOf('/') + 1);
  const { dataCollection, zeroDataRetention, headers, transport } = options;
  return httpProvider<ModelIds<Models>>(
    {
      slug,
      name: options.name ?? (vertex ? 'Google Vertex' : 'Google'),
      models: options.models,
      dataCollection,
      zeroDataRetention,
      timeouts: options.timeouts,
      nativeSearch: 'alone',
      readsFiles: true,
      codec: googleCodec({ vertex, baseURL }, options.safetySettings as readonly JsonObject[] | undefined),
      batches: hasBatches ? (api, codecs) => geminiBatches(api, codecs, version) : undefined,
      baseURL,
      apiKey,
      authorization: bearer ? undefined : (key) => ['x-goog-api-key', key],
      headers,
      transport,
    },
    problems,
  );
}

/** Google, when its key is in the environment. */
export function googleFromEnvironment(): readonly Provider[] {
  return keyFromEnvironment() === undefined ? [] : [google()];
}

function keyFromEnvironment(): string | undefined {
  return KEY_VARIABLES.map(readEnvironment).find((key) => key !== undefined);
}

/** Parameters of chat completions that Google does not have. */
const NO_WORDS: readonly ParameterName[] = [
  'min_p',
  'top_a',
  'repetition_penalty',
  'logit_bias',
  'prediction',
  'parallel_tool_calls',
  'verbosity',
];

/** Google's native API: `generateContent`. */
function googleCodec(surface: GoogleSurface, safetySettings: readonly JsonObject[] | undefined): Codec {
  const memory = new SignatureMemory();

  function answerContext(context: ErrorContext, request: NormalizedRequest): AnswerContext {
    return {
      ...context,
      request,
      idPrefix: callIdPrefix(request),
      remember: (callId, signature) => memory.remember(request.account.id, callId, signature),
    };
  }

  return {
    unsupported: NO_WORDS,
    path: ({ stream }, { upstreamModel }) =>
      `/${modelPath(upstreamModel)}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    encode: (request, endpoint) =>
      encodeRequest(request, endpoint, {
        surface,
        safetySettings,
        recall: (callId) => memory.recall(request.account.id, callId),
      }),
    decodeResult: (body, context, request) => decodeResult(body, answerContext(context, request)),
    streamDecoder: (context, request) => new GoogleStreamDecoder(answerContext(context, request)),
    // Vertex has another wire for embeddings.
    embeddings: surface.vertex ? undefined : googleEmbeddings(),
  };
}

/**
 * Decodes the events of `streamGenerateContent?alt=sse`. The wire has no end mark: a stream is complete when a
 * candidate said how it ended, and whatever follows is usage and signatures.
 */
export class GoogleStreamDecoder implements StreamDecoder {
  readonly #context: AnswerContext;
  readonly #reader: AnswerReader;
  #closing = false;

  constructor(context: AnswerContext) {
    this.#context = context;
    this.#reader = new AnswerReader(context);
  }

  event({ event, data }: SseEvent, pieces: StreamPiece[]): void {
    const line = data.trim();
    // Proxies that speak another wire as well may add its end mark.
    if (line === '' || line === '[DONE]') return;
    const responses = parseObjects(line);
    if (responses === undefined) {
      // An event that the end of the body cut off is no surprise: what came before tells whether the response is
      // complete.
      if (this.#closing || (event !== undefined && event !== 'message' && event !== 'error')) return;
      pieces.push({ type: 'failure', failure: failure('bad_response', 'The provider sent a malformed event') });
      return;
    }
    for (const response of responses) {
      this.#reader.read(event === 'error' && !('error' in response) ? { error: response } : response, pieces);
    }
  }

  closing(): void {
    this.#closing = true;
  }

  body(body: string, pieces: StreamPiece[]): void {
    const decoded = decodeResult(body, this.#context);
    if (decoded.ok) pieces.push(...scatter(decoded.result));
    else pieces.push({ type: 'failure', failure: decoded.failure });
  }

  end(): void {}
}

/**
 * Decodes a non-streaming response, or the array of answers that a stream without server-sent events is. A body that is
 * HTML, empty, not JSON, an error in disguise or without candidates is a failure, whatever status it came with.
 */
export function decodeResult(body: string, context: AnswerContext): DecodedResult {
  const trimmed = body.trim();
  if (trimmed === '') return bad('The provider sent an empty answer');
  if (trimmed.startsWith('<')) return bad('The provider sent a web page instead of an answer');
  const value = parseJson(trimmed);
  if (value === undefined) return bad('The provider sent an answer that is not valid JSON');
  const responses = (Array.isArray(value) ? value : [value]).filter(isJsonObject);
  const reader = new AnswerReader(context);
  const pieces: StreamPiece[] = [];
  for (const response of responses) reader.read(response, pieces);
  const broken = pieces.find((piece) => typeof piece === 'object' && piece.type === 'failure');
  if (typeof broken === 'object' && broken.type === 'failure') return { ok: false, failure: broken.failure };
  const collector = new ResultCollector();
  for (const piece of pieces) collector.add(piece);
  const { choices, ...rest } = collector.result();
  if (choices.length === 0) return bad('The provider sent an answer without candidates');
  return { ok: true, result: { ...rest, choices: choices.map((choice) => complete(choice, reader)) } };
}

/**
 * A non-streaming response has ended, also where it does not say how; one that was held back says nothing rather than
 * "".
 */
function complete(choice: Choice, reader: AnswerReader): Choice {
  const { anything, calls } = reader.saidBy(choice.index);
  const reason = choice.finish_reason ?? (calls ? 'tool_calls' : 'stop');
  const content = reason === 'content_filter' && !anything ? null : choice.message.content;
  return { ...choice, finish_reason: reason, message: { ...choice.message, content } };
}

function bad(message: string): DecodedResult {
  return { ok: false, failure: failure('bad_response', message) };
}
