/** Reads responses of chat completions, whatever server wrote them. */
import { ToolCallCollector } from '../../core/stream/collect.ts';
import type {
  Annotation,
  Choice,
  FinishReason,
  Logprobs,
  OutputAudio,
  OutputImage,
  ResultMessage,
  ResultToolCall,
  TokenLogprob,
} from '../../protocol/chat-result.ts';
import { endReason, endWord } from '../../core/stream/pieces.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/json.ts';
import type { DecodedResult } from '../codec.ts';
import { type ErrorContext, failureInBand, readJsonAnswer } from '../upstream-failure.ts';
import { callIdPrefix, originalIds } from '../tool-ids.ts';
import { decodeUsage, type Writable } from './decode-usage.ts';
import type { ReportedUsageNames } from '../../core/accepts.ts';
import { type VendorQuirks, toolIdRule } from './vendor-quirks.ts';
import { type CallWithExtra, ToolCallIndexer } from './tool-call-indexer.ts';
import type { Delta } from '../../protocol/chunk.ts';
import type { ReasoningDetail } from '../../protocol/reasoning.ts';
import { isError, isErrorBody } from '../error-shape.ts';
import * as read from '../../platform/json.ts';
import { failure } from '../../contracts/failure.ts';
import type { UpstreamResult } from '../../contracts/stream-piece.ts';

/** What decoding one answer depends on. */
export interface DecodeContext extends ErrorContext {
  readonly quirks: VendorQuirks;
  /** What the server calls cached tokens. Default: every name that is in use. */
  readonly usage?: ReportedUsageNames | undefined;
  /** Gives ids to tool calls that came without one, and the caller's ids back to those that it knows. */
  readonly request: Pick<NormalizedRequest, 'id' | 'messages'>;
  /** Keeps what the server requires back with a call, for clients that lose it. Default: nothing does. */
  readonly onExtra?: ((call: CallWithExtra) => void) | undefined;
}

/**
 * Decodes a non-streaming response of the chat completions wire. A body that is HTML, empty, not JSON, an error in
 * disguise or without choices is a failure, whatever status it came with.
 */
export function decodeResult(body: string, context: DecodeContext): DecodedResult {
  const answer = readJsonAnswer(body, 'choices');
  return answer.ok ? decodeAnswer(answer.value, context) : answer;
}

/** The same for a body that is parsed. */
export function decodeAnswer(parsed: JsonObject, context: DecodeContext): DecodedResult {
  const error = errorInside(parsed);
  if (error !== undefined) return { ok: false, failure: failureInBand(error, context) };
  const choices = read.objects(parsed['choices']);
  if (choices.length === 0) return bad('The provider sent an answer without choices');
  const decoded: Choice[] = [];
  let hasBroken = false;
  for (const choice of choices) {
    const one = decodeChoice(choice, decoded.length, parsed, context);
    if (one === undefined) return bad('The provider sent an invalid answer');
    hasBroken ||= one.finish_reason === 'error';
    decoded.push(one);
  }
  if (hasBroken) {
    return { ok: false, failure: failure('server', 'The provider ended its answer with an error') };
  }
  return {
    ok: true,
    result: {
      choices: decoded,
      usage: decodeUsage(findUsage(parsed, choices), context.quirks, context.usage),
      systemFingerprint: read.text(parsed['system_fingerprint']),
      serviceTier: read.text(parsed['service_tier']),
      upstreamId: read.text(parsed['id']),
      findings: findingsOf(parsed),
    },
  };
}

function findingsOf({ alignment, safeguard_results: safeguards }: JsonObject): UpstreamResult['findings'] {
  if (!isJsonObject(alignment) && !Array.isArray(safeguards)) return undefined;
  return {
    ...(isJsonObject(alignment) ? { alignment } : {}),
    ...(Array.isArray(safeguards) ? { safeguard_results: safeguards as readonly JsonValue[] } : {}),
  };
}

