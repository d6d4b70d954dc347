/** Runs single requests of batches on the ordinary path. */
import * as read from '../../platform/json.ts';
import type { ApiFormatName } from '../../protocol/api-format.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { Account, RoutingPolicy } from '../../contracts/account.ts';
import { checkItemRules, checkOtherModels, checkParticipants } from '../../core/batch/item-rules.ts';
import type { CompleteAnswer, ApiFormat } from '../../formats/api-format.ts';
import { MESSAGES } from '../../formats/messages/messages.ts';
import { RESPONSES } from '../../formats/responses/responses.ts';
import type { NormalizedRequest, NormalizedEmbeddingRequest } from '../../contracts/request.ts';
import type { ActivePlugin } from '../../core/pipeline/choose-plugins.ts';
import { pathOfPlugin } from '../../core/pipeline/locate-tool.ts';
import { RouterError } from '../../protocol/router-error.ts';
import type { BatchEndpoint } from '../../protocol/batch.ts';
import type { ChatRequest } from '../../protocol/chat-request.ts';
import type { ChatResult } from '../../protocol/chat-result.ts';
import type { EmbeddingResult } from '../../protocol/embedding.ts';
import { faultAt } from '../../protocol/fault.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/json.ts';
import type { Environment } from '../../platform/environment.ts';
import { errorOfFault } from '../chat/router-errors.ts';
import type { BatchPreferences, BatchRecord } from '../../contracts/batch-record.ts';
import type { Usage } from '../../protocol/usage.ts';

/** A request of a batch, in the form in which the router works with it. */
export type BatchedRequest = NormalizedRequest | NormalizedEmbeddingRequest;

/** What a request of a batch comes with. */
export interface ItemOptions {
  readonly account: Account;
  readonly apiFormat?: ApiFormatName | undefined;
  /** Rules of the batch, which hold besides those of the account. */
  readonly policies?: readonly RoutingPolicy[] | undefined;
}

/** A request that the router has understood. */
export interface PreparedCall<Request, Answer> {
  readonly request: Request;
  /** Plugins that take part in it. */
  readonly plugins: readonly ActivePlugin[];
  /** Plans it. Whoever answers it after that keeps to the plan. */
  readonly plan: () => Promise<PlannedCall<Answer>>;
}

/** A request that has a plan. */
interface PlannedCall<Answer> {
  /** Slug of the provider that is called first; empty when there is none. */
  readonly provider: string;
  /** @throws {@link RouterError} when nobody could answer; the signal's reason when aborted. */
  readonly answer: (signal: AbortSignal) => Promise<Answer>;
}

/** The ordinary ways of a router that requests of batches go too. */
export interface OrdinaryCalls {
  /** @throws {@link RouterError} when the body is bad. */
  prepareChat(body: unknown, options: ItemOptions): Promise<PreparedCall<NormalizedRequest, CompleteAnswer>>;
  /** @throws {@link RouterError} when the body is bad. */
  prepareEmbeddings(
    body: unknown,
    options: ItemOptions,
  ): Promise<PreparedCall<NormalizedEmbeddingRequest, EmbeddingResult>>;
  /** Endpoints to which a request may go now, in their order: for batches that a provider is given as a whole. */
  route(request: BatchedRequest): readonly Endpoint[];
}

/** An answer to a request of a batch, in the format of the batch's endpoint. */
interface ItemAnswer {
  readonly statusCode: number;
  readonly requestId: string;
  readonly body: JsonValue;
  readonly usage?: Usage | undefined;
}

/** A request that was understood. */
interface PreparedItem {
  readonly request: BatchedRequest;
  /** The body that answers are written for. */
  readonly body: JsonObject;
  /** True when nothing but providers takes part in it. */
  readonly plain: boolean;
  /** Plans it, once: its place and its run share the plan. */
  readonly plan: () => Promise<PlannedItem>;
}

/** A request that has a plan. */
interface PlannedItem {
  /** Slug of the provider that is called first; empty when there is none. */
  readonly provider: string;
  /**
   * Runs it by the ordinary path.
   *
   * @throws {@link RouterError} when nobody could answer; the signal's reason when aborted.
   */
  readonly run: (signal: AbortSignal) => Promise<ItemAnswer>;
}

/** API format of the bodies of an endpoint. */
const API_FORMAT_OF: Readonly<Partial<Record<BatchEndpoint, ApiFormat>>> = {
  '/v1/messages': MESSAGES,
  '/v1/responses': RESPONSES,
};

const NEUTRAL = { metadataField: 'router_metadata', processing: '' } as const;

/** Reads, runs and answers requests of batches, by the rules of their endpoints. */
export class ItemCalls {
  readonly #calls: OrdinaryCalls;
  readonly #environment: Environment;

  constructor(calls: OrdinaryCalls, environment: Environment) {
    this.#calls = calls;
    this.#environment = environment;
  }

