import { nanoFromUsd } from '../../catalog/cost.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import { ratesAt } from '../../catalog/price-at.ts';
import type { LedgerCandidate, LedgerRecord } from '../../contracts/ledger.ts';
import { partOfEndpoint } from '../ledger/sum-costs.ts';
import { expectedCost } from '../selection/adaptive/expected-cost.ts';
import type { PlanStep, RoutePlan } from '../selection/route-plan.ts';
import { DecideAgain, type DecisionRules } from './decide-again.ts';
import { intervalOf, LocalMeans } from './local-means.ts';
import type { Compared, Estimated, ReplayChange, ReplayReport } from './replay-report.ts';

/** Requests whose outcomes are estimated when all are known. There may be millions: a list for each number is small. */
class Moved {
  readonly at: number[] = [];
  /** Numbers of the endpoints that they would go to. */
  readonly to: number[] = [];
  readonly before: number[] = [];
  /** What is known of outcomes there besides estimates: the price at the first endpoints that would be asked. */
  readonly ways: (readonly Way[])[] = [];
}

/** What a request costs at an endpoint. */
interface Way {
  readonly place: number;
  readonly price: number;
}

/** Endpoints of a plan that are looked at: it is rare that more are asked. */
const WAYS = 3;
const NO_WAYS: readonly Way[] = [];
const NO_STEPS: readonly PlanStep[] = [];

/** What is compared of requests: one number of each. */
class Metric {
  readonly #means = new LocalMeans();
  /** How often requests that asked an endpoint first were answered by another one. */
  readonly #goesOn = new LocalMeans();
  readonly #moved = new Moved();
  readonly #isShare: boolean;
  #requests = 0;
  #sum = 0;

  constructor(isShare = false) {
    this.#isShare = isShare;
  }

  /** Notes the outcome of a request; `to` where it would go elsewhere. */
  add(value: number, at: number, to: number | undefined, ways = NO_WAYS): void {
    if (to === undefined) {
      this.#requests += 1;
      this.#sum += value;
      return;
    }
    const { at: times, to: places, before, ways: all } = this.#moved;
    times.push(at);
    places.push(to);
    before.push(value);
    all.push(ways);
  }

  /** Notes what a request showed of the endpoint that it went to. */
  observe(place: number, at: number, value: number): void {
    this.#means.add(place, at, value);
  }

  /** Notes whether a request that asked an endpoint first was answered by another one. */
  wentOn(place: number, at: number, wentOn: boolean): void {
    this.#goesOn.add(place, at, wentOn ? 1 : 0);
  }

  /**
   * What a request is expected to cost: the price at the first endpoint, and at those after it as often as requests go
   * on from there. One that nobody answers costs nothing.
   *
   * @param onVariance - Told how much that may vary.
   */
  #expectedPrice([first, ...others]: readonly Way[], at: number, onVariance: (variance: number) => void): number {
    if (first === undefined) return 0;
    let [mean, square] = [0, 0];
    for (const { place, price } of others.toReversed()) {
      const goesOn = this.#goesOn.estimate(place, at, 0, false) ?? 0;
      square = (1 - goesOn) * price ** 2 + goesOn * square;
      mean = (1 - goesOn) * price + goesOn * mean;
    }
    const goesOn = this.#goesOn.estimate(first.place, at, 0, false) ?? 0;
    const expected = first.price + (this.#goesOn.estimate(first.place, at, mean - first.price, false) ?? 0);
    onVariance(Math.max(0, (1 - goesOn) * first.price ** 2 + goesOn * square - expected ** 2));
    return expected;
  }

