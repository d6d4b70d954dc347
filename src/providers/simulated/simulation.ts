/** Runs the calls of a simulated provider; loaded on first use. */
import { ResultCollector } from '../../core/stream/collect.ts';
import type { JsonValue } from '../../protocol/json.ts';
import type { Environment } from '../../platform/environment.ts';
import { type EmbeddingCall, type ProviderCall, failedReply } from '../../contracts/provider.ts';
import { Chance, hashText } from './chance.ts';
import type { SimulatedOptions } from './options.ts';
import { type Outcome, OutcomeSequence } from './outcomes.ts';
import { AnswerPace, type PacedPieces, PacedStream, speedFactor } from './pace.ts';
import { messageTokens, Responder } from './responder.ts';
import type { EmbeddingItem } from '../../protocol/embedding.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import { likelyTokens } from '../../core/tokens/token-estimate.ts';
import type { NormalizedRequest, NormalizedEmbeddingRequest } from '../../contracts/request.ts';
import type { VendorQuirks } from '../openai-compatible/vendor-quirks.ts';
import { OPENAI } from '../accepts/openai.ts';
import { encodeRequest, endpointRules } from '../openai-compatible/encode-request.ts';
import type { EmbeddingReply, ProviderReply } from '../../contracts/provider-reply.ts';
import { type AttemptFailure, failure } from '../../contracts/failure.ts';
import type { UpstreamEmbeddings, UpstreamResult } from '../../contracts/stream-piece.ts';

/** How a simulated provider takes its time and its chances. */
interface Pacing {
  readonly seed: number;
  /** Milliseconds. */
  readonly firstTokenMs: number;
  readonly tokensPerSecond: number;
  readonly environment: Environment;
}

/** The calls of a simulated provider; loaded by the first of them, since only demonstrations and tests make any. */
export class Simulation {
  readonly #pacing: Pacing;
  readonly #outcomes: OutcomeSequence;
  readonly #responder: Responder;
  readonly #jitter: Chance;
  readonly #running = new Set<AnswerPace>();

  constructor({ failures = [], failureRate = 0, answer }: SimulatedOptions, pacing: Pacing) {
    this.#pacing = pacing;
    this.#outcomes = new OutcomeSequence(failures, failureRate, pacing.seed);
    this.#responder = new Responder(pacing.seed, answer);
    this.#jitter = new Chance(pacing.seed).fork('pace');
  }

  #paceOf({ endpoint, signal }: Pick<ProviderCall, 'endpoint' | 'signal'>): AnswerPace {
    const { environment, firstTokenMs, tokensPerSecond } = this.#pacing;
    const factor = speedFactor(endpoint);
    const speed = { firstTokenMs: firstTokenMs / factor, tokensPerSecond: tokensPerSecond * factor };
    return new AnswerPace(environment, speed, this.#jitter, signal);
  }

