import type { Endpoint } from '../catalog/endpoint.ts';
import type { WholeAnswer } from '../core/dialects/dialect.ts';
import type { NormalizedRequest } from '../core/normalize/normalized-request.ts';
import { judgeToolCalls } from '../core/selection/tool-validity.ts';
import { scatter } from '../core/stream/scatter.ts';
import { StreamTracker } from '../core/stream/stream-tracker.ts';
import type { UpstreamResult } from '../core/stream/upstream-result.ts';
import { settleUsage } from '../core/stream/usage.ts';
import type { ChatResult, Choice } from '../protocol/chat-result.ts';
import type { Usage } from '../protocol/usage.ts';
import type { Answer, ChatExecution } from './chat-execution.ts';
import { errorOfUnknown } from './router-errors.ts';
import type { RuntimeServices } from './services.ts';
import { billingOf, settleError, settleResult } from './settle.ts';

/** Runs a request to its whole answer. */
export async function answerWhole(services: RuntimeServices, execution: ChatExecution): Promise<WholeAnswer> {
  try {
    const answer = await execution.run();
    if (answer.result === undefined) throw new RangeError('a whole request has a whole result');
    return { result: finish(services, execution, answer, answer.result), native: answer.result.native };
  } catch (error) {
    settleError(services, execution, execution.signal.aborted ? CALLER_GONE : errorOfUnknown(error), false);
    throw error;
  }
}

const CALLER_GONE = { status: 499, errorType: 'unmapped' } as const;

function finish(
  services: RuntimeServices,
  execution: ChatExecution,
  answer: Answer,
  result: UpstreamResult,
): ChatResult {
  const { request } = execution;
  const { endpoint } = answer;
  const { usage, costParts } = settleUsage(endpoint, result.usage, {
    ...billingOf(request, result.serviceTier),
    completionTokens: result.usage === undefined ? likelyTokensOf(answer, result) : 0,
    outputImages: result.choices.reduce((count, { message }) => count + (message.images?.length ?? 0), 0),
  });
  const facts = {
    usage,
    costParts,
    finishReason: result.choices[0]?.finish_reason ?? null,
    toolCalls: judgeToolCalls(result.choices[0]?.message.tool_calls, request.tools),
  };
  const attempt = execution.settle(answer, { facts });
  settleResult(services, execution, answer, facts);
  const whole = chatResultOf(request, endpoint, result, usage);
  return request.wantsMetadata
    ? { ...whole, router_metadata: execution.metadata(true, attempt.endedAt - attempt.startedAt) }
    : whole;
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
    choices: request.reasoning?.exclude === true ? result.choices.map(withoutReasoning) : result.choices,
    system_fingerprint: result.systemFingerprint ?? null,
    service_tier: result.serviceTier ?? null,
    usage,
  };
}

function withoutReasoning(choice: Choice): Choice {
  const { reasoning_details: _, ...message } = choice.message;
  return { ...choice, message: { ...message, reasoning: null } };
}

/** Counts an answer exactly as it would be counted in a stream, so that both cost the same. */
function likelyTokensOf({ call }: Answer, result: UpstreamResult): number {
  if (call.tracker.likelyTokens > 0) return call.tracker.likelyTokens;
  const tracker = new StreamTracker();
  for (const piece of scatter(result)) if (typeof piece !== 'string') tracker.observe(piece);
  return tracker.likelyTokens;
}
