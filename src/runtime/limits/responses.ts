/** The response cache of a router. */
import { type CachePolicy, type CacheRule, cacheRule } from '../../core/limits/cache-rule.ts';
import type { KeptAnswer } from '../../core/limits/kept-answer.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import type { ActivePlugin } from '../../core/pipeline/choose-plugins.ts';
import type { ResponseCacheStore, RequestedCache, CacheReport } from '../../contracts/state-store.ts';
import type { Environment } from '../../platform/environment.ts';
import { type EventHub, warn } from '../events/events.ts';
import { withoutBillingLine } from '../../core/normalize/claude-code.ts';
import { isJsonObject } from '../../protocol/json.ts';
import { sha256 } from '../../platform/hash.ts';
import { valueWithin } from '../../platform/wait.ts';
import type { Choice } from '../../protocol/chat-result.ts';
import type { RouterFacts } from '../../core/normalize/context.ts';

/** What the cache of a router is made with. */
export interface ResponsesOptions {
  readonly store: ResponseCacheStore;
  readonly policy: CachePolicy;
  /** Bytes of one answer; larger ones are not kept. */
  readonly maxEntryBytes: number;
}

/** A request that is being answered; others that are the same wait for it. */
export interface SharedRequest {
  /** The answer, or undefined when it came to none. */
  readonly landed: Promise<CachedAnswer | undefined>;
  /** Ends it. May be called more than once. */
  readonly land: (answer?: CachedAnswer) => void;
}

/** A store that takes longer than this many milliseconds is not worth waiting for. */
const STORE_WAIT_MS = 250;

/** The response cache of a router (gaps 9.4): non-streaming responses, by everything that they depend on. */
export class Responses {
  readonly #options: ResponsesOptions;
  readonly #environment: Environment;
  readonly #events: EventHub;
  readonly #flights = new Map<string, SharedRequest>();
  /** What the router does by default. */
  readonly policy: CachePolicy;

  constructor(options: ResponsesOptions, environment: Environment, events: EventHub) {
    this.#options = options;
    this.policy = options.policy;
    this.#environment = environment;
    this.#events = events;
  }

  /** How a request uses the cache; undefined when it does not. */
  ruleFor(request: NormalizedRequest, requestedCache: RequestedCache): CacheRule | undefined {
    return cacheRule(request, requestedCache, this.policy);
  }

  /**
   * The key of a request: two that share it would be answered alike.
   *
   * @param body - As it was sent. The order of its members matters, blanks do not, nor does what differs by itself.
   * @param plugins - Those that take part, also where the account or the router adds them.
   * @param presets - Those of the router: a body only names them.
   */
  async keyOf(
    request: NormalizedRequest,
    body: unknown,
    plugins: readonly ActivePlugin[],
    presets: RouterFacts['presets'],
  ): Promise<string> {
    const { account, stream, requested, native, anthropicBetas = [] } = request;
    const owner = JSON.stringify([account.id, account.keyId ?? null]);
    const shape = `${native?.apiFormat ?? 'chat'}\n${stream ? 'stream' : 'whole'}\n${anthropicBetas.join()}`;
    const added =
      plugins.length === 0 ? '' : JSON.stringify(plugins.map(({ plugin, options }) => [plugin.id, options]));
    const made = `${added}\n${textOf(presets)}`;
    const sent = JSON.stringify(bodyOfKey(body));
    return `response\n${await sha256(`${owner}\n${shape}\n${made}\n${requested}\n${sent}`)}`;
  }

  /** What is kept for a request. A store that fails has nothing. */
  async find(key: string): Promise<CachedAnswer | undefined> {
    const { store } = this.#options;
    const found = await this.#soon(() => store.get(key));
    return readCachedAnswer(found, this.#environment.wallClock());
  }

  /** Throws away what is kept for a request. */
  async forget(key: string): Promise<undefined> {
    const { store } = this.#options;
    await this.#soon(() => store.delete(key));
  }

  /** Keeps an answer, if it is not too large. Nobody waits for it. */
  keep(key: string, answer: CachedAnswer): void {
    const { store, maxEntryBytes } = this.#options;
    const text = JSON.stringify(answer);
    if (new TextEncoder().encode(text).length > maxEntryBytes) return;
    void this.#soon(() => store.set(key, text, answer.expiresAt - answer.storedAt));
  }

  /** The request with this key that is being answered, if there is one. */
  underWay(key: string): SharedRequest | undefined {
    return this.#flights.get(key);
  }

  /** Makes a request the one that others with its key wait for. */
  lead(key: string): SharedRequest {
    let resolve: (answer?: CachedAnswer) => void = () => {};
    const landed = new Promise<CachedAnswer | undefined>((settle) => (resolve = settle));
    const land = (answer?: CachedAnswer): void => {
      if (this.#flights.get(key) === sharedRequest) this.#flights.delete(key);
      resolve(answer);
    };
    const sharedRequest = { landed, land };
    this.#flights.set(key, sharedRequest);
    return sharedRequest;
  }

  async #soon<Value>(ask: () => Value | Promise<Value>): Promise<Value | undefined> {
    const requested = (async () => ask())();
    requested.catch(() =>
      warn(this.#events, {
        code: 'response_cache',
        message: 'The response cache could not be used; check the store in "state"',
      }),
    );
    return valueWithin(this.#environment, requested, STORE_WAIT_MS);
  }
}

/** A body without the line that one client changes in every request. */
function bodyOfKey(body: unknown): unknown {
  if (!isJsonObject(body) || body['system'] == null) return body;
  return { ...body, system: withoutBillingLine(body['system']) };
}

const TEXTS = new WeakMap<object, string>();

/** Presets as a text, which is made once for each configuration. */
function textOf(presets: RouterFacts['presets']): string {
  let text = TEXTS.get(presets);
  if (text === undefined) TEXTS.set(presets, (text = JSON.stringify(presets)));
  return text;
}

/** What is kept of an answer. */
export interface CachedAnswer extends KeptAnswer {
  /** Generation id of the request that was answered. */
  readonly sourceId: string;
  /** Epoch milliseconds. */
  readonly storedAt: number;
  readonly expiresAt: number;
  /** Display name. */
  readonly provider: string;
  readonly choices: readonly Choice[];
}

/** The answer that a text holds; what somebody else wrote there is none. */
function readCachedAnswer(text: string | undefined, now: number): CachedAnswer | undefined {
  if (text === undefined) return undefined;
  try {
    const answer = JSON.parse(text) as CachedAnswer;
    const isOurs = Array.isArray(answer.choices) && typeof answer.endpoint === 'string';
    return isOurs && answer.expiresAt > now ? answer : undefined;
  } catch {
    return undefined;
  }
}

/** Metadata of an answer from the cache. */
export function reportHit({ storedAt, expiresAt, sourceId }: CachedAnswer, now: number): CacheReport {
  return {
    status: 'HIT',
    ttlSeconds: Math.max(0, Math.ceil((expiresAt - now) / 1_000)),
    ageSeconds: Math.max(0, Math.floor((now - storedAt) / 1_000)),
    sourceId,
  };
}