function decodeChoice(
  choice: JsonObject,
  position: number,
  result: JsonObject,
  context: DecodeContext,
): Choice | undefined {
  const { message: source, index: place, logprobs } = choice;
  if (!isJsonObject(source)) return undefined;
  const native = endWord(choice['finish_reason']) ?? null;
  const index = typeof place === 'number' && place >= 0 ? Math.floor(place) : position;
  const calls = decodeToolCalls(source, index, context);
  if (calls === undefined) return undefined;
  return {
    index,
    finish_reason: finishOf(native, calls.length),
    native_finish_reason: native,
    logprobs: logprobs == null ? null : (decodeLogprobs(logprobs) ?? null),
    message: messageOf(decodeContent(source), calls, hasSources(result) ? result : undefined),
  };
}

/** Written member by member, like what it is made of: a literal is slow where something follows a spread. */
function messageOf(said: Said, calls: readonly ResultToolCall[], cited: JsonObject | undefined): ResultMessage {
  const { reasoning_details: details, images, annotations, audio, content, refusal, reasoning } = said;
  const message = { role: 'assistant' } as Writable<ResultMessage>;
  if (details !== undefined) message.reasoning_details = details;
  if (images !== undefined) message.images = images;
  if (annotations !== undefined) message.annotations = annotations;
  if (audio !== undefined) message.audio = audio;
  message.content = content ?? (calls.length > 0 || refusal != null ? null : '');
  message.refusal = refusal ?? null;
  message.reasoning = reasoning ?? null;
  const sources = cited === undefined ? [] : newSources(cited, noteCited(annotations));
  if (sources.length > 0) message.annotations = [...(annotations ?? []), ...sources];
  if (calls.length > 0) message.tool_calls = calls;
  return message;
}

function newSources(result: JsonObject, known: Set<string>): readonly Annotation[] {
  return sourcesOf(result).flatMap((source) => {
    if (known.has(source.url)) return [];
    known.add(source.url);
    return [citationOf(source)];
  });
}

const NO_CALLS: readonly ResultToolCall[] = [];

/** Every entry of a non-streaming response is a call of its own, whatever its index says. */
function decodeToolCalls(
  { tool_calls: entries, function_call: legacy }: JsonObject,
  choice: number,
  context: DecodeContext,
): readonly ResultToolCall[] | undefined {
  if (entries == null && legacy == null) return NO_CALLS;
  const found: unknown = entries ?? (isJsonObject(legacy) ? [{ function: legacy }] : []);
  const indexer = indexerOf(context, choice);
  const fragments = indexer.read(
    Array.isArray(found) ? found.filter(isJsonObject).map((entry, index) => ({ ...entry, index })) : [],
  );
  if (fragments === undefined || indexer.isNameless) return undefined;
  const collector = new ToolCallCollector();
  collector.add(fragments);
  return collector.finish();
}

/** Reads the tool calls of one choice. Only made where there are some. */
export function indexerOf({ quirks, request, onExtra }: DecodeContext, choice: number): ToolCallIndexer {
  const prefix = callIdPrefix(request);
  return new ToolCallIndexer(
    (index) => `${prefix}_${choice}_${index}`,
    originalIds(request.messages, toolIdRule(quirks.toolCallIds)),
    onExtra,
  );
}

/** Some servers say nothing. */
function finishOf(native: string | null, calls: number): FinishReason {
  return endReason(native === null ? 'stop' : mapFinishReason(native), calls);
}

function bad(message: string): DecodedResult {
  return { ok: false, failure: failure('bad_response', message) };
}

/** What a delta or a message says, apart from tool calls. */
type Said = Omit<Delta, 'role' | 'tool_calls'>;

/**
 * Reads what a delta or a message says, apart from tool calls. Servers differ in how they write text (a string, null,
 * or a list of parts) and reasoning (several names, sometimes two of them at once).
 */
