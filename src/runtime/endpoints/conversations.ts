/** Keeps conversations with the endpoint that has them cached. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import { conversationKey } from '../../core/normalize/session.ts';
import { likelyPromptTokens } from '../../core/tokens/token-estimate.ts';
import type { ServedBy } from '../../core/selection/adaptive/expected-cost.ts';
import { isJsonObject, type JsonValue } from '../../protocol/json.ts';
import type { StateStore } from '../../contracts/state-store.ts';
import type { RecordMap } from './endpoint-load.ts';
import type { Environment } from '../../platform/environment.ts';
import { nameOfSeal, originOf, type ReasoningOrigins, sealsIn } from '../../core/normalize/reasoning-origin.ts';
import { type MaybePromise, valueWithin } from '../../platform/wait.ts';
import type { Usage } from '../../protocol/usage.ts';

/** Endpoints of a session that are remembered: a cache elsewhere may still hold its prompt. */
const MOST_ENDPOINTS = 4;
/** Milliseconds after which an answer of the store is not worth a wait. */
const SLOW_STORE_MS = 50;
const NOBODY: ServedBy = [];

/**
 * Keeps the requests of one conversation with one endpoint, so that its prompt cache is used (gaps 3.5). A preference,
 * never a constraint: an endpoint that is filtered out or fails is passed over, and an error does not pin anything.
 *
 * Every instance has its own memory first. What others know is read meanwhile, for the next turn: nobody waits for a
 * store who has something to go by, or when the store was slow the last time. Nothing is looked up before there is
 * anything to find.
 */
export class StickySessions {
  readonly #store: StateStore | undefined;
  /** Where nothing is known and nothing shared, nothing need be looked for. */
  readonly isShared: boolean;
  /** What this process has seen itself. */
  readonly local: RecordMap<ServedBy>;
  readonly #ttlMs: number;
  readonly #environment: Environment;
  /** Milliseconds in which the store answered the last time. */
  #storeMs = 0;

  /** @param store - Absent where state is not shared: then this process has seen everything itself. */
  constructor(store: StateStore | undefined, local: RecordMap<ServedBy>, ttlMs: number, environment: Environment) {
    this.#store = store;
    this.isShared = store !== undefined;
    this.local = local;
    this.#ttlMs = ttlMs;
    this.#environment = environment;
  }

  /** The same sessions, kept for another time. */
  under(ttlMs: number): StickySessions {
    return new StickySessions(this.#store, this.local, ttlMs, this.#environment);
  }

  /** True when the store has lately taken longer than is worth a wait. */
  get isSlow(): boolean {
    return this.#storeMs > SLOW_STORE_MS;
  }

  /**
   * Endpoints that served a session, the latest first. Nothing is looked up where there is nothing to choose. A promise
   * only where nothing is known here.
   */
  find(request: NormalizedRequest): Promise<ServedBy> | ServedBy {
    const store = this.#store;
    if ((store === undefined && this.local.size === 0) || !matters(request)) return NOBODY;
    const key = keyOf(request);
    const known = this.#fresh(this.local.get(key) ?? NOBODY);
    if (store === undefined) return known;
    try {
      const found = store.get(key);
      if (!(found instanceof Promise)) return this.#learn(key, servedIn(found));
      const learnt = this.#timed(found).then(
        (value) => this.#learn(key, servedIn(value)),
        () => known,
      );
      return known.length > 0 || this.isSlow ? known : learnt;
    } catch {
      return known;
    }
  }

  /**
   * When a session was last served by any instance, as far as that is known here by now: monotonic milliseconds, minus
   * infinity where nobody has served it, infinity where others may have done so without a trace.
   */
  servedAt(request: NormalizedRequest): number {
    const { session, account } = request;
    const isTraced = session.key !== undefined && account.providerKeys === undefined && matters(request);
    if (this.#store !== undefined && !isTraced) return Infinity;
    return this.local.get(keyOf(request))?.[0]?.at ?? -Infinity;
  }

  /** Notes a success. Sessions without a name only stick where a prompt cache was seen at work. */
  remember(request: NormalizedRequest, endpoint: Endpoint, usage: Usage | undefined): Promise<void> | undefined {
    if (request.session.key === undefined && !cacheAtWork(endpoint, usage)) return undefined;
    if (!matters(request)) return undefined;
    // The account's own key comes first anyway; what a router model must remember is which model it was.
    if (endpoint.byok !== undefined && !isRouted(request)) return undefined;
    const key = keyOf(request);
    const tokens = usage?.prompt_tokens ?? likelyPromptTokens(request);
    const now = this.#environment.now();
    const served = this.#learn(key, [{ endpoint: sharedId(endpoint), at: now, tokens }]);
    try {
      const stored = this.#store?.set(key, served, this.#ttlMs);
      return stored instanceof Promise ? stored : undefined;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Puts together what is known here and what came from elsewhere: of each endpoint the latest. */
  #learn(key: string, news: ServedBy): ServedBy {
    const known = this.local.get(key);
    if (news.length === 0 && known === undefined) return NOBODY;
    const merged: ServedBy[number][] = [];
    for (const one of [...news, ...(known ?? NOBODY)].sort((left, right) => right.at - left.at)) {
      if (!merged.some(({ endpoint }) => endpoint === one.endpoint)) merged.push(one);
    }
    const served = this.#fresh(merged).slice(0, MOST_ENDPOINTS);
    if (served.length > 0 || known !== undefined) this.local.set(key, served);
    return served;
  }

  #fresh(served: ServedBy): ServedBy {
    if (served.length === 0) return served;
    const oldest = this.#environment.now() - this.#ttlMs;
    return served.every(({ at }) => at > oldest) ? served : served.filter(({ at }) => at > oldest);
  }

  async #timed<Value>(promise: Promise<Value>): Promise<Value> {
    const startedAt = this.#environment.now();
    try {
      return await promise;
    } finally {
      this.#storeMs = this.#environment.now() - startedAt;
    }
  }
}

