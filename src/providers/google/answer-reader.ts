/** Reads responses of Gemini, streamed or not. */
import { endWord, escapeText } from '../../core/stream/pieces.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { isError } from '../error-shape.ts';
import { type ErrorContext, failureInBand } from '../upstream-failure.ts';
import { type CandidateContext, CandidateReader, decodeGrounding, searchesOf } from './candidate-reader.ts';
import type { FinishReason, Logprobs, TokenLogprob } from '../../protocol/chat-result.ts';
import * as read from '../../platform/json.ts';
import { failure } from '../../contracts/failure.ts';
import type { ReportedUsage, StreamPiece } from '../../contracts/stream-piece.ts';

/** What an answer is read with. */
export interface AnswerContext extends CandidateContext, ErrorContext {
  /** Whether more may follow what is read. Default false. */
  readonly streamed?: boolean | undefined;
}

/** Candidates beyond this are no answer to any request we send. */
const MAX_CANDIDATES = 128;

/** Google's name of the tier that everybody else calls `default`. */
const STANDARD = 'standard';

/**
 * Reads `GenerateContentResponse` objects: the events of one stream, or the only one of a non-streaming response. Both
 * mean the same, so both are read by this.
 */
export class AnswerReader {
  readonly #context: AnswerContext;
  readonly #candidates = new Map<number, CandidateReader>();
  readonly #citations = new Set<string>();
  #searches = 0;
  #facts = '';

  constructor(context: AnswerContext) {
    this.#context = context;
  }

  /** Appends what one object says. */
  read(response: JsonObject, pieces: StreamPiece[]): void {
    if (isError(response['error'])) {
      pieces.push({ type: 'failure', failure: failureInBand({ error: response['error'] }, this.#context) });
      return;
    }
    this.#readFacts(response, pieces);
    const candidates = read.objects(response['candidates']);
    // Streams repeat what was found so far. Usage comes before everything else, because nothing follows a failure.
    const searches = candidates.map(({ groundingMetadata }) => searchesOf(groundingMetadata));
    this.#searches = Math.max(this.#searches, ...searches);
    const usage = decodeUsage(response['usageMetadata'], this.#searches);
    if (usage !== undefined) pieces.push({ type: 'usage', usage });
    for (const candidate of candidates) this.#candidate(candidate, pieces);
    if (candidates.length === 0) this.#feedback(response['promptFeedback'], pieces);
  }

  /** What a candidate said so far. */
  saidBy(index: number): CandidateReader['said'] {
    return this.#candidates.get(index)?.said ?? { anything: false, calls: false };
  }

  #candidate(candidate: JsonObject, pieces: StreamPiece[]): void {
    const index = candidate['index'] ?? 0;
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= MAX_CANDIDATES) {
      const problem = failure('bad_response', 'The provider sent a candidate with an invalid index');
      pieces.push({ type: 'failure', failure: problem });
      return;
    }
    const reader = this.#reader(index);
    const before = pieces.length;
    const deltas = reader.read(candidate['content']);
    if (reader.isBroken) {
      const problem = failure('bad_response', 'The provider sent a tool call without a name');
      pieces.push({ type: 'failure', failure: problem });
      return;
    }
    const logprobs = decodeLogprobs(candidate['logprobsResult']);
    for (const [position, delta] of deltas.entries()) {
      const scores = position === deltas.length - 1 ? logprobs : undefined;
      const plain = delta.content != null && Object.keys(delta).length === 1 && index === 0 && scores === undefined;
      if (plain) pieces.push(escapeText(delta.content ?? ''));
      else pieces.push({ type: 'delta', index, delta, logprobs: scores });
    }
    if (deltas.length === 0 && logprobs !== undefined) pieces.push({ type: 'delta', index, delta: {}, logprobs });
    const besideContent = pieces.length > before;
    this.#cite(index, reader, candidate['groundingMetadata'], pieces);
    const native = endWord(candidate['finishReason']);
    // A stream may begin with a word that says nothing.
    const means = native !== UNSPECIFIED || reader.said.anything || !this.#context.streamed;
    if (native === undefined || !means || reader.isCalling) return;
    this.#finish(index, reader, { native, besideContent }, pieces);
  }

  #cite(index: number, reader: CandidateReader, metadata: unknown, pieces: StreamPiece[]): void {
    const annotations = decodeGrounding(metadata, reader.text, reader.partStart).filter((citation) => {
      const key = `${index} ${JSON.stringify(citation)}`;
      return this.#citations.has(key) ? false : this.#citations.add(key);
    });
    if (annotations.length > 0) pieces.push({ type: 'delta', index, delta: { annotations } });
  }

  #finish(
    index: number,
    reader: CandidateReader,
    { native, besideContent }: { readonly native: string; readonly besideContent: boolean },
    pieces: StreamPiece[],
  ): void {
    const rest = reader.finishCall();
    if (rest !== undefined) pieces.push({ type: 'delta', index, delta: rest });
    const reason = mapFinishReason(native, reader.said);
    if (reason !== 'error') {
      const finish = { type: 'finish', index, reason, native } as const;
      pieces.push(besideContent ? { ...finish, besideContent } : finish);
      return;
    }
    const problem = failure('server', `The provider ended its answer with ${native}`, { providerCode: native });
    pieces.push({ type: 'failure', failure: problem });
  }

