import { failure } from '../../core/fallback/failure.ts';
import { type StreamPiece, escapeText } from '../../core/stream/pieces.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { isError } from '../error-shape.ts';
import { type ErrorContext, failureInBand } from '../upstream-failure.ts';
import { type CandidateContext, CandidateReader } from './candidate-reader.ts';
import { decodeGrounding, searchesOf } from './decode-grounding.ts';
import { decodeLogprobs } from './decode-logprobs.ts';
import { decodeUsage } from './decode-usage.ts';
import { mapFinishReason } from './finish-reasons.ts';

/** What an answer is read with. */
export interface AnswerContext extends CandidateContext, ErrorContext {}

/** Candidates beyond this are no answer to any request we send. */
const MAX_CANDIDATES = 128;

/** Google's name of the tier that everybody else calls `default`. */
const STANDARD = 'standard';

/**
 * Reads `GenerateContentResponse` objects: the events of one stream, or the only one of a whole answer. Both mean the
 * same, so both are read by this.
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
    const candidates = Array.isArray(response['candidates']) ? response['candidates'].filter(isJsonObject) : [];
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
      const problem = failure('bad_response', 'The provider sent a candidate with an impossible index');
      pieces.push({ type: 'failure', failure: problem });
      return;
    }
    const reader = this.#reader(index);
    const deltas = reader.read(candidate['content']);
    const logprobs = decodeLogprobs(candidate['logprobsResult']);
    for (const [position, delta] of deltas.entries()) {
      const scores = position === deltas.length - 1 ? logprobs : undefined;
      const plain = delta.content != null && Object.keys(delta).length === 1 && index === 0 && scores === undefined;
      if (plain) pieces.push(escapeText(delta.content ?? ''));
      else pieces.push({ type: 'delta', index, delta, logprobs: scores });
    }
    if (deltas.length === 0 && logprobs !== undefined) pieces.push({ type: 'delta', index, delta: {}, logprobs });
    this.#cite(index, reader, candidate['groundingMetadata'], pieces);
    this.#finish(index, reader, candidate, pieces);
  }

  #cite(index: number, reader: CandidateReader, metadata: unknown, pieces: StreamPiece[]): void {
    const annotations = decodeGrounding(metadata, reader.text, reader.partStart).filter((citation) => {
      const key = `${index} ${JSON.stringify(citation)}`;
      return this.#citations.has(key) ? false : this.#citations.add(key);
    });
    if (annotations.length > 0) pieces.push({ type: 'delta', index, delta: { annotations } });
  }

  #finish(index: number, reader: CandidateReader, candidate: JsonObject, pieces: StreamPiece[]): void {
    const native = candidate['finishReason'];
    if (typeof native !== 'string' || native === '') return;
    const reason = mapFinishReason(native, reader.said);
    if (reason !== 'error') {
      pieces.push({ type: 'finish', index, reason, native });
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
    const upstreamId = typeof responseId === 'string' && responseId !== '' ? responseId : undefined;
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