export function decodeContent(source: JsonObject): Said {
  // Member by member: every chunk that is parsed comes by here, and most have one of them.
  const said: Writable<Said> = {};
  const { content } = source;
  const { text, thinking } = Array.isArray(content) ? readParts(content) : { text: content, thinking: undefined };
  if (typeof text === 'string' && text !== '') said.content = text;
  if (thinking === undefined && !saysMore(source)) return said;
  const refusal = read.text(source['refusal']);
  if (refusal !== undefined) said.refusal = refusal;
  const reasoning = reasoningOf(source) ?? read.text(thinking);
  if (reasoning !== undefined) said.reasoning = reasoning;
  const details = read.objects(source['reasoning_details']) as unknown as ReasoningDetail[];
  if (details.length > 0) said.reasoning_details = details;
  const images = read.list(source['images']).flatMap(readImage);
  if (images.length > 0) said.images = images;
  const annotations = read.objects(source['annotations']) as unknown as Annotation[];
  if (annotations.length > 0) said.annotations = annotations;
  const audio = readAudio(source['audio']);
  if (audio !== undefined) said.audio = audio;
  return said;
}

/** What servers call reasoning. */
const REASONING = ['reasoning', 'reasoning_content', 'reasoning_text', 'thinking'] as const;

function reasoningOf(source: JsonObject): string | undefined {
  for (const name of REASONING) {
    const reasoning = read.text(source[name]);
    if (reasoning !== undefined) return reasoning;
  }
  return undefined;
}

/** Whether anything is set besides the role, the text and tool calls. */
function saysMore(source: JsonObject): boolean {
  for (const name in source) {
    if (name !== 'content' && name !== 'role' && name !== 'tool_calls' && source[name] !== null) return true;
  }
  return false;
}

/** Reads log probabilities; a token without `bytes` gets null, because clients insist on the member. */
export function decodeLogprobs(value: unknown): Logprobs | undefined {
  if (!isJsonObject(value)) return undefined;
  const content = read.list(value['content']).flatMap(readToken);
  const refusal = read.list(value['refusal']).flatMap(readToken);
  if (content.length === 0 && refusal.length === 0) return undefined;
  return { content: content.length > 0 ? content : null, ...(refusal.length > 0 ? { refusal } : {}) };
}

/** Where servers list the sources of an answer, beside its choices. */
const SOURCES = ['search_results', 'web_search', 'references', 'citations'] as const;

/** Whether sources are listed beside the choices of a chunk or an answer. */
export function hasSources(body: JsonObject): boolean {
  for (const name of SOURCES) if (body[name] != null) return true;
  return body['search_info'] != null;
}

/** Sources that some servers list beside the choices: in the last chunk of a stream, or anew in each one. */
export function sourcesOf(body: JsonObject): readonly Source[] {
  const listed = [
    ...SOURCES.flatMap((name) => read.list(body[name])),
    ...read.list(read.object(body['search_info'])['search_results']),
  ].flatMap(readSource);
  return [...listed.filter(({ title }) => title !== undefined), ...listed.filter(({ title }) => title === undefined)];
}

/** A source of an answer. */
export interface Source {
  readonly url: string;
  readonly title?: string;
}

/** A source as an annotation that points to no place in the text. */
export function citationOf(source: Source): Annotation {
  return { type: 'url_citation', url_citation: source };
}

function readSource(source: unknown): readonly Source[] {
  if (typeof source === 'string') return source === '' ? [] : [{ url: source }];
  if (!isJsonObject(source)) return [];
  const url = read.text(source['url']) ?? read.text(source['link']);
  const title = read.text(source['title']);
  return url === undefined ? [] : [title === undefined ? { url } : { url, title }];
}

/** Adds the addresses that annotations cite to those that are known. */
export function noteCited(annotations: Said['annotations'], known: Set<string> = new Set()): Set<string> {
  for (const { url_citation: citation } of read.objects(annotations)) {
    const url = read.text(read.object(citation)['url']);
    if (url !== undefined) known.add(url);
  }
  return known;
}

/** Text and thinking of a list of parts; empty where there is none. */
function readParts(parts: readonly unknown[]): { readonly text: string; readonly thinking: string } {
  let text = '';
  let thinking = '';
  for (const part of parts) {
    if (typeof part === 'string') text += part;
    if (!isJsonObject(part)) continue;
    const { type, thinking: thought } = part;
    if (type !== 'thinking') text += read.text(part['text']) ?? '';
    else thinking += Array.isArray(thought) ? readParts(thought).text : (read.text(thought) ?? '');
  }
  return { text, thinking };
}