  /** A prompt that is refused comes with a good status and without a candidate. */
  #feedback(feedback: unknown, pieces: StreamPiece[]): void {
    const reason = isJsonObject(feedback) ? feedback['blockReason'] : undefined;
    if (typeof reason !== 'string' || reason === '') return;
    pieces.push({ type: 'finish', index: 0, reason: 'content_filter', native: `PROMPT_BLOCKED:${reason}` });
  }

  #readFacts({ responseId, usageMetadata }: JsonObject, pieces: StreamPiece[]): void {
    const upstreamId = read.text(responseId);
    const counted = isJsonObject(usageMetadata) ? usageMetadata['serviceTier'] : undefined;
    const tier = typeof counted === 'string' ? counted : this.#context.header?.('x-gemini-service-tier');
    const serviceTier = tier?.toLowerCase() === STANDARD ? 'default' : tier?.toLowerCase();
    const key = `${upstreamId ?? ''} ${serviceTier ?? ''}`;
    if (key === this.#facts || key === ' ') return;
    this.#facts = key;
    pieces.push({ type: 'facts', upstreamId, serviceTier });
  }

  #reader(index: number): CandidateReader {
    let reader = this.#candidates.get(index);
    if (reader === undefined) {
      reader = new CandidateReader(index, this.#context);
      this.#candidates.set(index, reader);
    }
    return reader;
  }
}

/** What is written where nothing is said of the end, as with every enumeration of Google's. */
const UNSPECIFIED = 'FINISH_REASON_UNSPECIFIED';

/** `depends`: an error when nothing was said, a normal end otherwise. */
type Meaning = Exclude<FinishReason, 'tool_calls'> | 'depends';

/** Google's words for the end of a candidate. There is none for tool calls: they end with `STOP`. */
const MEANINGS: Readonly<Record<string, Meaning>> = {
  STOP: 'stop',
  MAX_TOKENS: 'length',
  CONTINUATION: 'length',
  SAFETY: 'content_filter',
  RECITATION: 'content_filter',
  BLOCKLIST: 'content_filter',
  PROHIBITED_CONTENT: 'content_filter',
  SPII: 'content_filter',
  MODEL_ARMOR: 'content_filter',
  IMAGE_SAFETY: 'content_filter',
  IMAGE_PROHIBITED_CONTENT: 'content_filter',
  IMAGE_RECITATION: 'content_filter',
  LANGUAGE: 'error',
  MALFORMED_FUNCTION_CALL: 'error',
  UNEXPECTED_TOOL_CALL: 'error',
  TOO_MANY_TOOL_CALLS: 'error',
  MALFORMED_RESPONSE: 'error',
  MISSING_THOUGHT_SIGNATURE: 'error',
  OTHER: 'depends',
  NO_IMAGE: 'depends',
  IMAGE_OTHER: 'depends',
  [UNSPECIFIED]: 'depends',
};

/** One of the five finish reasons for a word of Google's. Words that are not known yet depend on what was said. */
function mapFinishReason(native: string, said: { readonly anything: boolean; readonly calls: boolean }): FinishReason {
  const meaning = Object.hasOwn(MEANINGS, native) ? (MEANINGS[native] ?? 'depends') : 'depends';
  if (meaning === 'depends') return said.anything ? mapFinishReason('STOP', said) : 'error';
  return meaning === 'stop' && said.calls ? 'tool_calls' : meaning;
}

