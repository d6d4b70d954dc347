import type { ReasoningDetail } from '../../protocol/reasoning.ts';

/** What carries reasoning in a message or in a delta. */
interface Reasoned {
  readonly reasoning?: string | null;
  readonly reasoning_details?: readonly ReasoningDetail[];
}

/**
 * A message or delta without its reasoning, for callers who want none (`reasoning.exclude`). Calls of server tools
 * stay: they are no reasoning, and the caller needs them to go on with the conversation (gaps 5.11).
 */
export function withoutReasoning<Said extends Reasoned>(
  said: Said,
): Omit<Said, 'reasoning' | 'reasoning_details'> & Reasoned {
  const { reasoning: _, reasoning_details: details = [], ...rest } = said;
  const calls = details.filter((detail) => detail.type === 'reasoning.server_tool_call');
  return calls.length === 0 ? rest : { ...rest, reasoning_details: calls };
}
