import type { FinishReason, Logprobs, Choice } from '../protocol/chat-result.ts';
import type { Delta } from '../protocol/chunk.ts';
import type { JsonValue, JsonObject } from '../protocol/json.ts';
import type { AttemptFailure } from './failure.ts';
import type { Usage } from '../protocol/usage.ts';

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
  /** The provider's word for why the prompt was not in its cache; `unchanged` where it found no difference. */
  readonly cacheMiss?: string | undefined;
  /** What the provider says about the refusal that the answer is. */
  readonly refusal?: ModelRefusal | undefined;
}

/** The provider reports an error inside the stream, or the stream broke a rule of its wire. */
export interface FailurePiece {
  readonly type: 'failure';
  readonly failure: AttemptFailure;
}

/**
 * One event of an API format in the provider's own words, for a caller that uses that API format too. Comes before the
 * pieces that say the same; failures have none, because their words are ours.
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

/** A non-streaming response as a provider gave it, before ids, prices and metadata of ours are added. */
export interface UpstreamResult {
  readonly choices: readonly Choice[];
  readonly usage?: ReportedUsage | undefined;
  readonly systemFingerprint?: string | undefined;
  readonly serviceTier?: string | undefined;
  readonly upstreamId?: string | undefined;
  /** As in {@link FactsPiece}. */
  readonly cacheMiss?: string | undefined;
  /** What the provider says about the refusal that the answer is. */
  readonly refusal?: ModelRefusal | undefined;
  /** What a provider found out about the answer's tool calls; shown as it is (contract: batch result body). */
  readonly findings?:
    | { readonly alignment?: JsonObject; readonly safeguard_results?: readonly JsonValue[] }
    | undefined;
  /** The answer in the words of the API format of the request, where the endpoint supports it. */
  readonly native?: JsonObject | undefined;
}

/** Vectors as a provider gave them, before ids, prices and metadata of ours are added. */
export interface UpstreamEmbeddings {
  /** One for each input, in their order. */
  readonly vectors: readonly (Float32Array | readonly number[])[];
  readonly usage?: ReportedUsage | undefined;
}

/** What a provider says about a model's refusal to answer. */
export interface ModelRefusal {
  /** Its word for the reason. */
  readonly category?: string | undefined;
  /** What makes the same request cheaper at another of its models. Never logged. */
  readonly creditToken?: string | undefined;
}
