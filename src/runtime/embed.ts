import type { Endpoint } from '../catalog/endpoint.ts';
import type { UpstreamEmbeddings } from '../core/embeddings/upstream-embeddings.ts';
import type { NormalizedEmbeddingRequest } from '../core/normalize/normalized-embedding-request.ts';
import { planRoute } from '../core/selection/plan-route.ts';
import { settleUsage } from '../core/stream/usage.ts';
import type { EmbeddingResult, EmbeddingUsage } from '../protocol/embedding-result.ts';
import { encodeFloat32 } from '../protocol/float32-base64.ts';
import type { Usage } from '../protocol/usage.ts';
import { announceRequest } from './announce.ts';
import { EmbeddingUpstreamCall } from './embedding-call.ts';
import type { AttemptAnswer } from './attempt-call.ts';
import { AttemptLoop, worldOf } from './attempt-loop.ts';
import { CALLER_GONE, errorOfUnknown } from './router-errors.ts';
import type { RuntimeServices } from './services.ts';
import { announceResult, billingOf, settleError } from './settle.ts';

type EmbeddingExecution = AttemptLoop<NormalizedEmbeddingRequest, EmbeddingUpstreamCall, UpstreamEmbeddings>;

/** Runs a request for embeddings to its answer, by the same plan, attempts and accounting as a chat request. */
export async function answerEmbeddings(
  services: RuntimeServices,
  request: NormalizedEmbeddingRequest,
  signal: AbortSignal,
): Promise<EmbeddingResult> {
  const { environment, timeouts } = services;
  const news = services.cooldowns?.refresh();
  if (news !== undefined) await news;
  const plan = planRoute(request, worldOf(services));
  const execution: EmbeddingExecution = new AttemptLoop(services, request, plan, signal, (dialing) => {
    const { provider, endpoint, apiKey, traceContext, deadlineAt, onSending } = dialing;
    const call = { request, endpoint, apiKey, traceContext };
    return new EmbeddingUpstreamCall({ environment, timeouts, deadlineAt, signal, provider, call, onSending });
  });
  announceRequest(services, execution);
  try {
    const answer = await execution.run();
    if (answer.result === undefined) throw new RangeError('embeddings come whole');
    return finish(services, execution, answer, answer.result);
  } catch (error) {
    settleError(services, execution, signal.aborted ? CALLER_GONE : errorOfUnknown(error), false);
    throw error;
  }
}

function finish(
  services: RuntimeServices,
  execution: EmbeddingExecution,
  answer: AttemptAnswer<EmbeddingUpstreamCall, UpstreamEmbeddings>,
  result: UpstreamEmbeddings,
): EmbeddingResult {
  const { request } = execution;
  const { endpoint } = answer;
  const { usage, costParts } = settleUsage(endpoint, result.usage, {
    ...billingOf(request, undefined),
    promptTokens: request.likelyTokens,
    completionTokens: 0,
  });
  const facts = { usage, costParts, finishReason: null };
  const attempt = execution.settle(answer, { facts });
  announceResult(services, execution, answer, facts);
  const whole = embeddingResultOf(request, endpoint, result, usage);
  return request.wantsMetadata
    ? { ...whole, router_metadata: execution.metadata(true, attempt.endedAt - attempt.startedAt) }
    : whole;
}

/** A provider's vectors as the caller sees them (gaps 10). */
export function embeddingResultOf(
  request: NormalizedEmbeddingRequest,
  endpoint: Endpoint,
  result: UpstreamEmbeddings,
  usage: Usage,
): EmbeddingResult {
  const inBase64 = request.encodingFormat === 'base64';
  return {
    id: request.id,
    object: 'list',
    model: endpoint.model,
    provider: endpoint.providerName,
    data: result.vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: inBase64 ? encodeFloat32(vector) : numbersOf(vector),
    })),
    usage: withoutCompletion(usage),
  };
}

function numbersOf(vector: UpstreamEmbeddings['vectors'][number]): readonly number[] {
  return vector instanceof Float32Array ? Array.from(vector) : vector;
}

function withoutCompletion(usage: Usage): EmbeddingUsage {
  const { completion_tokens: _, completion_tokens_details: __, ...rest } = usage;
  return rest;
}
