/**
 * What providers have refused, by account and endpoint: a request whose word is refused is made once more without it, and
 * once that has succeeded, so are later ones of its account. Those of others follow when two accounts have met it.
 */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { RefusedWord } from '../../contracts/failure.ts';
import { boundedMap } from '../../storage/memory.ts';

/** What an account knows of one word at one endpoint. */
interface KnownWord {
  readonly refusal: RefusedWord;
  /** It was refused to this account, to two others, or this account has been answered with it since. */
  readonly state: 'refused' | 'refused_to_others' | 'taken';
  /** Monotonic milliseconds at which that was last seen. */
  readonly at: number;
  /** When a request is called with the word again, to see whether it is taken now, and how long after the last time. */
  readonly probeAt: number;
  readonly pauseMs: number;
}

/** Words of one endpoint that are kept for one account. */
const MOST_WORDS = 16;
/** Endpoints of one account: its share, so that nobody makes others forget. The one that was written first makes room. */
const MOST_ENDPOINTS = 64;
/** Accounts that are kept. */
const MOST_ACCOUNTS = 1_000;
/** Milliseconds after which nothing is left of a refusal that was not met again. */
const KEPT_MS = 3_600_000;
/** Milliseconds until a word is tried again; twice as many after each time that it was refused again. */
const PROBE_MS = 300_000;

/** Which refusals are forgotten; see {@link Router.forgetRefusals}. */
export interface ForgottenRefusals {
  /** Of this provider alone. Default: of all. */
  readonly provider?: string | undefined;
  /** Of this model alone. Default: of all. */
  readonly model?: string | undefined;
  /** What this account has met alone. Default: what all have met. */
  readonly account?: string | undefined;
}

/** A word that accounts have met, for whoever operates the router. */
export interface MetRefusal {
  readonly refusal: RefusedWord;
  /** How many accounts have met it. */
  readonly accounts: number;
}

/** What an account knows of one endpoint. */
interface KnownAt {
  readonly endpoint: Endpoint;
  readonly words: Map<string, KnownWord>;
}

/** Endpoints that have refused something. */
export class KnownRefusals {
  readonly #accounts = boundedMap<Map<string, KnownAt>>(MOST_ACCOUNTS);
  /** Names of words that two accounts have met, with those accounts, by endpoint. */
  readonly #shared = boundedMap<Map<string, readonly [string, string]>>(MOST_ACCOUNTS);
  /** Endpoints as they are called, so that those who look at one remember what they found. */
  readonly made = boundedMap<{ readonly from: Endpoint; readonly endpoint: Endpoint }>(MOST_ACCOUNTS);
  /** True before the first refusal: nearly no request ever meets one. */
  isEmpty = true;

  /** What an endpoint is not called with for an account; nothing for one that has refused nothing. */
  wordsAt(endpoint: Endpoint, account: string, now: number): readonly RefusedWord[] {
    return this.#knownAt(endpoint, account, now).flatMap(({ state, refusal }) => (state === 'taken' ? [] : [refusal]));
  }

  /**
   * The same for a call that goes out: without a word that is to be tried again.
   *
   * @param mayTry - Whether the call would show that a word is taken.
   */
  wordsForCall(
    endpoint: Endpoint,
    account: string,
    now: number,
    mayTry: (refusal: RefusedWord) => boolean,
  ): { readonly refused: readonly RefusedWord[]; readonly tried: RefusedWord | undefined } {
    const known = this.#knownAt(endpoint, account, now).filter(({ state }) => state !== 'taken');
    const due = known.find(({ probeAt, refusal }) => probeAt <= now && mayTry(refusal));
    if (due !== undefined) this.#write(endpoint, account, { ...due, probeAt: now + due.pauseMs });
    return { refused: known.filter((one) => one !== due).map(({ refusal }) => refusal), tried: due?.refusal };
  }

  /**
   * Notes that a call was answered without a word that its endpoint had refused.
   *
   * @returns Whose requests go without it from now on. Undefined where that was known before, and for what is about one
   * request alone.
   */
  learn(endpoint: Endpoint, account: string, refusal: RefusedWord, now: number): 'account' | 'all' | undefined {
    if (refusal.holdsFor === 'request') return undefined;
    const before = this.#accounts.get(account)?.get(endpoint.id)?.words.get(refusal.name);
    const isKnown = before !== undefined && isFresh(before, now) && before.state !== 'taken';
    const pauseMs = isKnown ? Math.min(2 * before.pauseMs, KEPT_MS) : PROBE_MS;
    this.#write(endpoint, account, { refusal, state: 'refused', at: now, probeAt: now + pauseMs, pauseMs });
    const isShared = refusal.holdsFor === 'all' && this.#share(endpoint.id, account, refusal.name, now);
    if (isKnown) return undefined;
    return isShared ? 'all' : 'account';
  }

