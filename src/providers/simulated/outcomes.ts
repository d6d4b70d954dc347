/** Decides how calls of a simulated provider come out. */
import { Chance } from './chance.ts';
import { type AttemptFailure, failure, type FailureKind } from '../../contracts/failure.ts';

/** A call that fails before it answers. Status and message have a default that suits the kind. */
export type SimulatedFailure = Omit<AttemptFailure, 'message'> & { readonly message?: string | undefined };

/** An answer that ends early, in its middle. */
export interface SimulatedBreak extends Partial<SimulatedFailure> {
  /** Tokens that come before the break. */
  readonly breakAfterTokens: number;
}

/** How one call comes out: answered, failed, ended early, or `hang`: silent until somebody gives up waiting. */
export type SimulatedOutcome = 'ok' | 'hang' | SimulatedFailure | SimulatedBreak;

/** An outcome with nothing left open. */
export type Outcome =
  | { readonly type: 'ok' }
  | { readonly type: 'hang' }
  | { readonly type: 'failed'; readonly failure: AttemptFailure }
  | { readonly type: 'broken'; readonly afterTokens: number; readonly failure: AttemptFailure };

/** Statuses that providers answer with; kinds without one never get as far as an answer. */
const STATUSES: Readonly<Partial<Record<FailureKind, number>>> = {
  rate_limited: 429,
  quota: 402,
  credentials: 401,
  overloaded: 503,
  server: 500,
  conflict: 409,
  model_not_found: 404,
  invalid_request: 400,
  unsupported_parameter: 400,
  unprocessable: 422,
  context_length: 400,
  too_large: 413,
  content_policy: 403,
};

/** What goes wrong by chance: the troubles of real providers that another provider can make up for. */
const BY_CHANCE = ['overloaded', 'server', 'rate_limited', 'connection'] as const;

/** Decides about one call after the other: by the script while it lasts, then by chance. */
export class OutcomeSequence {
  readonly #script: readonly SimulatedOutcome[];
  readonly #failureRate: number;
  readonly #chance: Chance;
  #calls = 0;

  constructor(script: readonly SimulatedOutcome[], failureRate: number, seed: number) {
    this.#script = script;
    this.#failureRate = failureRate;
    this.#chance = new Chance(seed).fork('outcomes');
  }

  /** The outcome of the next call. */
  next(): Outcome {
    const scripted = this.#script[this.#calls];
    this.#calls += 1;
    if (scripted !== undefined) return resolveOutcome(scripted);
    if (this.#chance.next() >= this.#failureRate) return { type: 'ok' };
    return { type: 'failed', failure: completed({ kind: this.#chance.pick(BY_CHANCE) }, 'by chance') };
  }
}

function resolveOutcome(outcome: SimulatedOutcome): Outcome {
  if (typeof outcome === 'string') return { type: outcome };
  if (!('breakAfterTokens' in outcome)) return { type: 'failed', failure: completed(outcome, 'as its script says') };
  const { breakAfterTokens, ...rest } = outcome;
  const reason = completed({ ...rest, kind: rest.kind ?? 'connection' }, 'in the middle, as its script says');
  return { type: 'broken', afterTokens: breakAfterTokens, failure: reason };
}

function completed({ kind, message, ...details }: SimulatedFailure, why: string): AttemptFailure {
  const text = message ?? `The simulated provider failed ${why} (${kind})`;
  return failure(kind, text, { ...details, status: details.status ?? STATUSES[kind] });
}
