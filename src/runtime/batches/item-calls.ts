import type { DialectName } from '../../protocol/dialect.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { Account } from '../../core/account.ts';
import type { BatchPreferences, BatchRecord } from '../../core/batch/batch-record.ts';
import { checkItemRules, checkOtherModels } from '../../core/batch/item-rules.ts';
import type { WholeAnswer } from '../../core/dialects/dialect.ts';
import type { Dialect } from '../../core/dialects/dialect.ts';
import { MESSAGES } from '../../core/dialects/messages/messages.ts';
import { RESPONSES } from '../../core/dialects/responses/responses.ts';
import type { NormalizedEmbeddingRequest } from '../../core/normalize/normalize-embedding.ts';
import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import { RouterError } from '../../protocol/router-error.ts';
import type { BatchEndpoint } from '../../protocol/batch.ts';
import type { ChatResult } from '../../protocol/chat-result.ts';
import type { EmbeddingResult } from '../../protocol/embedding-result.ts';
import { faultAt } from '../../protocol/fault.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/json.ts';
import type { Usage } from '../../protocol/chunk.ts';
import type { Environment } from '../../platform/environment.ts';
import { errorOfFault } from '../chat/router-errors.ts';
import type { ItemOutcome } from '../../contracts/batch-store.ts';
import { type BatchPorts, tellProgress } from './ports.ts';
import { nextTurn } from '../../platform/wait.ts';
import * as read from '../../platform/json.ts';

/** A request of a batch, in the form in which the router works with it. */
export type BatchedRequest = NormalizedRequest | NormalizedEmbeddingRequest;

/** What a request of a batch comes with. */
export interface ItemOptions {
  readonly account: Account;
  readonly dialect?: DialectName | undefined;
}

/** A request that the router has understood. */
export interface PreparedCall<Request, Answer> {
  readonly request: Request;
  /** True when nothing but providers takes part in it: no plugins, no tools of the router. */
  readonly plain: boolean;
  /** Plans it. Whoever answers it after that keeps to the plan. */
  readonly plan: () => Promise<PlannedCall<Answer>>;
}

/** A request that has a plan. */
interface PlannedCall<Answer> {
  /** Slug of the provider that is asked first; empty when there is none. */
  readonly provider: string;
  /** @throws {@link RouterError} when nobody could answer; the signal's reason when aborted. */
  readonly answer: (signal: AbortSignal) => Promise<Answer>;
}

/** The ordinary ways of a router that requests of batches go too. */
export interface OrdinaryCalls {
  /** @throws {@link RouterError} when the body is bad. */
  prepareChat(body: unknown, options: ItemOptions): Promise<PreparedCall<NormalizedRequest, WholeAnswer>>;
  /** @throws {@link RouterError} when the body is bad. */
  prepareEmbeddings(
    body: unknown,
    options: ItemOptions,
  ): Promise<PreparedCall<NormalizedEmbeddingRequest, EmbeddingResult>>;
  /** Endpoints to which a request may go now, in their order: for batches that a provider is given as a whole. */
  route(request: BatchedRequest): readonly Endpoint[];
}

/** An answer to a request of a batch, in the shape of the batch's endpoint. */
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
  /** Slug of the provider that is asked first; empty when there is none. */
  readonly provider: string;
  /**
   * Runs it by the ordinary path.
   *
   * @throws {@link RouterError} when nobody could answer; the signal's reason when aborted.
   */
  readonly run: (signal: AbortSignal) => Promise<ItemAnswer>;
}

/** Dialect of the bodies of an endpoint. */
const DIALECT_OF: Readonly<Partial<Record<BatchEndpoint, Dialect>>> = {
  '/v1/messages': MESSAGES,
  '/v1/responses': RESPONSES,
};

const NEUTRAL = { metadataField: 'router_metadata', processing: '' } as const;

/** Reads, runs and answers requests of batches, by the rules of their endpoints. */
export class ItemCalls {
  readonly #calls: OrdinaryCalls;
  readonly #environment: Environment;
  readonly #throughTools: () => ReadonlySet<string>;

  /** @param throughTools - Ids of the plugins whose work server tools do. */
  constructor(calls: OrdinaryCalls, environment: Environment, throughTools: () => ReadonlySet<string>) {
    this.#calls = calls;
    this.#throughTools = throughTools;
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
    const asked = synchronousModel(model);
    const fault =
      checkItemRules(endpoint, given, this.#throughTools()) ??
      checkOtherModels(given, [asked, model, `${asked}:batch`]);
    if (fault !== undefined) throw errorOfFault(fault);
    const { models: _, fallbacks: __, ...single } = given;
    const body = withPreferences({ ...single, model: asked }, preferences);
    if (endpoint === '/v1/embeddings') {
      const { request, plain, plan } = await this.#calls.prepareEmbeddings(body, { account });
      const planItem = async (): Promise<PlannedItem> => {
        const { provider, answer } = await plan();
        return { provider, run: async (signal) => this.embeddingAnswer(await answer(signal)) };
      };
      return { request, body, plain, plan: planItem };
    }
    const { request, plain, plan } = await this.#calls.prepareChat(body, {
      account,
      dialect: DIALECT_OF[endpoint]?.name,
    });
    const planItem = async (): Promise<PlannedItem> => {
      const { provider, answer } = await plan();
      return { provider, run: (signal) => this.#runChat(endpoint, body, request, () => answer(signal)) };
    };
    return { request, body, plain, plan: planItem };
  }

