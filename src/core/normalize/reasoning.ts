import type { ChatRequest } from '../../protocol/chat-request.ts';
import type { ReasoningRequest } from './normalized-request.ts';

/** Brings the spellings of reasoning options to one value, or undefined when the request says nothing of it. */
export function normalizeReasoning(request: ChatRequest): ReasoningRequest | undefined {
  const { reasoning, reasoning_effort: short, include_reasoning: include } = request;
  if (reasoning == null && short == null && include == null) return undefined;
  const maxTokens = reasoning?.max_tokens ?? undefined;
  const asked = reasoning?.effort ?? short ?? undefined;
  return {
    effort: asked ?? effortOfSwitch(reasoning?.enabled, maxTokens),
    maxTokens,
    exclude: reasoning?.exclude ?? include === false,
    summary: reasoning?.summary ?? undefined,
    context: reasoning?.context ?? undefined,
    mode: reasoning?.mode ?? undefined,
  };
}

/** `enabled: true` alone means medium effort, `enabled: false` none. */
function effortOfSwitch(
  enabled: boolean | null | undefined,
  maxTokens: number | undefined,
): ReasoningRequest['effort'] {
  if (enabled === false) return 'none';
  return enabled === true && maxTokens === undefined ? 'medium' : undefined;
}