  /** Notes that a call was answered with words that were refused before: what says so is over for this account. */
  answered(endpoint: Endpoint, account: string, isTaken: (refusal: RefusedWord) => boolean, now: number): void {
    const words = this.#accounts.get(account)?.get(endpoint.id)?.words;
    for (const known of words?.values() ?? []) {
      if (known.state === 'taken' || !isTaken(known.refusal)) continue;
      this.#write(endpoint, account, { ...known, state: 'taken', at: now });
    }
  }

  /** What accounts have met at an endpoint. */
  metAt({ id }: Endpoint, now: number): readonly MetRefusal[] {
    if (this.isEmpty) return NOTHING_MET;
    const met = new Map<string, MetRefusal>();
    for (const endpoints of this.#accounts.values()) {
      for (const known of endpoints.get(id)?.words.values() ?? []) {
        const { refusal, state } = known;
        if (state !== 'refused' || !isFresh(known, now)) continue;
        met.set(refusal.name, { refusal, accounts: 1 + (met.get(refusal.name)?.accounts ?? 0) });
      }
    }
    return [...met.values()];
  }

  /** Forgets what is known; gives the number of words. */
  forget({ provider, model, account }: ForgottenRefusals): number {
    let forgotten = 0;
    for (const [id, endpoints] of this.#accounts) {
      if (account !== undefined && id !== account) continue;
      for (const [endpointId, { endpoint, words }] of endpoints) {
        if (provider !== undefined && endpoint.provider !== provider) continue;
        if (model !== undefined && endpoint.model !== model) continue;
        forgotten += [...words.values()].filter(({ state }) => state === 'refused').length;
        endpoints.delete(endpointId);
      }
    }
    return forgotten;
  }

  /** What an account goes by: what it has met itself, and what two others have. */
  #knownAt(endpoint: Endpoint, account: string, now: number): readonly KnownWord[] {
    const own = this.#accounts.get(account)?.get(endpoint.id);
    const known = [...(own?.words.values() ?? [])].filter((word) => isFresh(word, now));
    const others = [...(this.#shared.get(endpoint.id)?.entries() ?? [])];
    const heard = others.flatMap(([name, accounts]) => {
      const word = this.#isShared(endpoint.id, name, accounts, now);
      return word === undefined || known.some(({ refusal }) => refusal.name === name) ? [] : [word];
    });
    for (const { refusal } of heard) {
      const word = {
        refusal,
        state: 'refused_to_others',
        at: now,
        probeAt: now + PROBE_MS,
        pauseMs: PROBE_MS,
      } as const;
      this.#write(endpoint, account, word);
      known.push(word);
    }
    // What others have met is over for all of them as soon as it is for one of the two.
    return known.filter(({ state, refusal: { name } }) => {
      if (state !== 'refused_to_others') return true;
      const accounts = this.#shared.get(endpoint.id)?.get(name);
      return accounts !== undefined && this.#isShared(endpoint.id, name, accounts, now) !== undefined;
    });
  }

  /** The word, as long as both accounts still know it from a refusal of their own. */
  #isShared(endpointId: string, name: string, accounts: readonly string[], now: number): KnownWord | undefined {
    const words = accounts.map((account) => this.#accounts.get(account)?.get(endpointId)?.words.get(name));
    if (words.every((word) => word?.state === 'refused' && isFresh(word, now))) return words[0];
    this.#shared.get(endpointId)?.delete(name);
    return undefined;
  }

  /** Finds another account that has met the same. */
  #share(endpointId: string, account: string, name: string, now: number): boolean {
    for (const [other, endpoints] of this.#accounts) {
      const word = other === account ? undefined : endpoints.get(endpointId)?.words.get(name);
      if (word?.state !== 'refused' || word.refusal.holdsFor !== 'all' || !isFresh(word, now)) continue;
      const shared = this.#shared.get(endpointId) ?? new Map<string, readonly [string, string]>();
      shared.set(name, [other, account]);
      this.#shared.set(endpointId, shared);
      return true;
    }
    return false;
  }

  #write(endpoint: Endpoint, account: string, known: KnownWord): void {
    this.isEmpty = false;
    const endpoints = this.#accounts.get(account) ?? boundedMap<KnownAt>(MOST_ENDPOINTS);
    this.#accounts.set(account, endpoints);
    const words = endpoints.get(endpoint.id)?.words ?? new Map<string, KnownWord>();
    words.delete(known.refusal.name);
    words.set(known.refusal.name, known);
    const [oldest] = words.keys();
    if (words.size > MOST_WORDS && oldest !== undefined) words.delete(oldest);
    endpoints.set(endpoint.id, { endpoint, words });
  }
}

const NOTHING_MET: readonly MetRefusal[] = [];

function isFresh({ at }: KnownWord, now: number): boolean {
  return now < at + KEPT_MS;
}
