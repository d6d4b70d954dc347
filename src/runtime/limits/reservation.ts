import type { Endpoint } from '../../catalog/endpoint.ts';
import type { BudgetTicket } from '../../core/limits/budget.ts';
import { mostPromptTokens } from '../../core/limits/most-tokens.ts';
import type { RoutedRequest } from '../../core/normalize/normalized-request.ts';
import type { AttemptedCall, CallEnd } from '../chat/attempt-call.ts';
import { chargedFor } from '../chat/settle.ts';
import type { Spending } from './spending.ts';

/** What the calls of one execution reserve, one after the other. */
export class Reservation {
  readonly #spending: Spending;
  readonly #request: RoutedRequest;
  #endpoint: Endpoint | undefined;
  #ticket: BudgetTicket | undefined;

  constructor(spending: Spending, request: RoutedRequest) {
    this.#spending = spending;
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
   * @throws {@link RouterError} 402 when there is not enough left.
   */
  async make(endpoint: Endpoint, request: RoutedRequest): Promise<void> {
    this.release();
    this.#ticket = await this.#spending.reserve(request, endpoint, mostPromptTokens(request));
    this.#endpoint = endpoint;
  }

  /**
   * Settles the call that was reserved for, and gives the nano-dollars that were charged; undefined where nothing was
   * reserved. A cost that is unknown is taken for all that was reserved.
   */
  settle(made: AttemptedCall, end: CallEnd): number | undefined {
    const ticket = this.#take();
    if (ticket === undefined) return undefined;
    const nanoUsd = chargedFor(made, this.#request, end) ?? ticket.nanoUsd;
    this.#spending.settle(ticket, nanoUsd);
    return nanoUsd;
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