function readImage(value: unknown): OutputImage[] {
  if (!isJsonObject(value) || !isJsonObject(value['image_url'])) return [];
  const { url } = value['image_url'];
  return typeof url === 'string' ? [{ type: 'image_url', image_url: { url } }] : [];
}

function readAudio(value: unknown): OutputAudio | undefined {
  if (!isJsonObject(value)) return undefined;
  const { id, data, transcript, expires_at: expiresAt } = value;
  return {
    ...(typeof id === 'string' ? { id } : {}),
    ...(typeof data === 'string' ? { data } : {}),
    ...(typeof transcript === 'string' ? { transcript } : {}),
    ...(typeof expiresAt === 'number' ? { expires_at: Math.floor(expiresAt) } : {}),
  };
}

function readToken(value: unknown): TokenLogprob[] {
  const others = isJsonObject(value) ? read.list(value['top_logprobs']).flatMap(readLikelihood) : [];
  return readLikelihood(value).map((token) => ({ ...token, top_logprobs: others }));
}

function readLikelihood(value: unknown): Omit<TokenLogprob, 'top_logprobs'>[] {
  if (!isJsonObject(value) || typeof value['token'] !== 'string' || typeof value['logprob'] !== 'number') return [];
  const { token, logprob, bytes } = value;
  return [{ token, logprob, bytes: Array.isArray(bytes) ? (bytes as number[]) : null }];
}

const KNOWN: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  eos: 'stop',
  end_turn: 'stop',
  stop_sequence: 'stop',
  complete: 'stop',
  length: 'length',
  max_tokens: 'length',
  model_length: 'length',
  incomplete: 'length',
  model_context_window_exceeded: 'length',
  tool_calls: 'tool_calls',
  tool_use: 'tool_calls',
  function_call: 'tool_calls',
  content_filter: 'content_filter',
  safety: 'content_filter',
  recitation: 'content_filter',
  refusal: 'content_filter',
  sensitive: 'content_filter',
  // Of Gemini and of Bedrock, where gateways pass their words on.
  prohibited_content: 'content_filter',
  blocklist: 'content_filter',
  spii: 'content_filter',
  model_armor: 'content_filter',
  image_safety: 'content_filter',
  guardrail_intervened: 'content_filter',
  content_filtered: 'content_filter',
  'content-filter': 'content_filter',
  error: 'error',
  // Of DeepSeek, of GLM, and of vLLM and SGLang when they drop a request.
  insufficient_system_resource: 'error',
  network_error: 'error',
  abort: 'error',
};

/** One of the five finish reasons for whatever word a provider uses; an unknown word counts as a normal end. */
export function mapFinishReason(native: string): FinishReason {
  const word = native.toLowerCase();
  return Object.hasOwn(KNOWN, word) ? (KNOWN[word] ?? 'stop') : 'stop';
}

/**
 * The error in a chunk or an answer that came with a good status, in the places where servers put it: at the top, in
 * Groq's extension, or inside a choice that ended early. Undefined where there is none.
 */
export function errorInside(body: JsonObject): unknown {
  const { error, choices, x_groq: groq } = body;
  if (choices === undefined && isErrorBody(body)) return body;
  if (error != null && isError(error)) return { error };
  if (isJsonObject(groq) && isError(groq['error'])) return { error: groq['error'] };
  for (const choice of read.list(choices)) {
    const inside = isJsonObject(choice) ? choice['error'] : undefined;
    if (inside != null && isError(inside)) return { error: inside };
  }
  return undefined;
}

/** Usage is at the top of a chunk or answer, in Groq's extension, or inside a choice. */
export function findUsage(body: JsonObject, choices: readonly unknown[]): unknown {
  if (body['usage'] != null) return body['usage'];
  const groq = body['x_groq'];
  if (isJsonObject(groq) && groq['usage'] != null) return groq['usage'];
  const [first] = choices;
  return isJsonObject(first) ? first['usage'] : undefined;
}
