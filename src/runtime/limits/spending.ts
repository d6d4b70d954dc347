/** Holds accounts to their budgets, call by call. */
import { fill } from '../../options/option.ts';
import { BUDGET, type TaggedBudgets } from '../../options/spending.ts';
import { limitedTags } from '../../core/limits/rate-limits.ts';
import { nanoFromUsd, usdFromNano } from '../../catalog/cost.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { Account } from '../../contracts/account.ts';
import { type Budget, BUDGET_PERIODS, type BudgetPeriod } from '../../core/limits/budget.ts';
import { budgetError, sufficesLater, unpricedError } from '../../core/limits/limit-errors.ts';
import { type MostCost, mostCost, mostPromptTokens } from '../../core/limits/most-cost.ts';
import { cheaperOf, PRICE_UNKNOWN, type Unpaid, unpaidDetail, withoutUnpaid } from '../../core/limits/unpaid.ts';
import type { RoutePlan } from '../../core/selection/route-plan.ts';
import type { RoutedRequest } from '../../contracts/request.ts';
import type { BudgetKeeper, BudgetTicket, HeldBudget, ShortBudget } from '../../contracts/account-limits.ts';
import { type EventHub, warn } from '../events/events.ts';
import type { AttemptedCall, CallEnd } from '../chat/attempt-call.ts';
import { chargedFor, spentOnFailed } from '../../core/stream/billing.ts';
import { PREFERENCE_WINDOW_MS } from '../../core/selection/sort.ts';
import { throughputOf } from '../../core/selection/performance.ts';
import type { AttemptFailure } from '../../contracts/failure.ts';
import type { Environment } from '../../platform/environment.ts';
import type { EndpointRecords } from '../endpoints/endpoint-records.ts';

/** What budgets look at in a request. */
type Tagged = Pick<RoutedRequest, 'account' | 'metadata' | 'session' | 'within'>;

/** How budgets are held. */
export interface SpendingPolicy extends TaggedBudgets {
  /** For accounts that have no budget of their own. */
  readonly everybody: Budget | undefined;
  /** What becomes of calls whose price is unknown. */
  readonly unknownPrice: 'refuse' | 'allow';
}

/** How budgets are held, and what is counted besides. */
interface SpendingOptions extends SpendingPolicy {
  /** Whether what is spent with a key is counted although no budget limits it. */
  readonly countsKeys: boolean;
}

/**
 * Holds accounts to their budgets, call by call: fallbacks, turns of a tool loop and calls of plugins are all upstream
 * calls, so each reserves what it can cost at most, and none of them is forgotten.
 */
export class Spending {
  readonly #keeper: BudgetKeeper;
  readonly #policy: SpendingPolicy;
  readonly #events: EventHub;
  /** Whether what is spent with a key is counted although no budget limits it. */
  readonly #countsKeys: boolean;
  /** Whether requests of any account may have budgets. */
  readonly #isCommon: boolean;

  constructor(keeper: BudgetKeeper, policy: SpendingOptions, events: EventHub) {
    this.#keeper = keeper;
    this.#policy = policy;
    this.#events = events;
    // Nobody could be told of it otherwise.
    this.#countsKeys = policy.countsKeys && keeper.spentUnder !== undefined;
    this.#isCommon = (policy.everybody ?? policy.tags ?? policy.session) !== undefined;
  }

  /** True when what this account spends may be counted: some of its requests may have budgets of their own. */
  holds({ budget, keyBudget }: Account): boolean {
    return this.#isCommon || (budget ?? keyBudget) !== undefined;
  }

