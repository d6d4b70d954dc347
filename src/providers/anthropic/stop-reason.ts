import type { FinishReason } from '../../protocol/chat-result.ts';

const KNOWN: Readonly<Record<string, FinishReason>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  // The provider's own tools want to go on; none of ours are waited for.
  pause_turn: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
};

/** The finish reason for a stop reason; an unknown one counts as a normal end. */
export function mapStopReason(native: string): FinishReason {
  return Object.hasOwn(KNOWN, native) ? (KNOWN[native] ?? 'stop') : 'stop';
}
