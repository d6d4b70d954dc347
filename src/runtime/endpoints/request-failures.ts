/** Takes back failures that turn out to be the fault of their request. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { CountedHealth } from '../../core/fallback/forgiven.ts';
import { type AttemptFailure, FAILURE_RULES } from '../../contracts/failure.ts';

/** What the failures of one request have left at an endpoint. */
interface CountedFailure {
  readonly endpoint: Endpoint;
  readonly counted: CountedHealth;
  /** How often it has failed there. */
  readonly failures: number;
}

/** What the failures of one request have left at endpoints, as long as they may turn out to be its own. */
export class RequestFailures {
  readonly #byEndpoint = new Map<string, CountedFailure>();

  get all(): readonly CountedFailure[] {
    return [...this.#byEndpoint.values()];
  }

  /** Whether a failure was counted at an endpoint: no other of the same request is. */
  has({ id }: Endpoint): boolean {
    return this.#byEndpoint.has(id);
  }

  /** Notes a failure; `again` where one of the same request was counted there before. */
  note(endpoint: Endpoint, counted: CountedHealth | 'again'): void {
    const before = this.#byEndpoint.get(endpoint.id);
    if (counted !== 'again') this.#byEndpoint.set(endpoint.id, { endpoint, counted, failures: 1 });
    else if (before !== undefined) this.#byEndpoint.set(endpoint.id, { ...before, failures: before.failures + 1 });
  }
}

/** Whether a failure counts against its endpoint in a way that its request may have caused. */
export function isBlamed({ kind, doubtful }: AttemptFailure): boolean {
  return FAILURE_RULES[kind].breaks && doubtful !== true;
}
