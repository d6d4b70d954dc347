/** What cold prompt caches cost, by cause, and the place of the prompt that is most often to blame. */
import type { LedgerRecord } from '../../contracts/ledger.ts';
import type { CacheCause } from '../../contracts/prompt-cache.ts';
import { differsFromProvider } from './cache-cause.ts';

/** Requests with one cause. */
export interface ColdSum {
  readonly cause: CacheCause;
  readonly requests: number;
  readonly missed_tokens: number;
  readonly lost_nano_usd: number;
  /** Requests of which the provider itself has said why, and those of which it said something else. */
  readonly compared: number;
  readonly differing: number;
  /** Places that cost most, the dearest first. */
  readonly places: readonly ColdPlace[];
}

/** A place in the prompts of one kind of request. */
export interface ColdPlace {
  /** What requests named as their model, and whose they are. */
  readonly requested: string;
  readonly account: string;
  /** `system[0], line 3`, `tools[2] (order)`, why a session moved; empty where there is none. */
  readonly place: string;
  readonly requests: number;
  readonly lost_nano_usd: number;
  /** One of the requests. */
  readonly example: string;
}

/** Places that are listed of each cause. */
const MOST_PLACES = 5;

type Open<Sum> = { -readonly [Name in keyof Sum]: Sum[Name] };

const NOTHING = { requests: 0, missed_tokens: 0, lost_nano_usd: 0, compared: 0, differing: 0 };

/** Adds up the records page by page. */
export class ColdSums {
  readonly #sums = new Map<CacheCause, Open<Omit<ColdSum, 'places'>> & { places: Map<string, Open<ColdPlace>> }>();

  add({ cold, id, requested, account }: LedgerRecord): void {
    if (cold === undefined) return;
    const { cause, missed_tokens: missed = 0, lost_nano_usd: lost = 0 } = cold;
    const sum = this.#sums.get(cause) ?? { ...NOTHING, cause, places: new Map() };
    this.#sums.set(cause, sum);
    sum.requests += 1;
    sum.missed_tokens += missed;
    sum.lost_nano_usd += lost;
    if (cold.provider_cause !== undefined) sum.compared += 1;
    if (differsFromProvider(cold)) sum.differing += 1;
    const place = placeOf(cold);
    const key = `${requested}\n${account}\n${place}`;
    const known = sum.places.get(key) ?? { requested, account, place, requests: 0, lost_nano_usd: 0, example: id };
    sum.places.set(key, known);
    known.requests += 1;
    known.lost_nano_usd += lost;
  }

  /** The dearest cause first. */
  get all(): readonly ColdSum[] {
    return [...this.#sums.values()]
      .map(({ places, ...sum }) => ({ ...sum, places: [...places.values()].sort(byCost).slice(0, MOST_PLACES) }))
      .sort(byCost);
  }
}

function byCost(
  left: { readonly lost_nano_usd: number; readonly requests: number },
  right: { readonly lost_nano_usd: number; readonly requests: number },
): number {
  return right.lost_nano_usd - left.lost_nano_usd || right.requests - left.requests;
}

function placeOf({ at, line, change, moved }: NonNullable<LedgerRecord['cold']>): string {
  if (at === undefined) return moved ?? '';
  return `${at}${line === undefined ? '' : `, line ${line}`}${change === undefined ? '' : ` (${change})`}`;
}
