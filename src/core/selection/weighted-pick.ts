import type { Endpoint } from '../../catalog/endpoint.ts';
import { blendedPrice } from '../../catalog/price.ts';

/**
 * Picks one endpoint at random with weight 1/price² (gaps 3.3): at a third of the price it is nine times as likely.
 * Where some cost nothing, only those are picked from, all alike. An unknown price counts as the dearest known one.
 *
 * @param roll - Random number from 0 (included) to 1 (excluded).
 * @param priceOf - Price that endpoints are compared by. Default: that of a short prompt.
 */
export function pickByPrice(
  endpoints: readonly Endpoint[],
  roll: number,
  priceOf: (endpoint: Endpoint) => number | undefined = (endpoint) => blendedPrice(endpoint.price),
): Endpoint | undefined {
  if (endpoints.length <= 1) return endpoints[0];
  const prices = endpoints.map(priceOf);
  const dearest = prices.reduce<number>((most, price) => Math.max(most, price ?? 0), 0);
  const weights = prices.map((price) => weightOf(price ?? dearest));
  const free = weights.includes(Infinity);
  const total = weights.reduce((sum, weight) => sum + (free ? Number(weight === Infinity) : weight), 0);
  let left = roll * total;
  for (const [index, weight] of weights.entries()) {
    left -= free ? Number(weight === Infinity) : weight;
    if (left < 0) return endpoints[index];
  }
  return endpoints.at(-1);
}

function weightOf(price: number): number {
  return price === 0 ? Infinity : 1 / price ** 2;
}
