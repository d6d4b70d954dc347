import { FRESH_BUDGET, type RetryBudgetPolicy, mayRepeat, spend } from '../core/fallback/retry-budget.ts';
import type { Environment } from './environment.ts';

/** Holds the process-wide budget of repetitions. */
export class RetryBudgetKeeper {
  #budget = FRESH_BUDGET;
  readonly #policy: RetryBudgetPolicy;
  readonly #environment: Environment;

  constructor(policy: RetryBudgetPolicy, environment: Environment) {
    this.#policy = policy;
    this.#environment = environment;
  }

  request(): void {
    this.#budget = spend(this.#budget, 'request', this.#environment.now());
  }

  repetition(): void {
    this.#budget = spend(this.#budget, 'repetition', this.#environment.now());
  }

  mayRepeat(): boolean {
    return mayRepeat(this.#budget, this.#policy, this.#environment.now());
  }
}
