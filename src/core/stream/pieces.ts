import type { FinishReason, Logprobs } from '../../protocol/chat-result.ts';
import type { Delta } from '../../protocol/chunk.ts';
import type { JsonValue } from '../../protocol/json.ts';
import type { Usage } from '../../protocol/usage.ts';
import type { AttemptFailure } from '../fallback/failure.ts';

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
}

/** Token counts so far. The last report replaces earlier ones. */
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
