/** Replays a ledger and compares its decisions with those of another configuration. */
import { nanoFromUsd } from '../../../catalog/cost.ts';
import type { Endpoint } from '../../../catalog/endpoint.ts';
import { ratesAt } from '../../../catalog/price-at.ts';
import type { LedgerCandidate, LedgerRecord } from '../../../contracts/ledger.ts';
import { partOfEndpoint } from '../sum-costs.ts';
import { expectedCost } from '../../selection/adaptive/expected-cost.ts';
import type { PlanStep, RoutePlan } from '../../selection/route-plan.ts';
import { DecideAgain, type DecisionRules } from './decide-again.ts';
import { Metric, MOST_WAYS, type Ways } from './metric.ts';
import type { ReplayChange, ReplayReport } from './replay-report.ts';

const DISCONNECTED = 499;

type Change = { -readonly [Name in keyof ReplayChange]: ReplayChange[Name] };

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
  /** By the endpoint of then, and the one of now. */
  readonly #changes = new Map<string | null, Map<string | null, Change>>();
  readonly #cost = new Metric();
  readonly #failures = new Metric('shares');
  readonly #firstToken = new Metric();
  readonly #answer = new Metric();
  /** Tags that records have. */
  readonly #tags = new Set<string>();
  #records = 0;
  #decided = 0;
  #unroutable = 0;
  #differing = 0;
  #reordered = 0;
  #priced = 0;
  #unpriced = 0;
  #expectedBefore = 0;
  #expectedAfter = 0;
  readonly #ways: Ways = { count: 0, places: [], prices: [] };

  constructor(rules: DecisionRules) {
    this.#rules = rules;
    this.#again = new DecideAgain(rules);
  }

  /** Decides a record again. Records are given in the order in which they were kept. */
  add(record: LedgerRecord): void {
    this.#records += 1;
    if (record.decision === undefined) return;
    this.#decided += 1;
    for (const tag in record.tags) this.#tags.add(tag);
    const plan = this.#again.plan(record);
    const [before] = record.candidates;
    const after = plan?.steps[0];
    const [from, to] = [before?.endpoint ?? null, after?.endpoint.id ?? null];
    if (to === null && from !== null) this.#unroutable += 1;
    if (from !== to) this.#differ(from, to);
    else if (plan !== undefined && !isSame(plan, record)) this.#reordered += 1;
    this.#expect(before, after);
    this.#compare(record, from === to ? undefined : plan?.steps);
  }

  report(): ReplayReport {
    const count = Math.max(1, this.#priced);
    const changes = [...this.#changes.values()].flatMap((byEndpoint) => [...byEndpoint.values()]);
    return {
      records: this.#records,
      decided: this.#decided,
      unroutable: this.#unroutable,
      differing: this.#differing,
      reordered: this.#reordered,
      identical: this.#differing === 0 && this.#reordered === 0,
      undecided_rules: this.#undecidedRules(),
      changes: changes.map((change) => ({ ...change })).sort(byFrequency),
      expected_cost_nano_usd: {
        requests: this.#priced,
        before: this.#expectedBefore / count,
        after: this.#expectedAfter / count,
      },
      cost_nano_usd: this.#cost.result(),
      unpriced: this.#unpriced,
      failures: this.#failures.result(),
      first_token_ms: this.#firstToken.result(),
      answer_ms: this.#answer.result(),
    };
  }

  #undecidedRules(): readonly string[] {
    const isUnknown = (tag: string): boolean => !this.#tags.has(tag);
    const undecided = this.#rules.ruleTable?.filter(({ rule }) =>
      Object.keys(rule.when?.metadata ?? {}).some(isUnknown),
    );
    return undecided?.map(({ rule }) => rule.id) ?? [];
  }

  #differ(from: string | null, to: string | null): void {
    this.#differing += 1;
    let byEndpoint = this.#changes.get(from);
    if (byEndpoint === undefined) this.#changes.set(from, (byEndpoint = new Map()));
    const known = byEndpoint.get(to);
    if (known === undefined) byEndpoint.set(to, { from, to, requests: 1 });
    else known.requests += 1;
  }

  #expect(before: LedgerCandidate | undefined, after: PlanStep | undefined): void {
    const [was, usd] = [before?.expected_cost_nano_usd, after?.figures?.expectedCostUsd];
    if (was === undefined || usd === undefined) return;
    this.#priced += 1;
    this.#expectedBefore += was;
    this.#expectedAfter += nanoFromUsd(usd);
  }

  /**
   * What came of a request, and what that shows of the endpoint that was called first: calls that follow a failure, and
   * the time that it took, belong to what it means to ask there first.
   */
  #compare(record: LedgerRecord, moved: readonly PlanStep[] | undefined): void {
    const { at, attempts, status, stream, error_type: error, first_token_ms: firstTokenMs } = record;
    const requested = attempts[0]?.endpoint;
    const place = requested === undefined ? undefined : this.#place(requested);
    const to = moved?.[0] === undefined ? undefined : this.#place(moved[0].endpoint.id);
    if (status !== DISCONNECTED) {
      const failed = error === undefined ? 0 : 1;
      if (to === undefined) this.#failures.stays(failed);
      else this.#failures.moves(failed, at, to);
      if (place !== undefined) this.#failures.observe(place, at, failed);
    }
    if (error === undefined && firstTokenMs !== undefined) {
      const metric = stream ? this.#firstToken : this.#answer;
      if (to === undefined) metric.stays(firstTokenMs);
      else metric.moves(firstTokenMs, at, to);
      if (place !== undefined) metric.observe(place, at, firstTokenMs);
    }
    if (requested === undefined || place === undefined) return;
    let cost = 0;
    for (const { cost_nano_usd: charged = 0, unpriced } of attempts) {
      if (unpriced === true) {
        this.#unpriced += 1;
        return;
      }
      cost += charged;
    }
    if (moved === undefined || to === undefined) this.#cost.stays(cost);
    else this.#cost.moves(cost, at, to, this.#waysOf(moved, record));
    // Tokens differ from request to request; what is left beside their price is alike.
    const answered = record.endpoint === undefined ? undefined : this.#endpoint(record.endpoint, record.account);
    if (answered !== undefined) this.#cost.observe(place, at, cost - this.#price(answered, record));
    if (status === DISCONNECTED) return;
    if (error !== undefined || record.endpoint !== requested) this.#cost.wentOn(place, at);
    else this.#cost.answeredAtFirst(place, at);
  }

  #waysOf(steps: readonly PlanStep[], record: LedgerRecord): Ways {
    const ways = this.#ways;
    ways.count = Math.min(MOST_WAYS, steps.length);
    for (let way = 0; way < ways.count; way += 1) {
      const endpoint = steps[way]?.endpoint;
      if (endpoint === undefined) continue;
      ways.places[way] = this.#place(endpoint.id);
      ways.prices[way] = this.#price(endpoint, record);
    }
    return ways;
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
  #price(endpoint: Endpoint, { usage, decision, candidates }: LedgerRecord): number {
    const { price, byok, id } = endpoint;
    if (price === undefined || usage === undefined || decision === undefined || byok !== undefined) return 0;
    const { prompt_tokens: prompt, completion_tokens: answer } = usage;
    const { above, changes } = price;
    const rates =
      above === undefined && changes === undefined
        ? price
        : ratesAt(price, { at: decision.created, promptTokens: prompt });
    let warmth = 0;
    for (const candidate of candidates) {
      if (candidate.endpoint !== id) continue;
      warmth = candidate.warmth ?? 0;
      break;
    }
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