  /**
   * Reserves what a call can cost. Undefined for one that costs the account nothing: it has its own key there.
   *
   * @param promptTokens - Bound of the prompt.
   * @returns What is missing where there is not enough left, or the price is unknown: with a 402 that may be retried when
   * the rest is only reserved for other calls.
   * @throws {@link RouterError} 429 for a new session or value of metadata where the account has as many as are counted.
   */
  async reserve(
    request: RoutedRequest,
    endpoint: Endpoint,
    promptTokens: number,
  ): Promise<BudgetTicket | Unpaid | undefined> {
    if (endpoint.byok !== undefined) return undefined;
    const budgets = this.#budgetsOfRequest(request);
    if (budgets.length === 0) return undefined;
    const { unknownPrice } = this.#policy;
    const cost = mostCost(request, endpoint, promptTokens);
    if (cost === undefined && unknownPrice === 'refuse') return unpricedAt(endpoint);
    const nanoUsd = cost?.nanoUsd ?? 0;
    // What is free can be used with an empty budget too; what it costs in the end is counted all the same.
    const holding = cost?.nanoUsd === 0 ? budgets.map(unlimited) : budgets;
    const decision = await this.#keeper.reserve({ account: request.account.id, budgets: holding, nanoUsd });
    return decision.granted ? decision.ticket : unpaidBy(decision.short, cost ?? NOTHING);
  }

  /** A plan as a call would follow it now: without the endpoints that the budgets of the request cannot pay. */
  async affordable(plan: RoutePlan, request: RoutedRequest): Promise<RoutePlan> {
    const budgets = this.holds(request.account) ? this.#budgetsOfRequest(request) : [];
    if (budgets.length === 0) return plan;
    const decision = await this.#keeper.reserve({ account: request.account.id, budgets, nanoUsd: 0 });
    if (decision.granted) this.settle(decision.ticket, 0);
    else if (decision.short.mostNames !== undefined) throw budgetError(decision.short, NOTHING);
    const left = decision.granted ? decision.left : decision.short;
    const promptTokens = mostPromptTokens(request);
    return withoutUnpaid(plan, (endpoint) => {
      if (endpoint.byok !== undefined) return undefined;
      const cost = mostCost(request, endpoint, promptTokens);
      if (cost === undefined && this.#policy.unknownPrice === 'refuse') return PRICE_UNKNOWN;
      if (left === undefined || cost?.nanoUsd === 0) return undefined;
      const nanoUsd = cost?.nanoUsd ?? 0;
      return left.remainingNanoUsd < nanoUsd ? unpaidDetail(left, nanoUsd) : undefined;
    });
  }

  /**
   * Looks whether anything is left to spend: what is only reserved for calls under way is. Nothing stays reserved.
   * Accounts that pay providers themselves are not called.
   *
   * @throws {@link RouterError} 402
   */
  async check(account: Account): Promise<void> {
    if (!this.holds(account) || Object.keys(account.providerKeys ?? {}).length > 0) return;
    const budgets = this.#budgetsOf(account);
    if (budgets.length === 0) return;
    const claim = { account: account.id, budgets, nanoUsd: 1 };
    const decision = await this.#keeper.reserve(claim);
    if (decision.granted) this.settle(decision.ticket, 0);
    else if (!sufficesLater(decision.short, claim.nanoUsd))
      throw budgetError(decision.short, { ...NOTHING, nanoUsd: claim.nanoUsd });
  }

  /** Replaces a reservation by what was spent. Nobody waits for it. */
  settle(ticket: BudgetTicket, nanoUsd: number): void {
    void this.#shown(async () => this.#keeper.settle(ticket, nanoUsd));
  }

  /** Notes what plugins and tools spent beside the models. It has happened, so it is never refused. */
  charge(request: Tagged, usd: number | undefined): void {
    const { account } = request;
    const nanoUsd = nanoFromUsd(usd ?? 0);
    if (!(nanoUsd > 0)) return;
    this.count(account, nanoUsd);
    if (this.holds(account)) this.#add(account, this.#budgetsOfRequest(request), nanoUsd);
  }

  /** Whether what is spent with the key of this account is counted for people to see. */
  counts({ keyId }: Account): boolean {
    return this.#countsKeys && keyId !== undefined;
  }

  /** Counts what was spent with a key, where no budget of its does. Nobody waits for it. */
  count(account: Account, nanoUsd: number): void {
    if (!(nanoUsd > 0) || !this.counts(account)) return;
    const { keyBudget } = account;
    const limited = keyBudget && fill(BUDGET, keyBudget).period;
    const others = keyPeriods(account).filter(({ period }) => period !== limited);
    this.#add(account, others, nanoUsd);
  }

  /** US dollars that were spent with the key of an account, by period; undefined where it is not counted. */
  async spentWith(account: Account): Promise<Readonly<Record<BudgetPeriod, number>> | undefined> {
    if (!this.counts(account)) return undefined;
    try {
      const spent = await this.#keeper.spentUnder?.(account.id, keyPeriods(account));
      const [day = 0, week = 0, month = 0, total = 0] = (spent ?? []).map(usdFromNano);
      return { day, week, month, total };
    } catch {
      // A key is managed also when the store of amounts is away.
      return undefined;
    }
  }

  #add(account: Account, limited: readonly HeldBudget[], nanoUsd: number): void {
    if (limited.length === 0) return;
    void this.#shown(async () => {
      // A budget that is used up gives no ticket; its own limit must not hide what was spent.
      const budgets = limited.map(unlimited);
      const decision = await this.#keeper.reserve({ account: account.id, budgets, nanoUsd: 0 });
      if (decision.granted) await this.#keeper.settle(decision.ticket, nanoUsd);
    });
  }

  async #shown(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch {
      warn(this.#events, {
        code: 'budget',
        message: 'What a request cost could not be written to its budget; check the store in "state"',
      });
    }
  }

  #budgetsOfRequest(request: Tagged): readonly HeldBudget[] {
    // What copies cost counts to the budget of their mirror alone.
    if (request.within?.mirror !== undefined) return this.#budgetsOf(request.account);
    const tags = limitedTags(this.#policy, request).map(({ key, value, limits }) => ({
      ...held(key === undefined ? 'session' : 'tag', limits),
      tag: { key, value },
    }));
    return [...this.#budgetsOf(request.account), ...tags];
  }

  #budgetsOf({ budget = this.#policy.everybody, keyBudget, keyId }: Account): readonly HeldBudget[] {
    return [
      ...(budget === undefined ? [] : [held('account', budget)]),
      ...(keyBudget === undefined ? [] : [{ ...held('key', keyBudget), key: keyId }]),
    ];
  }
}