  result(): Estimated {
    let unknown = 0;
    let before = this.#sum;
    let difference = 0;
    let chance = 0;
    const { at: times, to: places, before: values, ways } = this.#moved;
    for (const [index, at] of times.entries()) {
      const was = values[index] ?? 0;
      const estimate = this.#means.estimate(places[index] ?? 0, at);
      if (estimate === undefined) unknown += 1;
      else {
        before += was;
        const price = this.#expectedPrice(ways[index] ?? NO_WAYS, at, (one) => (chance += one));
        difference += estimate + price - was;
      }
    }
    const [own, further] = [this.#means.variance(this.#isShare), this.#goesOn.variance(true)];
    const variance = own.variance + further.variance + chance;
    const fewest = Math.min(own.fewest, further.fewest);
    const estimated = times.length - unknown;
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

const DISCONNECTED = 499;

/**
 * Decides recorded requests again under the rules of a configuration, and compares. Keeps a few numbers of each record
 * and not the record, so that files of any length can be read through it. Pure: the same records in the same order give
 * the same report.
 */
export class Replay {
  readonly #rules: DecisionRules;
  readonly #again: DecideAgain;
  /** Numbers of endpoints, by their ids. */
  readonly #places = new Map<string, number>();
  readonly #endpoints = new Map<string, Endpoint | undefined>();
  readonly #changes = new Map<string, { readonly from: string | null; readonly to: string | null; requests: number }>();
  readonly #cost = new Metric();
  readonly #failures = new Metric(true);
  readonly #firstToken = new Metric();
  readonly #answer = new Metric();
  #records = 0;
  #decided = 0;
  #unroutable = 0;
  #differing = 0;
  #reordered = 0;
  #expected: Compared = { requests: 0, before: 0, after: 0 };

  constructor(rules: DecisionRules) {
    this.#rules = rules;
    this.#again = new DecideAgain(rules);
  }

  /** Decides a record again. Records are given in the order in which they were kept. */
  add(record: LedgerRecord): void {
    this.#records += 1;
    if (record.decision === undefined) return;
    this.#decided += 1;
    const plan = this.#again.plan(record);
    const [before] = record.candidates;
    const after = plan?.steps[0];
    const [from, to] = [before?.endpoint ?? null, after?.endpoint.id ?? null];
    if (to === null && from !== null) this.#unroutable += 1;
    if (from !== to) this.#differ(from, to);
    else if (plan !== undefined && !isSame(plan, record)) this.#reordered += 1;
    this.#expect(before, after);
    this.#compare(record, from === to ? NO_STEPS : (plan?.steps.slice(0, WAYS) ?? NO_STEPS));
  }

  report(): ReplayReport {
    const { requests, before, after } = this.#expected;
    const count = Math.max(1, requests);
    return {
      records: this.#records,
      decided: this.#decided,
      unroutable: this.#unroutable,
      differing: this.#differing,
      reordered: this.#reordered,
      identical: this.#differing === 0 && this.#reordered === 0,
      changes: [...this.#changes.values()].map((change) => ({ ...change })).sort(byFrequency),
      expected_cost_nano_usd: { requests, before: before / count, after: after / count },
      cost_nano_usd: this.#cost.result(),
      failures: this.#failures.result(),
      first_token_ms: this.#firstToken.result(),
      answer_ms: this.#answer.result(),
    };
  }

  #differ(from: string | null, to: string | null): void {
    this.#differing += 1;
    const key = `${from ?? ''}\n${to ?? ''}`;
    const known = this.#changes.get(key);
    if (known === undefined) this.#changes.set(key, { from, to, requests: 1 });
    else known.requests += 1;
  }

  #expect(before: LedgerCandidate | undefined, after: PlanStep | undefined): void {
    const [was, usd] = [before?.expected_cost_nano_usd, after?.figures?.expectedCostUsd];
    if (was === undefined || usd === undefined) return;
    const { requests, before: sum, after: next } = this.#expected;
    this.#expected = { requests: requests + 1, before: sum + was, after: next + nanoFromUsd(usd) };
  }

  /**
   * What came of a request, and what that shows of the endpoint that was asked first: calls that follow a failure, and
   * the time that it took, belong to what it means to ask there first.
   */
  #compare(record: LedgerRecord, moved: readonly PlanStep[]): void {
    const { at, attempts, status, stream, first_token_ms: firstTokenMs } = record;
    const asked = attempts[0]?.endpoint;
    const place = asked === undefined ? undefined : this.#place(asked);
    const ways =
      moved.length === 0
        ? NO_WAYS
        : moved.map(({ endpoint }) => ({ place: this.#place(endpoint.id), price: this.#price(endpoint, record) }));
    const to = ways[0]?.place;
    if (status !== DISCONNECTED) {
      const failed = record.error_type === undefined ? 0 : 1;
      this.#failures.add(failed, at, to);
      if (place !== undefined) this.#failures.observe(place, at, failed);
    }
    if (record.error_type === undefined && firstTokenMs !== undefined) {
      const metric = stream ? this.#firstToken : this.#answer;
      metric.add(firstTokenMs, at, to);
      if (place !== undefined) metric.observe(place, at, firstTokenMs);
    }
    if (asked === undefined || place === undefined) return;
    let cost = 0;
    for (const { cost_nano_usd: charged = 0 } of attempts) cost += charged;
    this.#cost.add(cost, at, to, ways);
    // Tokens differ from request to request; what is left beside their price is alike.
    const answered = record.endpoint === undefined ? undefined : this.#endpoint(record.endpoint, record.account);
    if (answered !== undefined) this.#cost.observe(place, at, cost - this.#price(answered, record));
    if (status !== DISCONNECTED) {
      this.#cost.wentOn(place, at, record.error_type !== undefined || record.endpoint !== asked);
    }
  }

  #place(id: string): number {
    const known = this.#places.get(id);
    if (known !== undefined) return known;
    const place = this.#places.size;
    this.#places.set(id, place);
    return place;
  }

  #endpoint(id: string, account: string): Endpoint | undefined {
    if (!this.#endpoints.has(id)) {
      const all = this.#rules.catalog.endpoints(partOfEndpoint(id, 'model', account));
      this.#endpoints.set(
        id,
        all.find((one) => one.id === id),
      );
    }
    return this.#endpoints.get(id);
  }

  /** Nano-dollars of the answer's tokens at an endpoint, as far as its price is known; cached ones as far as expected. */
  #price({ price, byok, id }: Endpoint, { usage, decision, candidates }: LedgerRecord): number {
    if (price === undefined || usage === undefined || decision === undefined || byok !== undefined) return 0;
    const { prompt_tokens: prompt, completion_tokens: answer } = usage;
    const rates = ratesAt(price, { at: decision.created, promptTokens: prompt });
    const warmth = candidates.find(({ endpoint }) => endpoint === id)?.warmth ?? 0;
    return nanoFromUsd(expectedCost(rates, { prompt, answer }, Math.round(warmth * prompt), 1) ?? 0);
  }
}

