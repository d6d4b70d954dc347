import type { Endpoint } from '../../catalog/endpoint.ts';
import { blendedPrice, type Rates } from '../../catalog/price.ts';
import { ratesAt } from '../../catalog/price-at.ts';
import type { RoutedRequest } from '../normalize/normalized-request.ts';
import { type EstimatedPrompt, likelyPromptTokens } from '../normalize/token-estimate.ts';

/** What prices depend on in a request. */
export type PricedRequest = Pick<RoutedRequest, 'created'> & EstimatedPrompt;

/** The rates at which an endpoint would bill a request: those of its time and of its likely length. */
export function requestRates({ price }: Endpoint, request: PricedRequest): Rates | undefined {
  // Most prices depend on nothing, and every plan compares all of them.
  if (price === undefined || (price.above === undefined && price.changes === undefined)) return price;
  return ratesAt(price, { at: request.created, promptTokens: likelyPromptTokens(request) });
}

/** The price by which endpoints are compared for a request: input plus output, USD per million tokens. */
export function requestPrice(endpoint: Endpoint, request: PricedRequest): number | undefined {
  return blendedPrice(requestRates(endpoint, request));
}