/** A budget for each period of a key that limits nothing, and has the counter of one that would. */
function keyPeriods({ keyId }: Account): readonly HeldBudget[] {
  return BUDGET_PERIODS.map((period) => ({ scope: 'key', key: keyId, limitNanoUsd: Number.MAX_SAFE_INTEGER, period }));
}

const NOTHING: MostCost = { nanoUsd: 0, answerTokens: 0, nanoUsdPerAnswerToken: 0 };

function held(scope: HeldBudget['scope'], budget: Budget): HeldBudget {
  const { limitUsd, period } = fill(BUDGET, budget);
  return { scope, limitNanoUsd: nanoFromUsd(limitUsd), period };
}

/** A budget that is counted and limits nothing. */
function unlimited(budget: HeldBudget): HeldBudget {
  return { ...budget, limitNanoUsd: Number.MAX_SAFE_INTEGER };
}

function unpaidBy(short: ShortBudget, cost: MostCost): Unpaid {
  const error = budgetError(short, cost);
  if (short.mostNames !== undefined) throw error;
  return { error, detail: unpaidDetail(short, cost.nanoUsd), neededNanoUsd: cost.nanoUsd };
}

function unpricedAt({ model, providerName }: Endpoint): Unpaid {
  return { error: unpricedError(model, providerName), detail: PRICE_UNKNOWN, neededNanoUsd: Infinity };
}

/** What reservations are made with. */
interface ReservationServices {
  readonly spending: Spending;
  readonly environment: Pick<Environment, 'now'>;
  readonly records: Pick<EndpointRecords, 'record'>;
}

/** Tokens that an endpoint generates in a second whose speed is not known: few are faster. */
const USUAL_TOKENS_PER_SECOND = 100;

/** What the calls of one execution reserve, one after the other. */
export class Reservation {
  readonly #spending: Spending;
  readonly #services: ReservationServices;
  readonly #request: RoutedRequest;
  #endpoint: Endpoint | undefined;
  #ticket: BudgetTicket | undefined;
  /** The cheapest of those that could not be paid. */
  #cheapest: Unpaid | undefined;
  #counted: { readonly request: RoutedRequest; readonly tokens: number } | undefined;