/** Whether a plan is the one in the record, reasons and numbers included. */
function isSame({ steps, rejected }: RoutePlan, { candidates, excluded }: LedgerRecord): boolean {
  // What plugins left out comes first in a record, and is nothing that a plan decides.
  const own = excluded.length - rejected.length;
  return (
    steps.length === candidates.length &&
    own >= 0 &&
    steps.every((step, index) => isSameStep(step, candidates[index])) &&
    rejected.every(({ endpoint, reason, detail }, index) => {
      const then = excluded[own + index];
      return then?.endpoint === endpoint.id && then.reason === reason && then.detail === detail;
    })
  );
}

function isSameStep({ endpoint, why, figures }: PlanStep, candidate: LedgerCandidate | undefined): boolean {
  if (candidate === undefined || candidate.endpoint !== endpoint.id || candidate.why !== why) return false;
  if (figures === undefined) return candidate.share === undefined;
  const cost = figures.expectedCostUsd === undefined ? undefined : nanoFromUsd(figures.expectedCostUsd);
  return candidate.expected_cost_nano_usd === cost && candidate.share === Math.round(figures.share * 1e4) / 1e4;
}

function byFrequency(left: ReplayChange, right: ReplayChange): number {
  const name = ({ from, to }: ReplayChange): string => `${from ?? ''}\n${to ?? ''}`;
  return right.requests - left.requests || (name(left) < name(right) ? -1 : 1);
}
