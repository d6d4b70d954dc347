/** Remembers which beginnings of prompts each endpoint has cached. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import { PROMPT_CACHE_MS } from '../../core/selection/adaptive/policy.ts';
import { mixed, type PromptBlocks, promptBlocks } from '../../core/selection/adaptive/prompt-blocks.ts';
import type { CachedPrompts } from '../../core/selection/world.ts';
import type { Environment } from '../../platform/environment.ts';

/** Shorter prompts than this many tokens, as they are counted at least, are in no cache that matters. */
export const LEAST_PROMPT_TOKENS = 250;
/** Times as long as providers are taken to keep a prompt for which it may still be there. */
const MAY_BE_THERE = 6;

/** Tokens from which on a prompt that is not there is no matter of blocks. */
const LEAST_EXPECTED = 1_024;
const KEPT_LONGER = 0.002;
const KEPT_SHORTER = 0.05;
const LEAST_KEPT_MS = 60_000;

/** Places of a set, in each of which the oldest entry makes room. */
const WAYS = 4;
/** Entries of the table at first and at most: 16 MB then, which are the beginnings of about 100,000 prompts. */
const FIRST_ENTRIES = 1 << 12;
const MOST_ENTRIES = 1 << 21;
/** Share of the entries that are used before the table grows. */
const FULL = 0.6;
const SECOND_MS = 1_000;

/** What is known of the cache of an endpoint. */
interface EndpointCache {
  /** What tells the same beginning at other endpoints from this one. */
  readonly salt: number;
  /** Milliseconds for which a prompt that is not used may be there. */
  keptMs: number;
}

/**
 * Which beginnings of prompts each endpoint has computed lately, so that prompts that begin alike go there, whichever
 * session they belong to. Those of one account; at endpoints without a price, which are servers of one's own, those of all.
 * A table of a limited size: each entry is a hash of a beginning and its endpoint, and when it was used.
 */
export class KnownPrompts {
  readonly #environment: Environment;
  #keys = new Uint32Array(FIRST_ENTRIES);
  #usedAt = new Uint32Array(FIRST_ENTRIES);
  #used = 0;
  /** When the table was made, so that seconds since then are small numbers above 0. */
  readonly #since: number;
  readonly #caches = new WeakMap<Endpoint, EndpointCache>();
  /** A request is planned and sent one after the other. */
  #latest: { readonly messages: unknown; readonly blocks: PromptBlocks | undefined } | undefined;

  constructor(environment: Environment) {
    this.#environment = environment;
    this.#since = environment.now() - SECOND_MS;
  }

  /** Shares of a prompt that endpoints have computed before; undefined where there is none. */
  find(request: NormalizedRequest): CachedPrompts | undefined {
    if (this.#used === 0 || !matters(request)) return undefined;
    const blocks = this.#blocksOf(request);
    if (blocks === undefined) return undefined;
    const now = this.#seconds();
    const fresh = Math.max(1, now - Math.floor(PROMPT_CACHE_MS / SECOND_MS));
    let found: CachedPrompts[number][] | undefined;
    for (const { endpoints } of request.targets) {
      for (const endpoint of endpoints) {
        const cache = this.#cacheOf(endpoint);
        const salt = isOwn(endpoint) ? cache.salt : hashOf(request.account.id, cache.salt);
        const oldest = Math.max(1, now - Math.floor(cache.keptMs / SECOND_MS));
        const first = this.#usedAtOf(mixed(blocks.hashes[0] ?? 0, salt));
        if (first < oldest) continue;
        const before = this.#shareAt(blocks, salt, oldest);
        const share = isWithoutDiscount(endpoint) ? before : first < fresh ? 0 : this.#shareAt(blocks, salt, fresh);
        (found ??= []).push({ endpoint: endpoint.id, share, before });
      }
    }
    return found;
  }

  /** Notes that an endpoint computes a prompt. */
  note(request: NormalizedRequest, endpoint: Endpoint): void {
    if (!matters(request)) return;
    const blocks = this.#blocksOf(request);
    if (blocks === undefined) return;
    const now = this.#seconds();
    const { salt: own } = this.#cacheOf(endpoint);
    const salt = isOwn(endpoint) ? own : hashOf(request.account.id, own);
    for (const hash of blocks.hashes) this.#put(mixed(hash, salt), now);
    this.#put(mixed(blocks.whole, salt), now);
  }

  #shareAt({ hashes, shares, turns, turnShares }: PromptBlocks, salt: number, oldest: number): number {
    const isKnown = (hash: number | undefined): boolean =>
      hash !== undefined && this.#usedAtOf(mixed(hash, salt)) >= oldest;
    if (!isKnown(hashes[0])) return 0;
    // Who has computed a beginning has computed all that are shorter.
    let known = 0;
    for (let unknown = hashes.length; unknown - known > 1;) {
      const middle = (known + unknown) >> 1;
      if (isKnown(hashes[middle])) known = middle;
      else unknown = middle;
    }
    const share = shares[known] ?? 0;
    for (let index = turns.length - 1; index >= 0 && (turnShares[index] ?? 0) > share; index -= 1) {
      if (isKnown(turns[index])) return turnShares[index] ?? share;
    }
    return share;
  }

