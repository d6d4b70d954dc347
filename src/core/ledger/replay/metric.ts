/** The metrics by which a replay compares two configurations. */
import { LocalMeans, NumberList, type ValueKind, intervalOf } from './local-means.ts';
import type { Estimated } from './replay-report.ts';

/** Endpoints of a plan that are looked at: it is rare that more are called. */
export const MOST_WAYS = 3;

/** What a request costs at the first endpoints of its plan. Filled anew for each request, so that none is made for each. */
export interface Ways {
  /** How many there are. */
  count: number;
  /** Numbers of the endpoints. */
  readonly places: number[];
  /** Nano-dollars at each. */
  readonly prices: number[];
}

/**
 * What is compared of requests: one number of each. There may be millions of requests, so what is known of those whose
 * outcome is estimated when all are known is kept in a list for each number.
 */
export class Metric {
  readonly #means = new LocalMeans();
  /** How often requests that asked an endpoint first were answered by another one. */
  readonly #goesOn = new LocalMeans();
  readonly #at = new NumberList();
  /** Numbers of the endpoints that they would go to. */
  readonly #to = new NumberList();
  readonly #before = new NumberList();
  /** How many ways are known of each … */
  readonly #counts = new NumberList();
  /** … and those of all, one after the other. */
  readonly #places = new NumberList();
  readonly #prices = new NumberList();
  readonly #kind: ValueKind;
  #requests = 0;
  #sum = 0;
  #chance = 0;

  constructor(kind: ValueKind = 'amounts') {
    this.#kind = kind;
  }

  /** Notes the outcome of a request that would go where it went. */
  stays(value: number): void {
    this.#requests += 1;
    this.#sum += value;
  }

  /**
   * Notes the outcome of a request that would go elsewhere.
   *
   * @param ways - What is known of its outcome there besides estimates.
   */
  moves(value: number, at: number, to: number, ways?: Ways): void {
    this.#at.push(at);
    this.#to.push(to);
    this.#before.push(value);
    if (ways === undefined) return;
    this.#counts.push(ways.count);
    for (let way = 0; way < ways.count; way += 1) {
      this.#places.push(ways.places[way] ?? 0);
      this.#prices.push(ways.prices[way] ?? 0);
    }
  }

  /** Notes what a request showed of the endpoint that it went to. */
  observe(place: number, at: number, value: number): void {
    this.#means.add(place, at, value);
  }

  /** Notes that a request that requested an endpoint first was answered by another one, or by none. */
  wentOn(place: number, at: number): void {
    this.#goesOn.add(place, at, 1);
  }

  /** Notes that the endpoint that a request requested first answered it. */
  answeredAtFirst(place: number, at: number): void {
    this.#goesOn.add(place, at, 0);
  }

  /**
   * What a request is expected to cost: the price at the first endpoint, and at those after it as often as requests go
   * on from there. One that nobody answers costs nothing. Adds how much that may vary.
   *
   * @param first - Where its ways begin in the lists.
   */
  #expectedPrice(first: number, count: number, at: number): number {
    if (count === 0) return 0;
    let [mean, square] = [0, 0];
    for (let way = first + count - 1; way > first; way -= 1) {
      const price = this.#prices.at(way);
      const goesOn = this.#goesOn.mean(this.#places.at(way), at) ?? 0;
      square = (1 - goesOn) * price ** 2 + goesOn * square;
      mean = (1 - goesOn) * price + goesOn * mean;
    }
    const [place, price] = [this.#places.at(first), this.#prices.at(first)];
    const goesOn = this.#goesOn.mean(place, at) ?? 0;
    const expected = price + (this.#goesOn.estimateOfMean(place, at, mean - price) ?? 0);
    this.#chance += Math.max(0, (1 - goesOn) * price ** 2 + goesOn * square - expected ** 2);
    return expected;
  }

  result(): Estimated {
    let unknown = 0;
    let before = this.#sum;
    let difference = 0;
    let first = 0;
    const moved = this.#at.length;
    for (let index = 0; index < moved; index += 1) {
      const at = this.#at.at(index);
      const was = this.#before.at(index);
      const count = this.#counts.at(index);
      const estimate = this.#means.estimate(this.#to.at(index), at);
      if (estimate === undefined) unknown += 1;
      else {
        before += was;
        difference += estimate + this.#expectedPrice(first, count, at) - was;
      }
      first += count;
    }
    const [own, further] = [this.#means.variance(this.#kind), this.#goesOn.variance('shares')];
    const variance = own.variance + further.variance + this.#chance;
    const fewest = Math.min(own.fewest, further.fewest);
    const estimated = moved - unknown;
    const requests = this.#requests + estimated;
    const count = Math.max(1, requests);
    return {
      requests,
      before: before / count,
      after: (before + difference) / count,
      difference: intervalOf(difference, { variance, fewest }, requests),
      estimated,
      unknown,
    };
  }
}
