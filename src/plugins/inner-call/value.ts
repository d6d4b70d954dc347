/** What is weighed against each other. */
export interface Worth {
  /** From 0 to 1. */
  readonly quality: number;
  /** USD per million tokens; undefined when unknown. */
  readonly price: number | undefined;
}

/** A model whose score is lower by more than this is far worse: no price makes it a bargain. */
export const FAR_WORSE = 0.1;
/** USD per million tokens below which prices make no difference. */
const NEXT_TO_NOTHING = 0.01;

/**
 * Orders by quality per cost, the best value first. Of those that are on the frontier (no other is as good and cheaper)
 * and not far worse than the best one, the one with the most quality for its price; then the same of the rest. What is
 * cheap alone never comes before something far better. Unknown prices come last, the best first.
 *
 * @param farWorse - How much worse than the best a good value may be. Default {@link FAR_WORSE}.
 */
export function byValue<Item>(
  items: readonly Item[],
  worthOf: (item: Item) => Worth,
  farWorse: number = FAR_WORSE,
): readonly Item[] {
  const all = items.map((item) => ({ item, ...worthOf(item) }));
  const priced = all.flatMap((one) => (one.price === undefined ? [] : [{ ...one, price: one.price }]));
  const unpriced = all.filter(({ price }) => price === undefined);
  const ordered: { readonly item: Item }[] = [];
  // The best first, and of equals the cheaper: then nothing behind one at a higher price is on the frontier.
  let rest = priced.sort((left, right) => right.quality - left.quality || left.price - right.price);
  while (rest.length > 0) {
    const least = (rest[0]?.quality ?? 0) - farWorse;
    let best = rest[0];
    for (const one of rest) {
      if (one.quality < least) break;
      if (best === undefined || (one.price < best.price && perCost(one) > perCost(best))) best = one;
    }
    if (best === undefined) break;
    ordered.push(best);
    rest = rest.filter((one) => one !== best);
  }
  return [...ordered, ...unpriced.sort((left, right) => right.quality - left.quality)].map(({ item }) => item);
}

function perCost({ quality, price }: { readonly quality: number; readonly price: number }): number {
  return quality / Math.max(price, NEXT_TO_NOTHING);
}
