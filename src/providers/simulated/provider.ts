import { ResultCollector } from '../../core/stream/collect.ts';
import { failure } from '../../core/fallback/failure.ts';
import type { UpstreamResult } from '../../core/stream/upstream-result.ts';
import type { JsonValue } from '../../protocol/json.ts';
import { systemEnvironment } from '../../runtime/environment.ts';
import type { ModelTable } from '../openai-compatible/options.ts';
import { type EmbeddingCall, type Provider, type ProviderCall } from '../provider.ts';
import { type EmbeddingReply, type ProviderReply, failedReply } from '../provider-reply.ts';
import { Chance } from './chance.ts';
import { embedInputs } from './embedder.ts';
import { SIMULATED_MODELS, type SimulatedModel } from './models.ts';
import { type SimulatedOptions, checkOptions } from './options.ts';
import { type Outcome, Outcomes } from './outcomes.ts';
import { Pace, speedFactor } from './pace.ts';
import { type PacedPieces, PacedStream } from './paced-stream.ts';
import { Responder } from './responder.ts';
import { upstreamBody } from './upstream-body.ts';

/** Ids of the models of a simulated provider: those declared, or the ones it brings. */
export type SimulatedModelIds<Models> = [Models] extends [never] ? SimulatedModel : Extract<keyof Models, string>;

/**
 * A provider that asks nobody: it makes up its answers, takes its time over them, and fails when it is told to. For
 * trying the router without a key, and for tests. The same seed and messages give the same answer, whole or streamed.
 *
 * It follows what the request asks for as far as the endpoint takes it: token limits, stop sequences, tools, JSON
 * answers, reasoning, prompt caches. Every prose answer says once that it is simulated.
 *
 * @example
 * ```ts
 * const flaky = simulated({ slug: 'flaky', failures: ['ok', { kind: 'rate_limited', retryAfterMs: 2_000 }] });
 * const router = createRouter({ providers: [flaky, simulated({ slug: 'steady', firstTokenMs: 0 })] });
 * ```
 * @throws {@link ConfigError} when an option cannot be right.
 */
export function simulated<const Models extends ModelTable = never>(
  options: SimulatedOptions<Models> = {},
): Provider<SimulatedModelIds<Models>> {
  checkOptions(options);
  const { slug = 'simulated', name = 'Simulated', seed = 1, firstTokenMs = 120, tokensPerSecond = 80 } = options;
  const { environment = systemEnvironment() } = options;
  const models: ModelTable = options.models ?? SIMULATED_MODELS;
  const outcomes = new Outcomes(options.failures ?? [], options.failureRate ?? 0, seed);
  const responder = new Responder(seed, options.answer);
  const jitter = new Chance(seed).fork('pace');
  const running = new Set<Pace>();

  function paceOf({ endpoint, signal }: Pick<ProviderCall, 'endpoint' | 'signal'>): Pace {
    const factor = speedFactor(endpoint);
    const speed = { firstTokenMs: firstTokenMs / factor, tokensPerSecond: tokensPerSecond * factor };
    return new Pace(environment, speed, jitter, signal);
  }

  /** Lets a call begin; gives the pace it keeps and how it is let go. */
  function begin(call: Pick<ProviderCall, 'endpoint' | 'signal'>): { pace: Pace; release: () => void } {
    const pace = paceOf(call);
    const release = (): void => {
      running.delete(pace);
      pace.stop(CALL_OVER);
    };
    running.add(pace);
    return { pace, release };
  }

  async function embed({ request, endpoint, signal, progress }: EmbeddingCall): Promise<EmbeddingReply> {
    const outcome = outcomes.next();
    const { pace, release } = begin({ endpoint, signal });
    try {
      progress.sending(() => ({ model: endpoint.upstreamModel, input: request.inputs as JsonValue }));
      const stopped = await pace.wait(outcome.type === 'hang' ? undefined : pace.firstTokenMs());
      if (stopped !== undefined) return failedReply(stopped);
      if (outcome.type === 'failed' || outcome.type === 'broken') return failedReply(outcome.failure);
      const embedded = embedInputs(request, endpoint, seed);
      return embedded.ok ? { type: 'embedded', result: embedded.result } : failedReply(embedded.failure);
    } finally {
      release();
    }
  }

  async function chat(call: ProviderCall): Promise<ProviderReply> {
    const { request, endpoint, progress } = call;
    const outcome = outcomes.next();
    const { pace, release } = begin(call);
    let reply: ProviderReply | undefined;
    try {
      progress.sending(() => upstreamBody(request, endpoint));
      reply = await answer(call, outcome, pace, release);
      return reply;
    } finally {
      if (reply?.type !== 'stream') release();
    }
  }

  async function answer(
    { request, endpoint }: ProviderCall,
    outcome: Outcome,
    pace: Pace,
    release: () => void,
  ): Promise<ProviderReply> {
    if (outcome.type === 'hang') return failedReply((await pace.wait()) ?? CALL_OVER);
    const firstMs = pace.firstTokenMs();
    if (outcome.type === 'failed') return failedReply((await pace.wait(firstMs)) ?? outcome.failure);
    const response = responder.respond(request, endpoint);
    if (!response.ok) return failedReply((await pace.wait(firstMs)) ?? response.failure);
    const pieces = outcome.type === 'broken' ? broken(response.pieces, outcome) : response.pieces;
    const startMs = firstMs + pace.tokensMs(response.hiddenTokens);
    const restMs = request.stream ? 0 : pace.tokensMs(pieces.tokens.length - 1);
    const stopped = await pace.wait(startMs + restMs);
    if (stopped !== undefined) return failedReply(stopped);
    if (request.stream) return { type: 'stream', stream: new PacedStream(pieces, pace, release) };
    return outcome.type === 'broken' ? failedReply(outcome.failure) : { type: 'whole', result: resultOf(pieces) };
  }

  return {
    slug,
    name,
    models,
    dataCollection: options.dataCollection,
    zeroDataRetention: options.zeroDataRetention,
    chat,
    embed,
    close() {
      for (const pace of running) pace.stop(CLOSED);
      return Promise.resolve();
    },
  };
}

const CALL_OVER = failure('aborted', 'The call is over');
const CLOSED = failure('connection', 'The simulated provider was closed');

/** What is left of an answer that breaks off: some tokens, then the failure. */
function broken(
  { opening, tokens }: PacedPieces,
  { afterTokens, failure: reason }: Extract<Outcome, { type: 'broken' }>,
): PacedPieces {
  return { opening, tokens: tokens.slice(0, afterTokens), closing: [{ type: 'failure', failure: reason }] };
}

/** A whole answer is the stream, put together. */
function resultOf({ opening, tokens, closing }: PacedPieces): UpstreamResult {
  const collector = new ResultCollector();
  for (const piece of [...opening, ...tokens, ...closing]) collector.add(piece);
  return collector.result();
}
