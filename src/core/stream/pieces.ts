/** Reads, makes, judges and changes the pieces that every stream consists of. */
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
 *
 * @param calls - How many tools it called.
 */
export function endReason(reason: FinishReason, calls: number): FinishReason {
  if (calls > 0) return reason === 'stop' ? 'tool_calls' : reason;
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

/** What a piece is for somebody who may pass a refusal over: content, part of a refusal, or the end of one. */
export type RefusalRole = 'content' | 'refusal' | 'refused';

/**
 * Judges a piece that shows the caller something. An answer is a refusal when nothing was said but why there is none: a
 * content filter kept it back, or the model explained itself (gaps 4.2).
 *
 * @param before - What the pieces before it were.
 */
export function refusalRole(piece: StreamPiece, before: 'nothing' | 'refusal'): RefusalRole {
  if (typeof piece === 'string') return 'content';
  if (piece.type === 'finish') return before === 'refusal' || piece.reason === 'content_filter' ? 'refused' : 'content';
  const refuses = piece.type === 'delta' && piece.delta.refusal;
  return refuses && !commits({ ...piece, delta: { ...piece.delta, refusal: null } }) ? 'refusal' : 'content';
}

/** Whether a non-streaming response is a refusal in every choice, and nothing else. */
export function isRefusal({ choices }: UpstreamResult): boolean {
  // What nearly every answer has ends the question, before pieces are made of it.
  const first = choices[0]?.message;
  if (first?.content || first?.tool_calls?.length) return false;
  return choices.every((choice) => {
    if (choice.message.content || choice.message.tool_calls?.length) return false;
    const shown = piecesOf({ choices: [choice] }).filter(commits);
    const before = choice.message.refusal ? 'refusal' : 'nothing';
    return shown.every((piece) => refusalRole(piece, before) !== 'content');
  });
}
