import { withinBudget } from '../runtime/limits/within-budget.ts';
import { ANONYMOUS } from '../contracts/account.ts';
import { normalizeEmbeddingRequest } from '../core/normalize/normalize-embedding.ts';
import type { RoutePlan } from '../core/selection/route-plan.ts';
import {
  embeddingItems,
  type EmbeddingRequest,
  type EmbeddingResult,
  parseEmbeddingRequest,
} from '../protocol/embedding.ts';
import type { CallOptions, OpenOptions } from './router.ts';
import type { ItemOptions, PreparedCall } from '../runtime/batches/item-calls.ts';
import { runEmbeddings, planEmbeddings } from '../runtime/chat/embed.ts';
import { errorOfFault } from '../runtime/chat/router-errors.ts';
import type { RuntimeServices } from '../runtime/chat/services.ts';
import { clientSignal, refusePrivateAddresses, requestContext } from './incoming.ts';
import type { NormalizedEmbeddingRequest } from '../contracts/request.ts';
import { firstProvider } from '../runtime/chat/plan.ts';

/**
 * The way of a request for embeddings: that of a chat request, without what belongs to chats. It is settled by
 * {@link runEmbeddings}.
 */
export class EmbeddingService {
  readonly #services: RuntimeServices;

  constructor(services: RuntimeServices) {
    this.#services = services;
  }

  /** Answers a request from outside. */
  async embed(body: unknown, options: CallOptions = {}): Promise<EmbeddingResult> {
    const { signal } = clientSignal(options.signal);
    const { request, plan } = await this.#begin(body, options);
    return runEmbeddings(this.#services, request, plan, signal);
  }

  /** The way of a request from outside, up to where it runs. */
  async #begin(body: unknown, options: CallOptions): Promise<{ request: NormalizedEmbeddingRequest; plan: RoutePlan }> {
    const { account = ANONYMOUS, signal } = options;
    let normalized: NormalizedEmbeddingRequest | undefined;
    const begin = async (): Promise<{ request: NormalizedEmbeddingRequest; plan: RoutePlan }> => {
      normalized = await this.#normalize(this.#parse(body), options);
      const request = await this.#services.rates.admit(normalized);
      return { request, plan: await planEmbeddings(this.#services, request) };
    };
    const refused = () => ({ operation: 'embeddings', account, body, request: normalized }) as const;
    const { ledger, facts } = this.#services;
    return ledger === undefined ? begin() : ledger.noting(facts, signal, begin, refused);
  }

  /** Reads a request of a batch, which is admitted when it runs. */
  async prepareItem(
    body: unknown,
    options: ItemOptions,
  ): Promise<PreparedCall<NormalizedEmbeddingRequest, EmbeddingResult>> {
    const request = await this.#normalize(this.#parse(body), { ...options, batch: true });
    return {
      request,
      plugins: [],
      plan: async () => {
        const plan = await planEmbeddings(this.#services, request);
        return {
          provider: firstProvider(this.#services, plan),
          answer: async (signal) => {
            const admitted = await this.#services.rates.admit(request);
            return runEmbeddings(this.#services, admitted, plan, signal);
          },
        };
      },
    };
  }

  #parse(body: unknown): EmbeddingRequest {
    const parsed = parseEmbeddingRequest(body, this.#services.limits);
    if (!parsed.ok) throw errorOfFault(parsed.fault);
    return parsed.value;
  }

  async #normalize(parsed: EmbeddingRequest, options: OpenOptions): Promise<NormalizedEmbeddingRequest> {
    if (embeddingItems(parsed.input).some((item) => typeof item === 'object' && 'content' in item)) {
      await refusePrivateAddresses(parsed);
    }
    const context = await requestContext(this.#services, { request: parsed }, options);
    const normalized = normalizeEmbeddingRequest(parsed, context, this.#services.facts);
    if (!normalized.ok) throw errorOfFault(normalized.fault);
    return withinBudget(this.#services, normalized.value);
  }
}
