/** Tool calls of simulated endpoints, some of which are broken. */
import type { ResultToolCall } from '../../protocol/chat-result.ts';
import type { StreamPiece } from '../../contracts/stream-piece.ts';

/** Name of the function that simulated requests with tools offer. */
export const SIMULATED_TOOL = 'look_up';

/** The answer to a request with tools. */
export interface TrafficToolCall {
  readonly isBroken: boolean;
  readonly call: ResultToolCall;
  readonly piece: StreamPiece;
}

/** Calls the function of simulated requests; a broken call ends within its arguments. */
export function toolCall({ isBroken }: { readonly isBroken: boolean }): TrafficToolCall {
  const text = isBroken ? '{"text": "simul' : '{"text": "simulated"}';
  const call = {
    id: 'call_1',
    index: 0,
    type: 'function' as const,
    function: { name: SIMULATED_TOOL, arguments: text },
  };
  return { isBroken, call, piece: { type: 'delta', index: 0, delta: { tool_calls: [call] } } };
}
