import type { Choice } from '../../protocol/chat-result.ts';
import type { Delta } from '../../protocol/chunk.ts';
import type { StreamPiece } from './pieces.ts';
import type { UpstreamResult } from './upstream-result.ts';

/** Turns a whole answer into the pieces of a short stream, for callers who asked for one. */
export function scatter(result: UpstreamResult): readonly StreamPiece[] {
  const { systemFingerprint, serviceTier, upstreamId, usage } = result;
  return [
    { type: 'facts', systemFingerprint, serviceTier, upstreamId },
    ...result.choices.flatMap(scatterChoice),
    ...(usage === undefined ? [] : [{ type: 'usage', usage } as const]),
    { type: 'end' },
  ];
}

function scatterChoice({
  index,
  message,
  finish_reason: reason,
  native_finish_reason: native,
  logprobs,
}: Choice): StreamPiece[] {
  const { content, reasoning, refusal } = message;
  const delta: Delta = {
    ...(reasoning ? { reasoning } : {}),
    ...(message.reasoning_details ? { reasoning_details: message.reasoning_details } : {}),
    ...(content ? { content } : {}),
    ...(refusal ? { refusal } : {}),
    ...(message.tool_calls ? { tool_calls: message.tool_calls } : {}),
    ...(message.images ? { images: message.images } : {}),
    ...(message.audio ? { audio: message.audio } : {}),
    ...(message.annotations ? { annotations: message.annotations } : {}),
  };
  return [
    { type: 'delta', index, delta, logprobs: logprobs ?? undefined },
    { type: 'finish', index, reason: reason ?? 'stop', native },
  ];
}