  /** Endpoints to which a request may go now, in their order. */
  route(request: BatchedRequest): readonly Endpoint[] {
    return this.#calls.route(request);
  }

  /** Writes an answer in the shape of an endpoint. */
  chatAnswer(endpoint: BatchEndpoint, body: JsonObject, answer: WholeAnswer): ItemAnswer {
    const { result } = answer;
    const dialect = DIALECT_OF[endpoint];
    const shown = dialect === undefined ? result : dialect.whole(answer, this.#context(body, result));
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
    answer: () => Promise<WholeAnswer>,
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
    const dialect = DIALECT_OF[endpoint];
    if (dialect === undefined) return undefined;
    const { status } = error;
    const whole = dialect.absorb?.({ status, detail: error.toDetail() }, this.#context(body, { id, created }));
    return whole && this.#answer(whole, undefined);
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

/** The batch's routing over that of the request. Allow-lists of both hold. */
function withPreferences(body: JsonObject, preferences: BatchPreferences | undefined): JsonObject {
  if (preferences === undefined) return body;
  const own = read.object(body['provider']);
  const { only, allowFallbacks } = preferences;
  const provider: JsonObject = {
    ...own,
    ...(only === undefined ? {} : { only: common(own['only'], only) }),
    ...(allowFallbacks === undefined ? {} : { allow_fallbacks: allowFallbacks && own['allow_fallbacks'] !== false }),
  };
  return { ...body, provider };
}

function common(own: JsonValue | undefined, only: readonly string[]): readonly JsonValue[] {
  if (!Array.isArray(own)) return only;
  const both = (own as readonly JsonValue[]).filter((name) => only.some((one) => one === name));
  // An empty list would allow everybody.
  if (both.length === 0)
    throw errorOfFault(faultAt('provider.only', 'has no provider in common with that of the batch'));
  return both;
}

interface Waiting {
  readonly token: string;
  readonly outcome: ItemOutcome;
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/** Turns of the event loop that an outcome waits for others to be stored with: a few milliseconds where many come. */
const TURNS = 12;
/** Turns after which nothing waits any longer where no other comes. */
const QUIET_TURNS = 3;
/** Outcomes that are enough to be stored at once. */
const GROUP = 64;

/**
 * Stores outcomes of one batch, many together, so that a fast batch does not cost one transaction per request: those that
 * come within a few turns of the event loop, and those that come while the store is busy.
 */
export class OutcomeWriter {
  readonly #ports: BatchPorts;
  readonly #batch: BatchRecord;
  readonly #onEnd: () => void;
  #waiting: Waiting[] = [];
  #writing = false;
  #untold = false;
  #telling: Promise<void> | undefined;

  /** @param onEnd - Called when the batch is not in progress any more. */
  constructor(ports: BatchPorts, batch: BatchRecord, onEnd: () => void) {
    this.#ports = ports;
    this.#batch = batch;
    this.#onEnd = onEnd;
  }

  /**
   * Stores an outcome under the token of its claim. One whose lease was lost is dropped quietly: somebody else has the
   * request now. Rejects when the store fails.
   */
  write(token: string, outcome: ItemOutcome): Promise<void> {
    return new Promise((done, failed) => {
      this.#waiting.push({ token, outcome, done, failed });
      if (!this.#writing) void this.#writeAll();
    });
  }

  async #writeAll(): Promise<void> {
    this.#writing = true;
    while (this.#waiting.length > 0) {
      await this.#gather();
      const together = this.#waiting;
      this.#waiting = [];
      for (const token of new Set(together.map((one) => one.token))) {
        const group = together.filter((one) => one.token === token);
        await this.#writeGroup(token, group);
      }
      this.#tell();
    }
    this.#writing = false;
  }

  async #gather(): Promise<void> {
    let [quiet, known] = [0, this.#waiting.length];
    for (let turn = 0; turn < TURNS && quiet < QUIET_TURNS && known < GROUP; turn += 1) {
      await nextTurn();
      quiet = this.#waiting.length > known ? 0 : quiet + 1;
      known = this.#waiting.length;
    }
  }

  async #writeGroup(token: string, group: readonly Waiting[]): Promise<void> {
    const { store, failPoint } = this.#ports;
    const { account, id } = this.#batch;
    try {
      const outcomes = group.map(({ outcome }) => outcome);
      const stored = await store.storeOutcomes(account, id, token, outcomes);
      await failPoint('run.stored');
      // What is not stored belongs to somebody else, or the batch has ended elsewhere: then nothing more is to be sent.
      if (stored.length < outcomes.length && (await store.find(account, id))?.status !== 'in_progress') this.#onEnd();
      for (const { done } of group) done();
    } catch (error) {
      for (const { failed } of group) failed(error);
    }
  }

  /** Tells how far the batch is. Nobody waits for it, and what was stored while the store is asked is told once. */
  #tell(): void {
    if (!this.#ports.events.heard('batch')) return;
    this.#untold = true;
    this.#telling ??= this.#tellAll().finally(() => (this.#telling = undefined));
  }

  async #tellAll(): Promise<void> {
    const { account, id } = this.#batch;
    while (this.#untold) {
      this.#untold = false;
      const record = await this.#ports.store.find(account, id).catch(() => undefined);
      if (record !== undefined) tellProgress(this.#ports, record);
    }
  }

  /** Waits until everything is told. */
  async told(): Promise<void> {
    await this.#telling;
  }
}
