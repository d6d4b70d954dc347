/** Warns the operator of failures that do not pass by themselves. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import { warn } from './events.ts';
import { kindOf, placeOf } from '../chat/router-errors.ts';
import type { RuntimeServices } from '../chat/services.ts';
import { type AttemptFailure, NO_TOKEN } from '../../contracts/failure.ts';

/** Warns of a failure that lasts until somebody does something about it. */
export function warnOfFailure(services: RuntimeServices, endpoint: Endpoint, failure: AttemptFailure): void {
  warnOfRefusedKey(services, endpoint, failure);
  warnOfBrokenAdapter(services, endpoint, failure);
}

/** A key that is not accepted, or has nothing left, stays that way until somebody does something about it. */
function warnOfRefusedKey({ events, records }: RuntimeServices, endpoint: Endpoint, failure: AttemptFailure): void {
  const { provider, model, byok } = endpoint;
  if (byok !== undefined || (failure.kind !== 'credentials' && failure.kind !== 'quota')) return;
  // A refusal that may concern its request alone is nobody's trouble until it is suspected to be more.
  if (failure.doubtful === true && records.admission(endpoint).ok) return;
  const trouble =
    failure.kind === 'credentials' ? 'does not accept its key' : 'says that its balance or quota is used up';
  const answer = failure.status === undefined ? '' : ` (it answered ${failure.status})`;
  warn(events, {
    code: 'provider_key',
    message: `${provider} ${trouble} for ${model}${answer}; it cools down for a while. Check the key and the account there`,
  });
}

/** The caller sees that the provider could not be called, so whoever wrote its adapter must hear why. */
function warnOfBrokenAdapter({ events }: RuntimeServices, endpoint: Endpoint, failure: AttemptFailure): void {
  if (!('thrown' in failure)) return;
  const { thrown, message } = failure;
  const what = message === NO_TOKEN ? 'apiKey function' : 'adapter';
  warn(events, {
    code: 'provider_failed',
    message: `The ${what} of ${endpoint.provider} threw ${kindOf(thrown)} ${placeOf(thrown)}`.trim(),
    thrown,
  });
}

/** Costs that are missing are not missed until somebody adds them up, so it is told with the first answer. */
export function warnOfUnknownPrice({ events, records }: RuntimeServices, endpoint: Endpoint): void {
  if (!records.noteUnpriced(endpoint)) return;
  const { model, provider, price } = endpoint;
  const unknown = price === undefined ? 'its price is unknown' : 'its price leaves out something that was billed';
  warn(events, {
    code: 'price_unknown',
    message:
      `An answer of ${model} at ${provider} has no cost in usage, budgets and metrics: ${unknown}. Declare it in the ` +
      `provider's models, { '${model}': { price: { prompt, completion } } } in USD per million tokens, or run ` +
      '"npx signalbox catalog refresh"',
  });
}
