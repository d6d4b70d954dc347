import type { FinishReason } from '../../protocol/chat-result.ts';

const KNOWN: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  eos: 'stop',
  end_turn: 'stop',
  stop_sequence: 'stop',
  complete: 'stop',
  length: 'length',
  max_tokens: 'length',
  model_length: 'length',
  incomplete: 'length',
  model_context_window_exceeded: 'length',
  tool_calls: 'tool_calls',
  tool_use: 'tool_calls',
  function_call: 'tool_calls',
  content_filter: 'content_filter',
  safety: 'content_filter',
  recitation: 'content_filter',
  refusal: 'content_filter',
  error: 'error',
  insufficient_system_resource: 'error',
};

/** One of the five finish reasons for whatever word a provider uses; an unknown word counts as a normal end. */
export function mapFinishReason(native: string): FinishReason {
  const word = native.toLowerCase();
  return Object.hasOwn(KNOWN, word) ? (KNOWN[word] ?? 'stop') : 'stop';
}
