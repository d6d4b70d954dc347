/** Reads, makes and changes the pieces that every stream consists of. */
import type { Choice, FinishReason } from '../../protocol/chat-result.ts';
import type { Delta } from '../../protocol/chunk.ts';
import type { ReasoningDetail } from '../../protocol/reasoning.ts';
import type { StreamPiece, UpstreamResult } from '../../contracts/stream-piece.ts';

/** Words that some servers write where nothing has ended. */
const NO_END: ReadonlySet<string> = new Set(['null', 'none', 'undefined']);

/** The provider's word for the end of a choice; undefined where it has not ended. */
export function endWord(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const word = value.trim();
  return word === '' || NO_END.has(word.toLowerCase()) ? undefined : value;
}

/**
 * How a choice really ended: some servers say `stop` although the model called tools, and others `tool_calls` although it
 * called none, for which clients would wait without end.
 */
export function endReason(reason: FinishReason, called: boolean): FinishReason {
  if (called) return reason === 'stop' ? 'tool_calls' : reason;
  return reason === 'tool_calls' ? 'stop' : reason;
}

/** True for a piece that shows the caller something. Once one is passed on, no other provider may take over. */
export function commits(piece: StreamPiece): boolean {
  if (typeof piece === 'string') return piece.length > 0;
  if (piece.type === 'finish') return piece.reason !== 'error';
  return piece.type === 'delta' && hasContent(piece.delta);
}

function hasContent(delta: Delta): boolean {
  return (
    Boolean(delta.content) ||
    Boolean(delta.reasoning) ||
    Boolean(delta.refusal) ||
    Boolean(delta.tool_calls?.length) ||
    Boolean(delta.reasoning_details?.length) ||
    Boolean(delta.images?.length) ||
    Boolean(delta.annotations?.length) ||
    Boolean(delta.audio?.data) ||
    Boolean(delta.audio?.transcript)
  );
}

/** The text of a plain content delta, from its escaped form. */
export function unescapeText(escaped: string): string {
  return escaped.includes('\\') ? (JSON.parse(`"${escaped}"`) as string) : escaped;
}

/** The escaped form of a plain content delta. */
export function escapeText(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

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

/** Turns a non-streaming response into the pieces of a short stream, for callers who requested one. */
export function piecesOf(result: UpstreamResult): readonly StreamPiece[] {
  const { systemFingerprint, serviceTier, upstreamId, cacheMiss, refusal, usage } = result;
  return [
    { type: 'facts', systemFingerprint, serviceTier, upstreamId, cacheMiss, refusal },
    ...result.choices.flatMap(piecesOfChoice),
    ...(usage === undefined ? [] : [{ type: 'usage', usage } as const]),
    { type: 'end' },
  ];
}

function piecesOfChoice({
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
