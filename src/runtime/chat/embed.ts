/** Plans and answers requests for embeddings. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import { flawOfVectors } from '../../core/stream/upstream-result.ts';
import type { RoutePlan } from '../../core/selection/route-plan.ts';
import { misbehaviour } from './adapter-faults.ts';
import { CallWatch, INTERRUPTED } from './call-watch.ts';
import { withCountedUsage } from '../../core/stream/usage.ts';
import { settleUsage, type Settlement, type Reported, billingOf } from '../../core/stream/billing.ts';
import type { EmbeddingResult, EmbeddingUsage } from '../../protocol/embedding.ts';
import { encodeFloat32 } from '../../protocol/float32-base64.ts';
import { announceRequest } from '../events/announce.ts';
import { AttemptLoop } from './attempt-loop.ts';
import { CALLER_GONE, errorOfUnknown } from './router-errors.ts';
import type { RuntimeServices } from './services.ts';
import { announceResult, settleError } from './settle.ts';
import type { CallProgress } from '../../contracts/provider.ts';
import type { AttemptCall, AttemptedCall, CallResult, Dialing } from './attempt-call.ts';
import type { EmbeddingReply } from '../../contracts/provider-reply.ts';
import { type AttemptFailure, FAILURE_RULES } from '../../contracts/failure.ts';
import type { NormalizedEmbeddingRequest } from '../../contracts/request.ts';
import type { ReportedUsage, UpstreamEmbeddings } from '../../contracts/stream-piece.ts';
import type { Usage } from '../../protocol/usage.ts';
import type { Answer } from './answer.ts';
import { planOn, worldOf } from './plan.ts';

/** One request for embeddings from its plan to the call that answers it. */
class EmbeddingExecution extends AttemptLoop<NormalizedEmbeddingRequest, EmbeddingUpstreamCall, UpstreamEmbeddings> {
  protected override dial(dialing: Dialing<NormalizedEmbeddingRequest>): EmbeddingUpstreamCall {
    return new EmbeddingUpstreamCall(dialing);
  }

  override bill({ endpoint, result }: AttemptedCall<EmbeddingUpstreamCall, UpstreamEmbeddings>): Settlement {
    return settleUsage(endpoint, result?.usage, {
      ...billingOf(this.request, undefined),
      promptTokens: this.request.likelyTokens,
      completionTokens: 0,
    });
  }
}

/** Plans a request for embeddings on the world as it is now. */
export async function planEmbeddings(
  services: RuntimeServices,
  request: NormalizedEmbeddingRequest,
): Promise<RoutePlan> {
  const news = services.cooldowns?.refresh();
  if (news !== undefined) await news;
  return planOn(services, request, worldOf(services));
}

/** Runs a planned request for embeddings to its answer, by the same attempts and accounting as a chat request. */
export async function runEmbeddings(
  services: RuntimeServices,
  request: NormalizedEmbeddingRequest,
  plan: RoutePlan,
  signal: AbortSignal,
): Promise<EmbeddingResult> {
  const execution = new EmbeddingExecution(services, { request, plan, signal });
  if (services.events.isHeard) announceRequest(services, execution);
  try {
    const answer = await execution.next();
    if (answer.result === undefined) throw new RangeError('embeddings come whole');
    return finish(services, execution, answer, answer.result);
  } catch (error) {
    settleError(services, execution, signal.aborted ? CALLER_GONE : errorOfUnknown(error), 'nothing');
    throw error;
  }
}

function finish(
  services: RuntimeServices,
  execution: EmbeddingExecution,
  answer: Answer<EmbeddingUpstreamCall, UpstreamEmbeddings>,
  result: UpstreamEmbeddings,
): EmbeddingResult {
  const { request } = execution;
  const { attempt, facts } = answer.settle({ finishReason: null });
  announceResult(services, execution, answer, { facts });
  const whole = embeddingResultOf(request, answer.endpoint, result, facts.usage);
  return request.wantsMetadata
    ? { ...whole, router_metadata: execution.metadata('answered', attempt.endedAt - attempt.startedAt) }
    : whole;
}