function servedIn(value: JsonValue | undefined): ServedBy {
  if (!Array.isArray(value)) return NOBODY;
  return value.flatMap((one) => {
    if (!isJsonObject(one)) return [];
    const { endpoint, at, tokens } = one;
    return typeof endpoint === 'string' && typeof at === 'number' && typeof tokens === 'number'
      ? [{ endpoint, at, tokens }]
      : [];
  });
}

/** `order` switches stickiness off, and a single endpoint leaves no choice. */
function matters(request: NormalizedRequest): boolean {
  const { preferences, targets } = request;
  return preferences.order.length === 0 && (isRouted(request) || targets.some((target) => target.endpoints.length > 1));
}

/** A router model chooses the model too, so its sessions are kept under its own name. */
function isRouted({ targets }: NormalizedRequest): boolean {
  return targets[0]?.router !== undefined;
}

function keyOf({ account, targets, session, messages }: NormalizedRequest): string {
  const key = session.key ?? conversationKey(messages);
  return `sticky\n${account.id}\n${targets[0]?.router ?? targets[0]?.model ?? ''}\n${key}`;
}

/** The endpoint of the catalog behind one with an account's own key. */
function sharedId({ id, byok }: Endpoint): string {
  return byok === undefined ? id : id.slice(0, -`@${byok.account}`.length);
}

function cacheAtWork({ price }: Endpoint, usage: Usage | undefined): boolean {
  const details = usage?.prompt_tokens_details;
  if (!details?.cached_tokens && !details?.cache_write_tokens) return false;
  return price === undefined || (price.cacheRead !== undefined && price.cacheRead < price.prompt);
}

/**
 * Milliseconds that a request waits for the store, which is only read for what this process has not seen itself.
 */
const WAIT_MS = 50;

interface KnownOrigin {
  readonly origin: string;
}

/**
 * Remembers who made encrypted reasoning, so that it goes back only there: in this process first, in the state store
 * behind it. Costs nothing for conversations without any.
 */
export class KnownOrigins {
  readonly #store: StateStore | undefined;
  /** As of {@link StickySessions}. */
  readonly isShared: boolean;
  readonly local: RecordMap<KnownOrigin>;
  readonly #ttlMs: number;
  readonly #environment: Environment;

  /**
   * @param store - Absent where state is not shared.
   * @param ttlMs - Milliseconds for which the store keeps an origin.
   */
  constructor(store: StateStore | undefined, local: RecordMap<KnownOrigin>, ttlMs: number, environment: Environment) {
    this.#store = store;
    this.isShared = store !== undefined;
    this.local = local;
    this.#ttlMs = ttlMs;
    this.#environment = environment;
  }

  /** Notes who made the seals of an answer. */
  note(account: string, endpoint: Endpoint, seals: readonly string[]): void {
    const origin = originOf(endpoint);
    for (const seal of seals) {
      const key = sealKey(account, seal);
      this.local.set(key, { origin });
      if (this.#store !== undefined) void this.#keep(this.#store, key, origin);
    }
  }

  /** Who made the seals of a conversation, as far as it is known; undefined where there is nothing to know. */
  find({ account, messages }: NormalizedRequest): MaybePromise<ReasoningOrigins | undefined> {
    if (this.#store === undefined && this.local.size === 0) return undefined;
    const seals = sealsIn(messages);
    if (seals.length === 0) return undefined;
    const known = new Map<string, string>();
    const unknown: string[] = [];
    for (const seal of seals) {
      const origin = this.local.get(sealKey(account.id, seal))?.origin;
      if (origin === undefined) unknown.push(seal);
      else known.set(seal, origin);
    }
    const store = this.#store;
    if (store === undefined || unknown.length === 0) return inOrder(seals, known);
    const requested = Promise.all(unknown.map((seal) => this.#ask(store, account.id, seal, known)));
    return valueWithin(this.#environment, requested, WAIT_MS).then(() => inOrder(seals, known));
  }

  async #keep(store: StateStore, key: string, origin: string): Promise<void> {
    try {
      await store.set(key, origin, this.#ttlMs);
    } catch {
      // Other instances then do not know, and treat it as of unknown origin.
    }
  }

  async #ask(store: StateStore, account: string, seal: string, known: Map<string, string>): Promise<void> {
    try {
      const key = sealKey(account, seal);
      const origin = await store.get(key);
      if (typeof origin !== 'string') return;
      known.set(seal, origin);
      this.local.set(key, { origin });
    } catch {
      // As unknown as before.
    }
  }
}

/** As in the conversation, so that the latest origin is last. */
function inOrder(seals: readonly string[], known: ReadonlyMap<string, string>): ReasoningOrigins | undefined {
  if (known.size === 0) return undefined;
  const origins = new Map<string, string>();
  for (const seal of seals) {
    const origin = known.get(seal);
    if (origin !== undefined) origins.set(seal, origin);
  }
  return origins;
}

function sealKey(account: string, seal: string): string {
  return `reasoning-origin\n{${encodeURIComponent(account)}}\n${nameOfSeal(seal)}`;
}
