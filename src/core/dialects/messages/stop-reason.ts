import type { FinishReason } from '../../../protocol/chat-result.ts';
import type { StopReason } from '../../../protocol/messages/messages-result.ts';

/** For each reason of the chat form, this wire's word for it, and the more exact words that a provider may have used. */
const WORDS: Readonly<Record<FinishReason, readonly [StopReason, ...StopReason[]]>> = {
  stop: ['end_turn', 'stop_sequence', 'pause_turn'],
  length: ['max_tokens', 'model_context_window_exceeded'],
  tool_calls: ['tool_use', 'pause_turn'],
  content_filter: ['refusal'],
  error: ['end_turn'],
};

/** Why an answer ended. A refusal that stands in the answer counts as one, whatever reason was given with it. */
export function stopReason(finish: FinishReason | null, native: string | null, refused: boolean): StopReason | null {
  if (finish === null) return refused ? 'refusal' : null;
  if (refused && finish === 'stop') return 'refusal';
  const [usual, ...others] = WORDS[finish];
  return others.find((word) => word === native) ?? usual;
}
