import { namedTier } from '../../catalog/price-at.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { WholeAnswer } from '../../core/dialects/dialect.ts';
import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import { judgeToolCalls } from '../../core/selection/tool-validity.ts';
import { scatter, withoutReasoning } from '../../core/stream/pieces.ts';
import { StreamTracker } from '../../core/stream/stream-tracker.ts';
import type { UpstreamResult } from '../../core/stream/upstream-result.ts';
import type { ChatResult, Choice } from '../../protocol/chat-result.ts';
import type { Usage } from '../../protocol/chunk.ts';
import type { Attempt } from '../../core/fallback/failure.ts';
import type { Settlement } from '../../core/stream/usage.ts';
import { announceRequest } from './events.ts';
import type { Answer, Execution } from './execution.ts';
import { CALLER_GONE, errorOfUnknown } from './router-errors.ts';
import type { RuntimeServices } from './services.ts';
import type { AnswerFacts } from './attempt-call.ts';
import { settleError, settleResult } from './settle.ts';

/** Runs a request to its whole answer. */
export async function answerWhole(services: RuntimeServices, execution: Execution): Promise<WholeAnswer> {
  announceRequest(services, execution);
  try {
    const answer = await execution.run();
    if (answer.result === undefined) throw new RangeError('a whole request has a whole result');
    const finished = settle(execution, answer, answer.result);
    const { native } = answer.result;
    if (execution.polish === undefined) return { result: conclude(services, execution, answer, finished), native };
    const result = await execution.polish(finished.result);
    // Plugins may have asked others meanwhile.
    const { usage, costParts } = billOf(execution, answer, answer.result);
    const facts = { ...finished.facts, usage, costParts };
    return {
      result: conclude(services, execution, answer, { ...finished, facts, result: { ...result, usage } }),
      native,
    };
  } catch (error) {
    settleError(services, execution, execution.signal.aborted ? CALLER_GONE : errorOfUnknown(error), false);
    throw error;
  }
}

/** An answer whose last attempt has been settled. */
interface Finished {
  readonly result: ChatResult;
  readonly attempt: Attempt;
  readonly facts: AnswerFacts;
}

function billOf(execution: Execution, answer: Answer, result: UpstreamResult): Settlement {
  return execution.bill(answer, {
    reported: result.usage,
    likelyTokens: result.usage === undefined ? likelyTokensOf(answer, result) : 0,
    images: result.choices.reduce((count, { message }) => count + (message.images?.length ?? 0), 0),
    serviceTier: result.serviceTier,
  });
}

function settle(execution: Execution, answer: Answer, result: UpstreamResult): Finished {
  const { request } = execution;
  const { endpoint } = answer;
  const { usage, costParts } = billOf(execution, answer, result);
  const facts = {
    usage,
    costParts,
    finishReason: result.choices[0]?.finish_reason ?? null,
    toolCalls: judgeToolCalls(result.choices[0]?.message.tool_calls, request.tools),
  };
  const attempt = execution.settle(answer, { facts });
  return { attempt, facts, result: chatResultOf(request, endpoint, result, facts.usage) };
}

/** A provider's answer as the caller sees it (contract: chat result). */
export function chatResultOf(
  request: NormalizedRequest,
  endpoint: Endpoint,
  result: UpstreamResult,
  usage: Usage,
): ChatResult {
  return {
    id: request.id,
    provider: endpoint.providerName,
    model: endpoint.model,
    object: 'chat.completion',
    created: request.created,
    choices: request.reasoning?.exclude === true ? result.choices.map(unreasoned) : result.choices,
    system_fingerprint: result.systemFingerprint ?? null,
    service_tier: namedTier(result.serviceTier),
    usage,
    ...result.findings,
  };
}

/** Tells everybody that the request was answered. */
function conclude(
  services: RuntimeServices,
  execution: Execution,
  answer: Answer,
  { result, attempt, facts }: Finished,
): ChatResult {
  settleResult(services, execution, answer, facts);
  if (!execution.request.wantsMetadata) return result;
  return { ...result, router_metadata: execution.metadata(true, attempt.endedAt - attempt.startedAt) };
}

function unreasoned(choice: Choice): Choice {
  return { ...choice, message: { ...withoutReasoning(choice.message), reasoning: null } };
}

/** Counts an answer exactly as it would be counted in a stream, so that both cost the same. */
function likelyTokensOf({ call }: Answer, result: UpstreamResult): number {
  if (call.tracker.likelyTokens > 0) return call.tracker.likelyTokens;
  const tracker = new StreamTracker();
  for (const piece of scatter(result)) if (typeof piece !== 'string') tracker.observe(piece);
  return tracker.likelyTokens;
}