/** Reads `logprobsResult`: the chosen tokens, and for each place those that were likeliest there. */
function decodeLogprobs(value: unknown): Logprobs | undefined {
  if (!isJsonObject(value)) return undefined;
  const top = read.list(value['topCandidates']);
  const content = read.list(value['chosenCandidates']).flatMap((chosen, index): readonly TokenLogprob[] => {
    const place = top[index];
    const others = isJsonObject(place) ? read.list(place['candidates']).flatMap(readToken) : [];
    return readToken(chosen).map((token) => ({ ...token, top_logprobs: others }));
  });
  return content.length > 0 ? { content } : undefined;
}

function readToken(value: unknown): readonly Omit<TokenLogprob, 'top_logprobs'>[] {
  if (!isJsonObject(value)) return [];
  const { token, logProbability: logprob } = value;
  if (typeof token !== 'string' || typeof logprob !== 'number') return [];
  return [{ token, logprob, bytes: [...new TextEncoder().encode(token)] }];
}

type Counts = Readonly<Record<string, number>>;
type Names = Readonly<Record<string, string>>;

/** Our names of the modalities in a prompt; text is what is left. */
const PROMPT_NAMES: Names = {
  AUDIO: 'audio_tokens',
  VIDEO: 'video_tokens',
  IMAGE: 'image_tokens',
  DOCUMENT: 'file_tokens',
};
/** Our names of the modalities in an answer. */
const ANSWER_NAMES: Names = { AUDIO: 'audio_tokens', IMAGE: 'image_tokens' };

/**
 * Reads `usageMetadata`, or undefined when it holds no counts. Thoughts are not among Google's candidate tokens but
 * among our completion tokens; what a tool of Google's own put into the prompt is part of ours.
 *
 * @param searches - Queries that Google's own search answered.
 */
function decodeUsage(value: unknown, searches: number): ReportedUsage | undefined {
  if (!isJsonObject(value)) return undefined;
  const prompt = read.count(value['promptTokenCount']);
  const answer = read.count(value['candidatesTokenCount']);
  const thoughts = read.count(value['thoughtsTokenCount']);
  if (prompt === undefined && answer === undefined && thoughts === undefined) return undefined;
  const promptTokens = (prompt ?? 0) + (read.count(value['toolUsePromptTokenCount']) ?? 0);
  const completionTokens = (answer ?? 0) + (thoughts ?? 0);
  const promptDetails = promptParts(value, promptTokens);
  const completionDetails = {
    ...(thoughts === undefined ? {} : { reasoning_tokens: thoughts }),
    ...named(byModality(value['candidatesTokensDetails']), ANSWER_NAMES),
  };
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    ...(Object.keys(promptDetails).length > 0 ? { prompt_tokens_details: promptDetails } : {}),
    ...(Object.keys(completionDetails).length > 0 ? { completion_tokens_details: completionDetails } : {}),
    ...(searches > 0 ? { server_tool_use: { web_search_requests: searches } } : {}),
  };
}

/** Every token of the prompt counts in one part only, so cached sound is cached and not sound. */
function promptParts(usage: JsonObject, promptTokens: number): Counts {
  const cached = read.count(usage['cachedContentTokenCount']);
  const fromCache = byModality(usage['cacheTokensDetails']);
  const modalities = byModality(usage['promptTokensDetails']);
  for (const [modality, tokens] of byModality(usage['toolUsePromptTokensDetails'])) {
    modalities.set(modality, (modalities.get(modality) ?? 0) + tokens);
  }
  for (const [modality, tokens] of fromCache) {
    const all = modalities.get(modality);
    if (all !== undefined) modalities.set(modality, Math.max(0, all - tokens));
  }
  return {
    ...(cached === undefined ? {} : { cached_tokens: Math.min(cached, promptTokens) }),
    ...named(modalities, PROMPT_NAMES),
  };
}

function named(modalities: ReadonlyMap<string, number>, names: Names): Counts {
  const counts: Record<string, number> = {};
  for (const [modality, tokens] of modalities) {
    const name = Object.hasOwn(names, modality) ? names[modality] : undefined;
    if (name !== undefined) counts[name] = tokens;
  }
  return counts;
}

function byModality(details: unknown): Map<string, number> {
  const tokens = new Map<string, number>();
  for (const detail of read.list(details)) {
    if (!isJsonObject(detail) || typeof detail['modality'] !== 'string') continue;
    const { modality } = detail;
    tokens.set(modality, (tokens.get(modality) ?? 0) + (read.count(detail['tokenCount']) ?? 0));
  }
  return tokens;
}