/** A provider's vectors as the caller sees them (gaps 10). */
export function embeddingResultOf(
  request: NormalizedEmbeddingRequest,
  endpoint: Endpoint,
  result: UpstreamEmbeddings,
  usage: Usage,
): EmbeddingResult {
  const inBase64 = request.encodingFormat === 'base64';
  return {
    id: request.id,
    object: 'list',
    model: endpoint.model,
    provider: endpoint.providerName,
    data: result.vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: inBase64 ? encodeFloat32(vector) : numbersOf(vector),
    })),
    usage: withoutCompletion(usage),
  };
}

function numbersOf(vector: UpstreamEmbeddings['vectors'][number]): readonly number[] {
  return vector instanceof Float32Array ? Array.from(vector) : vector;
}

function withoutCompletion(usage: Usage): EmbeddingUsage {
  const { completion_tokens: _, completion_tokens_details: __, ...rest } = usage;
  return rest;
}

/** One call of one endpoint for embeddings. It is complete or it has failed: there is no stream of vectors. */
class EmbeddingUpstreamCall implements AttemptCall<UpstreamEmbeddings> {
  readonly #options: Dialing<NormalizedEmbeddingRequest>;
  readonly #watch: CallWatch;
  #usage: ReportedUsage | undefined;
  address: (() => string) | undefined;

  constructor(options: Dialing<NormalizedEmbeddingRequest>) {
    this.#options = options;
    this.#watch = new CallWatch(options);
  }

  /** Usage of an answer, also of one that is no good: the provider charges for it. */
  get reported(): Reported {
    return { usage: this.#usage };
  }

  open(onResult: (result: CallResult<UpstreamEmbeddings>) => void): void {
    this.#awaitAnswer();
    this.#watch.whenThere(
      () => this.#ask(),
      (reply) => onResult(this.#receive(reply)),
      (thrown) => onResult(this.#failed(misbehaviour(thrown))),
    );
  }

  giveUp(reason: AttemptFailure): void {
    this.#watch.interrupt(reason);
  }

  close(): void {
    this.#watch.end();
  }

  async #ask(): Promise<EmbeddingReply | undefined> {
    const { provider, request, endpoint, apiKey, traceContext, timeouts, onSending, onLimits } = this.#options;
    const progress: CallProgress = {
      connecting: () => this.#watch.enter('connect', timeouts.connectMs),
      connected: () => this.#awaitAnswer(),
      sending: onSending,
      limits: onLimits,
      calling: (address) => {
        this.address = address;
      },
    };
    return provider.embed?.({ request, endpoint, apiKey, traceContext, signal: this.#watch.signal, progress });
  }

  /** Adapters come from anybody: what they gave may break when it is looked at. */
  #receive(reply: unknown): CallResult<UpstreamEmbeddings> {
    try {
      return this.#resultOf(reply);
    } catch (thrown) {
      return this.#failed(misbehaviour(thrown));
    }
  }

  #resultOf(reply: unknown): CallResult<UpstreamEmbeddings> {
    if (reply === INTERRUPTED) return this.#failed(this.#watch.reason);
    if (!isReply(reply)) return this.#failed(misbehaviour(new TypeError(NO_REPLY)));
    if (reply.type === 'failed') return this.#failed(reply.failure);
    const result = withCountedUsage(reply.result);
    this.#usage = result.usage;
    const flaw = flawOfVectors(result, this.#options.request);
    if (flaw !== undefined) return this.#failed(flaw);
    this.close();
    return { type: 'whole', result };
  }

  #failed(reason: AttemptFailure): CallResult<UpstreamEmbeddings> {
    this.close();
    this.#watch.abort();
    return { type: 'failed', failure: reason };
  }

  #awaitAnswer(): void {
    this.#watch.enter('answer', this.#options.timeouts.answerMs);
  }
}

/** What an adapter should have done, for whoever writes it. */
const NO_REPLY = 'embed must give a reply of the type "embedded" or "failed"';

/** Adapters come from anybody. */
function isReply(value: unknown): value is EmbeddingReply {
  const reply = value as
    | { type?: unknown; failure?: { kind?: unknown }; result?: { vectors?: unknown } }
    | null
    | undefined;
  if (reply?.type === 'failed') return Object.hasOwn(FAILURE_RULES, String(reply.failure?.kind));
  return reply?.type === 'embedded' && Array.isArray(reply.result?.vectors);
}
