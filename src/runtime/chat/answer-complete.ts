import type { Endpoint } from '../../catalog/endpoint.ts';
import { namedTier } from '../../catalog/price-at.ts';
import type { CompleteAnswer } from '../../formats/api-format.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import { judgeToolCalls } from '../../core/selection/tool-validity.ts';
import { withoutReasoning } from '../../core/stream/pieces.ts';
import type { ChatResult, Choice } from '../../protocol/chat-result.ts';
import { announceAnswer, announceRequest } from '../events/announce.ts';
import { CALLER_GONE, errorOfUnknown } from './router-errors.ts';
import type { RuntimeServices } from './services.ts';
import { settleError, settleResult } from './settle.ts';
import type { MaybePromise } from '../../platform/wait.ts';
import type { UpstreamResult } from '../../contracts/stream-piece.ts';
import type { Usage } from '../../protocol/usage.ts';
import type { Answer, Execution, SettledAnswer } from './answer.ts';

/** Runs a request to its non-streaming response. */
export function answerComplete(services: RuntimeServices, execution: Execution): Promise<CompleteAnswer> {
  if (services.events.isHeard) announceRequest(services, execution);
  const failed = (error: unknown): never => {
    settleError(services, execution, execution.signal.aborted ? CALLER_GONE : errorOfUnknown(error), 'nothing');
    throw error;
  };
  // Not by `await`, which makes one more promise for each request.
  return execution.run().then((answer) => {
    try {
      const finished = finish(services, execution, answer);
      return finished instanceof Promise ? finished.catch(failed) : finished;
    } catch (error) {
      return failed(error);
    }
  }, failed);
}

function finish(services: RuntimeServices, execution: Execution, answer: Answer): MaybePromise<CompleteAnswer> {
  const { request } = execution;
  const { result: given } = answer;
  if (given === undefined) throw new RangeError('a whole request has a whole result');
  const [first] = given.choices;
  const calls = first?.message.tool_calls;
  const { attempt, facts } = answer.settle({
    finishReason: first?.finish_reason ?? null,
    nativeFinishReason: first?.native_finish_reason ?? undefined,
    toolCalls: calls && judgeToolCalls(calls, request.tools),
  });
  const finished = { attempt, facts, result: chatResultOf(request, answer.endpoint, given, facts.usage) };
  const { native } = given;
  if (answer.polish === undefined) return { result: conclude(services, execution, answer, finished), native };
  return answer.polish(finished.result).then((result) => {
    // Plugins may have asked others meanwhile.
    const { usage, costParts } = answer.bill();
    const polished = { attempt, facts: { ...facts, usage, costParts }, result: { ...result, usage } };
    return { result: conclude(services, execution, answer, polished), native };
  });
}

/** An answer whose last attempt has been settled. */
interface Finished extends SettledAnswer {
  readonly result: ChatResult;
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
    service_tier: result.serviceTier == null ? null : namedTier(result.serviceTier),
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
  if (services.events.isHeard) announceAnswer(services, execution.request, () => result.choices);
  const cache = settleResult(services, execution, answer, facts);
  if (!execution.request.wantsMetadata) return result;
  const metadata = execution.metadata('answered', attempt.endedAt - attempt.startedAt);
  return { ...result, router_metadata: cache === undefined ? metadata : { ...metadata, cache } };
}

function unreasoned(choice: Choice): Choice {
  return { ...choice, message: { ...withoutReasoning(choice.message), reasoning: null } };
}
