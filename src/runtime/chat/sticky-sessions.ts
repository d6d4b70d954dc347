import type { Endpoint } from '../../catalog/endpoint.ts';
import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import { conversationKey } from '../../core/normalize/session.ts';
import type { Usage } from '../../protocol/chunk.ts';
import type { StateStore } from '../../contracts/state-store.ts';

/**
 * Keeps the requests of one conversation with one endpoint, so that its prompt cache is used (gaps 3.5). A preference,
 * never a constraint: an endpoint that is filtered out or fails is passed over, and an error does not pin anything.
 */
export class StickySessions {
  readonly #store: StateStore;
  readonly #ttlMs: number;

  constructor(store: StateStore, ttlMs: number) {
    this.#store = store;
    this.#ttlMs = ttlMs;
  }

  /** The endpoint that a session sticks to, if any. Nothing is looked up where there is nothing to choose. */
  find(request: NormalizedRequest): Promise<string | undefined> | string | undefined {
    if (!matters(request)) return undefined;
    try {
      const found = this.#store.get(keyOf(request));
      return found instanceof Promise ? found.then(asText) : asText(found);
    } catch {
      return undefined;
    }
  }

  /** Notes a success. Sessions without a name only stick where a prompt cache was seen at work. */
  remember(request: NormalizedRequest, endpoint: Endpoint, usage: Usage | undefined): Promise<void> | undefined {
    if (!matters(request)) return undefined;
    // The account's own key comes first anyway; what a router model must remember is which model it was.
    if (endpoint.byok !== undefined && !isRouted(request)) return undefined;
    if (request.session.key === undefined && !cacheAtWork(endpoint, usage)) return undefined;
    try {
      const stored = this.#store.set(keyOf(request), sharedId(endpoint), this.#ttlMs);
      return stored instanceof Promise ? stored : undefined;
    } catch (error) {
      return Promise.reject(error);
    }
  }
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

function asText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