  /**
   * Checks a body by its endpoint's own rules and those of batches.
   *
   * @param text - JSON text of the body.
   * @throws {@link RouterError} that names the path in the body.
   */
  async prepare(batch: BatchRecord, text: string, account: Account): Promise<PreparedItem> {
    const { endpoint, model, preferences } = batch;
    const given: unknown = JSON.parse(text);
    if (!isJsonObject(given)) throw errorOfFault(faultAt('', 'must be a JSON object'));
    const requested = synchronousModel(model);
    const fault = checkItemRules(endpoint, given) ?? checkOtherModels(given, [requested, model, `${requested}:batch`]);
    if (fault !== undefined) throw errorOfFault(fault);
    const { models: _, fallbacks: __, ...single } = given;
    const body = withFallbacks({ ...single, model: requested }, preferences);
    const only = preferences?.only;
    const policies = only === undefined ? undefined : [{ only }];
    if (endpoint === '/v1/embeddings') {
      const { request, plan } = await this.#calls.prepareEmbeddings(body, { account, policies });
      const planItem = async (): Promise<PlannedItem> => {
        const { provider, answer } = await plan();
        return { provider, run: async (signal) => this.embeddingAnswer(await answer(signal)) };
      };
      return { request, body, plain: true, plan: planItem };
    }
    const { request, plugins, plan } = await this.#calls.prepareChat(body, {
      account,
      policies,
      apiFormat: API_FORMAT_OF[endpoint]?.name,
    });
    const unfit = checkParticipants(plugins, request, (id) => pathOfPlugin(body as unknown as ChatRequest, id));
    if (unfit !== undefined) throw errorOfFault(unfit);
    const planItem = async (): Promise<PlannedItem> => {
      const { provider, answer } = await plan();
      return { provider, run: (signal) => this.#runChat(endpoint, body, request, () => answer(signal)) };
    };
    return { request, body, plain: plugins.length === 0, plan: planItem };
  }

  /** Endpoints to which a request may go now, in their order. */
  route(request: BatchedRequest): readonly Endpoint[] {
    return this.#calls.route(request);
  }

  /** Writes an answer in the format of an endpoint. */
  chatAnswer(endpoint: BatchEndpoint, body: JsonObject, answer: CompleteAnswer): ItemAnswer {
    const { result } = answer;
    const apiFormat = API_FORMAT_OF[endpoint];
    const shown = apiFormat === undefined ? result : apiFormat.complete(answer, this.#context(body, result));
    return this.#answer(shown as unknown as JsonValue, result.usage);
  }

  /** Writes an answer of embeddings. */
  embeddingAnswer(result: EmbeddingResult): ItemAnswer {
    const { usage } = result;
    return this.#answer(result as unknown as JsonValue, usage && { completion_tokens: 0, ...usage });
  }

  async #runChat(
    endpoint: BatchEndpoint,
    body: JsonObject,
    request: NormalizedRequest,
    answer: () => Promise<CompleteAnswer>,
  ): Promise<ItemAnswer> {
    try {
      return this.chatAnswer(endpoint, body, await answer());
    } catch (error) {
      const absorbed = RouterError.isInstance(error) ? this.#absorb(endpoint, body, error, request) : undefined;
      if (absorbed === undefined) throw error;
      return absorbed;
    }
  }

  /** Some shapes tell some errors as answers. */
  #absorb(
    endpoint: BatchEndpoint,
    body: JsonObject,
    error: RouterError,
    { id, created }: BatchedRequest,
  ): ItemAnswer | undefined {
    const apiFormat = API_FORMAT_OF[endpoint];
    if (apiFormat === undefined) return undefined;
    const { status } = error;
    const complete = apiFormat.absorb?.({ status, detail: error.toDetail() }, this.#context(body, { id, created }));
    return complete && this.#answer(complete, undefined);
  }

  #answer(body: JsonValue, usage: Usage | undefined): ItemAnswer {
    return { statusCode: 200, requestId: `req_${this.#environment.randomText(24)}`, body, usage };
  }

  #context(body: JsonObject, { id, created }: Pick<ChatResult, 'id' | 'created'>) {
    return {
      body,
      generationId: id,
      created,
      randomText: (length: number) => this.#environment.randomText(length),
      spelling: NEUTRAL,
    };
  }
}

/** A model's name for requests that are run one by one: `:batch` only names a price. */
function synchronousModel(model: string): string {
  return model.endsWith(':batch') ? model.slice(0, -':batch'.length) : model;
}

/** A request of a batch falls back only where both of them allow it. */
function withFallbacks(body: JsonObject, preferences: BatchPreferences | undefined): JsonObject {
  if (preferences?.allowFallbacks === undefined) return body;
  const own = read.object(body['provider']);
  return {
    ...body,
    provider: { ...own, allow_fallbacks: preferences.allowFallbacks && own['allow_fallbacks'] !== false },
  };
}
