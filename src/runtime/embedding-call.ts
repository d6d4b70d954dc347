import { flawOfVectors } from '../core/embeddings/check-vectors.ts';
import type { UpstreamEmbeddings } from '../core/embeddings/upstream-embeddings.ts';
import type { AttemptFailure } from '../core/fallback/failure.ts';
import { FAILURE_RULES } from '../core/fallback/failure-rules.ts';
import type { ReportedUsage } from '../core/stream/pieces.ts';
import type { CallProgress, EmbeddingCall, Provider } from '../providers/provider.ts';
import type { EmbeddingReply } from '../providers/provider-reply.ts';
import { CallWatch, INTERRUPTED, misbehaviour } from './call-watch.ts';
import type { Environment } from './environment.ts';
import type { AttemptCall, CallResult, Reported } from './attempt-call.ts';
import type { Timeouts } from './timeouts.ts';

/** What one upstream call for embeddings needs. */
export interface EmbeddingUpstreamCallOptions {
  readonly environment: Environment;
  readonly timeouts: Timeouts;
  /** Monotonic milliseconds at which the request's own time is over. */
  readonly deadlineAt: number;
  /** The caller's signal. */
  readonly signal: AbortSignal;
  readonly provider: Provider;
  readonly call: Omit<EmbeddingCall, 'signal' | 'progress'>;
  readonly onSending: CallProgress['sending'];
}

/** One call of one endpoint for embeddings. It is complete or it has failed: there is no stream of vectors. */
export class EmbeddingUpstreamCall implements AttemptCall<UpstreamEmbeddings> {
  readonly #options: EmbeddingUpstreamCallOptions;
  readonly #watch: CallWatch;
  #usage: ReportedUsage | undefined;

  constructor(options: EmbeddingUpstreamCallOptions) {
    this.#options = options;
    this.#watch = new CallWatch(options);
  }

  /** Usage of an answer, also of one that is no good: the provider charges for it. */
  get reported(): Reported {
    return { usage: this.#usage };
  }

  async open(): Promise<CallResult<UpstreamEmbeddings>> {
    this.#watch.begin();
    this.#awaitAnswer();
    try {
      const reply = await this.#watch.waitFor(() => this.#ask());
      return this.#receive(reply);
    } catch {
      return this.#failed(misbehaviour());
    }
  }

  close(): void {
    this.#watch.end();
  }

  async #ask(): Promise<EmbeddingReply | undefined> {
    const { provider, call, timeouts, onSending } = this.#options;
    const progress: CallProgress = {
      connecting: () => this.#watch.deadline.enter('connect', timeouts.connectMs),
      connected: () => this.#awaitAnswer(),
      sending: onSending,
    };
    return provider.embed?.({ ...call, signal: this.#watch.signal, progress });
  }

  #receive(reply: unknown): CallResult<UpstreamEmbeddings> {
    if (reply === INTERRUPTED) return this.#failed(this.#watch.reason);
    if (!isReply(reply)) return this.#failed(misbehaviour());
    if (reply.type === 'failed') return this.#failed(reply.failure);
    this.#usage = reply.result.usage;
    const flaw = flawOfVectors(reply.result, this.#options.call.request);
    if (flaw !== undefined) return this.#failed(flaw);
    this.close();
    return { type: 'whole', result: reply.result };
  }

  #failed(reason: AttemptFailure): CallResult<UpstreamEmbeddings> {
    this.close();
    this.#watch.abort();
    return { type: 'failed', failure: reason };
  }

  #awaitAnswer(): void {
    this.#watch.deadline.enter('answer', this.#options.timeouts.answerMs);
  }
}

/** Adapters come from anybody. */
function isReply(value: unknown): value is EmbeddingReply {
  const reply = value as
    | { type?: unknown; failure?: { kind?: unknown }; result?: { vectors?: unknown } }
    | null
    | undefined;
  if (reply?.type === 'failed') return Object.hasOwn(FAILURE_RULES, String(reply.failure?.kind));
  return reply?.type === 'embedded' && Array.isArray(reply.result?.vectors);
}