  constructor(services: ReservationServices, request: RoutedRequest) {
    this.#spending = services.spending;
    this.#services = services;
    this.#request = request;
  }

  /** True when a call of this endpoint is paid for. */
  covers(endpoint: Endpoint): boolean {
    return this.#endpoint === endpoint;
  }

  /**
   * Reserves for a call of an endpoint, in the place of what was reserved for another one.
   *
   * @param request - As it goes to this endpoint.
   * @returns What is missing where there is not enough left: then nothing is reserved.
   */
  async make(endpoint: Endpoint, request: RoutedRequest): Promise<Unpaid | undefined> {
    this.release();
    const reserved = await this.#spending.reserve(request, endpoint, this.#promptTokens(request));
    if (reserved !== undefined && 'error' in reserved) return reserved;
    this.#ticket = reserved;
    this.#endpoint = endpoint;
    return undefined;
  }

  /**
   * Reserves for a call of an endpoint of a plan, and gives the plan back: without the endpoint where the budgets cannot
   * pay it.
   */
  async makeWithin(plan: RoutePlan, endpoint: Endpoint, request: RoutedRequest): Promise<RoutePlan> {
    const unpaid = await this.make(endpoint, request);
    if (unpaid === undefined) return plan;
    this.#cheapest = cheaperOf(this.#cheapest, unpaid);
    return withoutUnpaid(plan, ({ id }) => (id === endpoint.id ? unpaid.detail : undefined));
  }

  /**
   * Ends a request that no endpoint is left for.
   *
   * @throws {@link RouterError} 402, with what the cheapest would have needed.
   */
  refuse(): void {
    if (this.#cheapest !== undefined) throw this.#cheapest.error;
  }

  /** Bound of the prompt: counted once, however many endpoints are asked for. */
  #promptTokens(request: RoutedRequest): number {
    if (this.#counted?.request !== request) this.#counted = { request, tokens: mostPromptTokens(request) };
    return this.#counted.tokens;
  }

  /**
   * Settles the call that was reserved for, and gives the nano-dollars that were charged; undefined where nothing was
   * reserved, and where they are unknown. The unknown cost of a response is taken for all that was reserved; that of a
   * call that failed, and of one for which nothing could be reserved, for nothing. Of a call that its client has aborted,
   * what the model may have thought before it said anything is charged too, up to what was reserved.
   */
  settle(made: AttemptedCall, end: CallEnd): number | undefined {
    const ticket = this.#take();
    if (ticket === undefined) return undefined;
    const said = chargedFor(made, this.#request, end);
    const thought =
      'failure' in end && end.failure.kind === 'aborted' ? this.#withThought(made, end.failure) : undefined;
    const known = thought === undefined ? said : Math.max(said ?? 0, Math.min(thought, ticket.nanoUsd));
    const reserved = 'failure' in end && end.kept === undefined ? 0 : ticket.nanoUsd;
    this.#spending.settle(ticket, known ?? reserved);
    return known ?? (reserved || undefined);
  }

  /** What a call costs with all that its model may have generated by the time that it said its first word, or was left. */
  #withThought(made: AttemptedCall, failed: AttemptFailure): number | undefined {
    const { reported } = made.call;
    if (this.#request.operation !== 'chat' || reported.isComplete === true) return undefined;
    const { environment, records } = this.#services;
    const now = environment.now();
    const performance = records.record(made.endpoint)?.performance;
    const speed = (performance && throughputOf(performance, now, PREFERENCE_WINDOW_MS)?.p50) ?? USUAL_TOKENS_PER_SECOND;
    const said = reported.likelyTokens ?? 0;
    const until = said > 0 ? made.firstTokenAt : now;
    const likelyTokens = said + Math.ceil((Math.max(0, until - made.startedAt) / 1_000) * speed);
    return spentOnFailed({ ...made, call: { reported: { ...reported, likelyTokens } } }, this.#request, failed);
  }

  /** Gives back what no call came to use. */
  release(): void {
    const ticket = this.#take();
    if (ticket !== undefined) this.#spending.settle(ticket, 0);
  }

  #take(): BudgetTicket | undefined {
    const ticket = this.#ticket;
    this.#ticket = undefined;
    this.#endpoint = undefined;
    return ticket;
  }
}