  /** Lets a call begin; gives the pace it keeps and how it is let go. */
  #begin(call: Pick<ProviderCall, 'endpoint' | 'signal'>): { pace: AnswerPace; release: () => void } {
    const pace = this.#paceOf(call);
    const release = (): void => {
      this.#running.delete(pace);
      pace.stop(CALL_OVER);
    };
    this.#running.add(pace);
    return { pace, release };
  }

  async embed({ request, endpoint, signal, progress }: EmbeddingCall): Promise<EmbeddingReply> {
    const outcome = this.#outcomes.next();
    const { pace, release } = this.#begin({ endpoint, signal });
    try {
      progress.sending(() => ({ model: endpoint.upstreamModel, input: request.inputs as JsonValue }));
      const stopped = await pace.wait(outcome.type === 'hang' ? undefined : pace.firstTokenMs());
      if (stopped !== undefined) return failedReply(stopped);
      if (outcome.type === 'failed' || outcome.type === 'broken') return failedReply(outcome.failure);
      const embedded = embedInputs(request, endpoint, this.#pacing.seed);
      return embedded.ok ? { type: 'embedded', result: embedded.result } : failedReply(embedded.failure);
    } finally {
      release();
    }
  }

  async chat(call: ProviderCall): Promise<ProviderReply> {
    const { request, endpoint, progress } = call;
    const outcome = this.#outcomes.next();
    const { pace, release } = this.#begin(call);
    let reply: ProviderReply | undefined;
    try {
      progress.sending(() => upstreamBody(request, endpoint));
      reply = await this.#answer(call, outcome, pace, release);
      return reply;
    } finally {
      if (reply?.type !== 'stream') release();
    }
  }

  async #answer(
    { request, endpoint }: ProviderCall,
    outcome: Outcome,
    pace: AnswerPace,
    release: () => void,
  ): Promise<ProviderReply> {
    if (outcome.type === 'hang') return failedReply((await pace.wait()) ?? CALL_OVER);
    const firstMs = pace.firstTokenMs();
    if (outcome.type === 'failed') return failedReply((await pace.wait(firstMs)) ?? outcome.failure);
    const response = this.#responder.respond(request, endpoint);
    if (!response.ok) return failedReply((await pace.wait(firstMs)) ?? response.failure);
    const pieces = outcome.type === 'broken' ? broken(response.pieces, outcome) : response.pieces;
    const startMs = firstMs + pace.tokensMs(response.hiddenTokens);
    const restMs = request.stream ? 0 : pace.tokensMs(pieces.tokens.length - 1);
    const stopped = await pace.wait(startMs + restMs);
    if (stopped !== undefined) return failedReply(stopped);
    if (request.stream) return { type: 'stream', stream: new PacedStream(pieces, pace, release) };
    return outcome.type === 'broken' ? failedReply(outcome.failure) : { type: 'whole', result: resultOf(pieces) };
  }

  /** Ends the calls under way. */
  close(): void {
    for (const pace of this.#running) pace.stop(CLOSED);
  }
}

const CALL_OVER = failure('aborted', 'The call is over');
const CLOSED = failure('connection', 'The simulated provider was closed');

/** What is left of a stream that ends early: some tokens, then the failure. */
function broken(
  { opening, tokens }: PacedPieces,
  { afterTokens, failure: reason }: Extract<Outcome, { type: 'broken' }>,
): PacedPieces {
  return { opening, tokens: tokens.slice(0, afterTokens), closing: [{ type: 'failure', failure: reason }] };
}

/** A non-streaming response is the stream, put together. */
function resultOf({ opening, tokens, closing }: PacedPieces): UpstreamResult {
  const collector = new ResultCollector();
  for (const piece of [...opening, ...tokens, ...closing]) collector.add(piece);
  return collector.result();
}

/** Places of a vector that one feature touches: enough that different features hardly ever fall together. */
const PLACES_PER_FEATURE = 8;
/** Words longer than this count by their beginning; nobody writes such words. */
const LONGEST_WORD = 64;

/**
 * Makes a vector of length 1 for an input. The same seed, model and input give the same vector, and inputs that share
 * words, or pieces of words, are closer to each other than inputs that do not.
 */
function vectorFor(input: EmbeddingItem, dimensions: number, seed: string): Float32Array {
  const vector = new Float64Array(dimensions);
  for (const [feature, weight] of featuresOf(input)) {
    let state = hashText(`${seed}\n${feature}`);
    for (let place = 0; place < PLACES_PER_FEATURE; place += 1) {
      state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
      const at = (state >>> 1) % dimensions;
      vector[at] = (vector[at] ?? 0) + (state % 2 === 0 ? weight : -weight);
    }
  }
  const length = Math.sqrt(vector.reduce((sum, number) => sum + number * number, 0));
  // Features that cancel each other out leave nothing to scale.
  if (length === 0) vector[hashText(seed) % dimensions] = 1;
  return Float32Array.from(vector, (number) => (length === 0 ? number : number / length));
}

