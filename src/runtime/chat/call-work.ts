/** How much an endpoint computes for a call, so that its times are compared with those of calls of the same length. */
import type { RoutedRequest } from '../../contracts/request.ts';
import { PER_ANSWER_TOKEN, roughPromptTokens } from '../../core/selection/adaptive/expected-cost.ts';
import { ANSWER_TOKENS } from '../../core/selection/adaptive/rank-adaptive.ts';
import type { Measurement } from '../../core/selection/performance.ts';
import type { AnswerFacts, AttemptedCall, CallWork } from './attempt-call.ts';
import type { RuntimeServices } from './services.ts';
import type { RunningCall } from '../endpoints/endpoint-load.ts';
import type { Attempt } from '../../core/fallback/attempt.ts';
import type { Usage } from '../../protocol/usage.ts';

/** What an answer shows of its endpoint. Embeddings generate nothing: their speed is that of reading. */
export function measurementOf(
  attempt: Attempt,
  answer: Pick<AttemptedCall, 'call' | 'startedAt' | 'firstTokenAt' | 'result' | 'work'>,
  { operation, needs }: RoutedRequest,
  facts: AnswerFacts | undefined,
): Measurement {
  const tokens = operation === 'chat' ? facts?.usage.completion_tokens : facts?.usage.prompt_tokens;
  const streamed = answer.result === undefined;
  const seconds = (attempt.endedAt - (streamed ? answer.firstTokenAt : answer.startedAt)) / 1_000;
  return {
    latencyMs: answer.firstTokenAt - answer.startedAt,
    inOnePiece: !streamed,
    tokensPerSecond: tokens !== undefined && seconds > 0 ? tokens / seconds : undefined,
    computedTokens: answer.work && facts && computedTokens(answer.work, needs, facts.usage),
    toolCalls: facts?.toolCalls,
    schema: answer.call.schema,
  };
}

/**
 * Tokens that an endpoint likely has to compute until a call has its answer, and those that it is spared: of the prompt,
 * what it has in no cache, and where the answer comes in one piece that too.
 */
export function expectedWork(
  { usualTokens }: RuntimeServices,
  request: RoutedRequest,
  warmth = 0,
): Pick<RunningCall, 'tokens' | 'spared'> {
  const { needs, stream, operation, account, targets } = request;
  const prompt = roughPromptTokens(needs);
  const spared = prompt * warmth;
  if (stream || operation !== 'chat') return { tokens: prompt - spared, spared };
  const { usualAnswerTokens = ANSWER_TOKENS } = usualTokens.of(account.id, targets[0]?.model);
  const answer = PER_ANSWER_TOKEN * Math.min(usualAnswerTokens, needs.outputTokens ?? Infinity);
  return { tokens: prompt - spared + answer, spared };
}

/** The same, once it is known. Prompts are still counted as roughly as before, so that both can be compared. */
function computedTokens(
  { kind, tokens, work }: CallWork,
  needs: RoutedRequest['needs'],
  { prompt_tokens: prompt, completion_tokens: answer, prompt_tokens_details: details }: Usage,
): number {
  const cached = prompt > 0 ? Math.min(1, (details?.cached_tokens ?? 0) / prompt) : 0;
  return work - tokens + roughPromptTokens(needs) * (1 - cached) + (kind === 'streaming' ? 0 : PER_ANSWER_TOKEN * answer);
}
