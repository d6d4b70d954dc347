import type { Choice, FinishReason, Logprobs } from '../../protocol/chat-result.ts';
import type { Delta, Usage } from '../../protocol/chunk.ts';
import type { JsonValue } from '../../protocol/json.ts';
import type { AttemptFailure } from '../fallback/failure.ts';
import type { ReasoningDetail } from '../../protocol/reasoning.ts';
import type { UpstreamResult } from './upstream-result.ts';

/**
 * What a provider's stream consists of, in one form for all wires. Everything behind the codecs works on pieces.
 *
 * A bare string is the text of a plain content delta of choice 0, still escaped as it stood between the quotes of a
 * JSON string. It is by far the commonest piece, and passing the escaped text on saves a parse and a stringify.
 */
export type StreamPiece =
  | string
  | DeltaPiece
  | FinishPiece
  | UsagePiece
  | FactsPiece
  | FailurePiece
  | NativePiece
  | EndPiece;

/** Something was added to a choice. */
export interface DeltaPiece {
  readonly type: 'delta';
  readonly index: number;
  readonly delta: Delta;
  readonly logprobs?: Logprobs | undefined;
}

/** A choice ended. */
export interface FinishPiece {
  readonly type: 'finish';
  readonly index: number;
  readonly reason: FinishReason;
  readonly native: string | null;
  /**
   * True where it came in one event with content. Some servers say so with every event, so more content may follow, and
   * a stream that breaks here was cut off. Default false: the choice is over.
   */
  readonly besideContent?: boolean | undefined;
}

/** Token counts so far. A later report adds to what is known and never takes a count back. */
export interface UsagePiece {
  readonly type: 'usage';
  readonly usage: ReportedUsage;
}

/** Facts about the answer as a whole; later ones add to earlier ones. */
export interface FactsPiece {
  readonly type: 'facts';
  readonly systemFingerprint?: string | undefined;
  readonly serviceTier?: string | undefined;
  /** The provider's id of the answer, for support requests. */
  readonly upstreamId?: string | undefined;
  /** What the provider says about the refusal that the answer is. */
  readonly refusal?: Refusal | undefined;
}

/** What a provider says about a model's refusal to answer. */
export interface Refusal {
  /** Its word for the reason. */
  readonly category?: string | undefined;
  /** What makes the same request cheaper at another of its models. Never logged. */
  readonly creditToken?: string | undefined;
}

/** The provider reports an error inside the stream, or the stream broke a rule of its wire. */
export interface FailurePiece {
  readonly type: 'failure';
  readonly failure: AttemptFailure;
}

/**
 * One event of a dialect in the provider's own words, for a caller who speaks that dialect too. Comes before the pieces
 * that say the same; failures have none, because their words are ours.
 */
export interface NativePiece {
  readonly type: 'native';
  /** Name of the event. */
  readonly event: string;
  /** JSON text of the event. */
  readonly data: string;
}

/** The wire's own end mark: nothing follows. */
export interface EndPiece {
  readonly type: 'end';
}

/** Usage as a provider reported it, before it is priced. */
export interface ReportedUsage extends Omit<Usage, 'cost' | 'is_byok' | 'cost_details' | 'estimated'> {
  /** US dollars that the provider itself says it charges. */
  readonly reportedCost?: number | undefined;
  /** The provider's own split of that cost. */
  readonly reportedCostDetails?: JsonValue | undefined;
}

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

/** Turns a non-streaming response into the pieces of a short stream, for callers who asked for one. */
export function scatter(result: UpstreamResult): readonly StreamPiece[] {
  const { systemFingerprint, serviceTier, upstreamId, refusal, usage } = result;
  return [
    { type: 'facts', systemFingerprint, serviceTier, upstreamId, refusal },
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
