import type { FinishReason } from '../../protocol/chat-result.ts';
import type { Provider } from '../../contracts/provider.ts';

/** What a model says in a scripted answer, in the words of no wire. */
export interface ScriptedAnswer {
  /** Pieces of text; a stream sends each as an event of its own. */
  readonly text?: readonly string[] | undefined;
  /** Pieces of reasoning, which come before the text. */
  readonly reasoning?: readonly string[] | undefined;
  /** Tool calls, which come after the text. Arguments are JSON in pieces; none at all for a call without arguments. */
  readonly toolCalls?: readonly ScriptedToolCall[] | undefined;
  readonly usage?: ScriptedUsage | undefined;
  /** Default `stop`, or `tool_calls` when there are some. */
  readonly finish?: Exclude<FinishReason, 'error'> | undefined;
}

/** A tool call in a {@link ScriptedAnswer}. */
export interface ScriptedToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: readonly string[];
}

/** Token counts in a {@link ScriptedAnswer}. Cached tokens are part of the prompt. */
export interface ScriptedUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens?: number | undefined;
}

/** What the upstream does with every call from now on. */
export type ScriptedExchange =
  /** Gives an answer, well-formed and complete. */
  | {
      readonly type: 'answer';
      readonly form: 'whole' | 'stream';
      readonly answer: ScriptedAnswer;
      /** Sends the body in two parts, cut at this byte. Only asked of an upstream with the ability `bytes`. */
      readonly cutAt?: number | undefined;
    }
  /** Answers with an error status and, as its wire has it, a body with this message. */
  | {
      readonly type: 'error';
      readonly status: number;
      readonly message: string;
      readonly headers?: Readonly<Record<string, string>> | undefined;
    }
  /** Streams everything of the answer but its end, usage and finish included; then ends, ends early, or falls silent. */
  | { readonly type: 'unfinished'; readonly answer: ScriptedAnswer; readonly ending: 'end' | 'cut' | 'hang' }
  /** Streams the same, then an error as its wire has it inside streams, and ends. */
  | { readonly type: 'stream error'; readonly answer: ScriptedAnswer; readonly message: string }
  /**
   * Answers calls for embeddings with `scriptedVector` of each input, in the length that is asked for. Only asked of an
   * upstream with the ability `embeddings`; one without `bytes` may answer with vectors of its own.
   */
  | {
      readonly type: 'embeddings';
      /** Counted for each input, where the wire counts. */
      readonly tokensPerInput: number;
    }
  /** Takes the request and never answers. */
  | { readonly type: 'silence' }
  /** Sends this body, whatever it is. Only asked of an upstream with the ability `bytes`. */
  | { readonly type: 'body'; readonly status: number; readonly contentType: string; readonly body: string };

/**
 * What a provider can do beside text. Checks of other things are left out.
 *
 * - `bytes`: its upstream speaks HTTP, so bodies can be cut and made nonsense of, and requests can be looked at.
 * - `cancellation`: an abort reaches its upstream.
 * - `embeddings`: it has `embed`, and a model that makes embeddings.
 */
export type ProviderAbility = 'reasoning' | 'tools' | 'usage' | 'bytes' | 'cancellation' | 'embeddings';

/** A provider under check, and its upstream. */
export interface ProviderHarness {
  readonly provider: Provider;
  /** The provider's own key, if it has one; it must not show up in anything the provider says. */
  readonly apiKey?: string | undefined;
  readonly abilities: ReadonlySet<ProviderAbility>;
  /** Makes the upstream do this with every call from now on, and forget the calls before. */
  play(exchange: ScriptedExchange): void;
  /** Calls that the upstream took since {@link ProviderHarness.play}: with `bytes`, head and body of each as text. */
  readonly calls: readonly string[];
  /** Bytes of bodies that the upstream sent since {@link ProviderHarness.play}. Only asked with `bytes`. */
  readonly sentBytes: number;
  /** Calls that the upstream is still busy with: neither answered to the end nor closed by the provider. */
  readonly underWay: number;
}