/** What counts in an input, and how much: whole words most, their pieces less. */
function featuresOf(input: EmbeddingItem): ReadonlyMap<string, number> {
  const features = new Map<string, number>();
  const add = (feature: string, weight: number): void => {
    features.set(feature, (features.get(feature) ?? 0) + weight);
  };
  if (typeof input === 'string') addText(input, add);
  else if ('content' in input) {
    for (const part of input.content) {
      if (part.type === 'text') addText(part.text, add);
      else add(JSON.stringify(part), 1);
    }
  } else for (const token of input) add(`token ${token}`, 1);
  return features;
}

function addText(text: string, add: (feature: string, weight: number) => void): void {
  const words = text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [text];
  for (const word of words) {
    const bounded = ` ${word.slice(0, LONGEST_WORD)} `;
    add(bounded, 1);
    for (let at = 0; at + 3 <= bounded.length; at += 1) add(bounded.slice(at, at + 3), 0.3);
  }
}

/** Length of vectors when the request names none, and the greatest it may name. */
const SIMULATED_DIMENSIONS = 256;
const MAX_SIMULATED_DIMENSIONS = 4_096;
/** Tokens in all inputs of a request: more would keep the process from everything else for too long. */
const MAX_TOKENS = 300_000;

/** Vectors that are ready to be handed out, or the reason why there are none. */
type Embedded =
  | { readonly ok: true; readonly result: UpstreamEmbeddings }
  | { readonly ok: false; readonly failure: AttemptFailure };

/** Embeds the inputs of a request on behalf of an endpoint, and refuses what real servers refuse too. */
function embedInputs(request: NormalizedEmbeddingRequest, endpoint: Endpoint, seed: number): Embedded {
  const { inputs, dimensions = SIMULATED_DIMENSIONS } = request;
  if (dimensions > MAX_SIMULATED_DIMENSIONS) {
    const message = `The simulated provider makes vectors of at most ${MAX_SIMULATED_DIMENSIONS} numbers`;
    return { ok: false, failure: failure('invalid_request', message, { status: 400 }) };
  }
  const limit = endpoint.contextLength ?? Infinity;
  const counts = inputs.map(tokensOf);
  const tokens = counts.reduce((sum, count) => sum + count, 0);
  const tooLong = counts.find((count) => count > limit);
  if (tooLong !== undefined || tokens > MAX_TOKENS) {
    const message =
      tooLong === undefined
        ? `The inputs have ${tokens} tokens, but one request may have ${MAX_TOKENS}`
        : `An input has ${tooLong} tokens, but this model has a context of ${limit}`;
    return { ok: false, failure: failure('context_length', message, { status: 400 }) };
  }
  const space = `${seed} ${endpoint.model}`;
  return {
    ok: true,
    result: {
      vectors: inputs.map((input) => vectorFor(input, dimensions, space)),
      usage: { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens },
    },
  };
}

function tokensOf(input: EmbeddingItem): number {
  if (typeof input === 'string') return likelyTokens(input);
  return 'content' in input ? messageTokens({ role: 'user', content: input.content }) : input.length;
}

/** A server that understands everything. */
const QUIRKS: VendorQuirks = {
  maxTokensField: 'max_completion_tokens',
  developerRole: true,
  reasoning: 'reasoning',
  reasoningHistory: 'reasoning_details',
  cacheMarks: 'cache_control',
  promptCacheFields: true,
  serviceTiers: ['default', 'flex', 'priority', 'scale'],
};

const VARIANT = { quirks: QUIRKS, acceptsOf: () => OPENAI.all };

/** The body that a real provider of the chat completions wire would have got. */
function upstreamBody(request: NormalizedRequest, endpoint: Endpoint): JsonValue {
  return JSON.parse(JSON.stringify(encodeRequest(request, endpoint, endpointRules(endpoint, VARIANT)))) as JsonValue;
}