  #blocksOf({ messages, tools }: NormalizedRequest): PromptBlocks | undefined {
    if (this.#latest?.messages !== messages) {
      this.#latest = { messages, blocks: promptBlocks(messages, tools.length) };
    }
    return this.#latest.blocks;
  }

  /**
   * Learns from an answer how long an endpoint keeps prompts: what it computes pushes out what was not used for the longest
   * time. As long as it may be, less a few percent of the prompts that are taken to be there and are not.
   *
   * @param expected - Tokens of the prompt that were taken to be in its cache.
   * @param cached - Those that were.
   */
  answered(endpoint: Endpoint, expected: number, cached: number): void {
    if (expected < LEAST_EXPECTED || !isWithoutDiscount(endpoint)) return;
    const cache = this.#cacheOf(endpoint);
    const keptMs = cache.keptMs * (2 * cached >= expected ? 1 + KEPT_LONGER : 1 - KEPT_SHORTER);
    cache.keptMs = Math.max(LEAST_KEPT_MS, Math.min(PROMPT_CACHE_MS * MAY_BE_THERE, keptMs));
  }

  #cacheOf(endpoint: Endpoint): EndpointCache {
    let cache = this.#caches.get(endpoint);
    if (cache === undefined) {
      cache = { salt: hashOf(endpoint.id, endpoint.tag.length), keptMs: PROMPT_CACHE_MS * MAY_BE_THERE };
      this.#caches.set(endpoint, cache);
    }
    return cache;
  }

  #seconds(): number {
    return Math.max(1, Math.floor((this.#environment.now() - this.#since) / SECOND_MS));
  }

  /** Second in which an entry was used; 0 for one that is not there. */
  #usedAtOf(key: number): number {
    const first = this.#setOf(key);
    for (let place = first; place < first + WAYS; place += 1) {
      if (this.#keys[place] === key >>> 0) return this.#usedAt[place] ?? 0;
    }
    return 0;
  }

  #put(key: number, at: number): void {
    if (this.#used > FULL * this.#keys.length && this.#keys.length < MOST_ENTRIES) this.#grow();
    const first = this.#setOf(key);
    let oldest = first;
    for (let place = first; place < first + WAYS; place += 1) {
      if (this.#keys[place] === key >>> 0 && this.#usedAt[place] !== 0) {
        this.#usedAt[place] = at;
        return;
      }
      if ((this.#usedAt[place] ?? 0) < (this.#usedAt[oldest] ?? 0)) oldest = place;
    }
    if (this.#usedAt[oldest] === 0) this.#used += 1;
    this.#keys[oldest] = key;
    this.#usedAt[oldest] = at;
  }

  #setOf(key: number): number {
    return (Math.imul(key, 0x9e3779b1) >>> 0) & (this.#keys.length - WAYS);
  }

  #grow(): void {
    const keys = this.#keys;
    const usedAt = this.#usedAt;
    this.#keys = new Uint32Array(2 * keys.length);
    this.#usedAt = new Uint32Array(2 * keys.length);
    this.#used = 0;
    for (const [place, at] of usedAt.entries()) if (at !== 0) this.#put(keys[place] ?? 0, at);
  }
}

/** A server of one's own, as far as it is known: nobody sells what has no price. */
function isOwn({ price }: Endpoint): boolean {
  return price === undefined || (price.prompt === 0 && price.completion === 0);
}

/** Where what is cached costs as much as the rest, it saves time alone, and how long it is kept is nobody's promise. */
function isWithoutDiscount({ price }: Endpoint): boolean {
  return price === undefined || (price.cacheRead !== undefined && price.cacheRead >= price.prompt);
}

/** Where one endpoint is left, nothing is to be chosen. */
function matters({ needs, targets }: NormalizedRequest): boolean {
  return needs.promptTokens >= LEAST_PROMPT_TOKENS && (targets.length > 1 || (targets[0]?.endpoints.length ?? 0) > 1);
}

function hashOf(text: string, begun: number): number {
  let hash = mixed(begun, text.length);
  for (let index = 0; index < text.length; index += 1) hash = mixed(hash, text.charCodeAt(index));
  return hash;
}
