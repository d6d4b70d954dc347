import type { JsonObject } from '../../../protocol/json.ts';
import type { MessagesRequest } from '../../../protocol/messages/messages-request.ts';

/**
 * `reasoning` of the chat form from `thinking` and `output_config.effort`. Thinking that adapts is as hard as the
 * effort says, which is `high` on this wire when nothing is said. A budget says more than an effort, so it wins.
 */
export function chatReasoning({ thinking, output_config: config }: MessagesRequest): JsonObject {
  const effort = config?.effort ?? undefined;
  switch (thinking?.type) {
    case 'disabled':
      return { reasoning: { effort: 'none' } };
    case 'enabled':
      return { reasoning: { max_tokens: thinking.budget_tokens } };
    case 'adaptive':
      return { reasoning: { effort: effort ?? 'high' } };
    case 'between_tools':
      // The least that a model can do that thinks at all.
      return { reasoning: { effort: effort ?? 'minimal' } };
    case undefined:
      return effort === undefined ? {} : { reasoning: { effort } };
  }
}
