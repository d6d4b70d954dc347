/** Weighs the quality of models against their cost. */
import { FAR_WORSE } from './candidates.ts';

/** What is weighed against each other. */
export interface Worth {
  /** From 0 to 1. */
  readonly quality: number;
  /** USD per million tokens; undefined when unknown. */
  readonly price: number | undefined;
}

/** USD per million tokens below which prices make no difference. */
const NEXT_TO_NOTHING = 0.01;
/** Differences of scores that come from rounding. */
const ROUNDING = 1e-9;

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
    const least = (rest[0]?.quality ?? 0) - farWorse - ROUNDING;
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

/** What a tier is chosen from. */
export interface TierRules<Item> {
  /** Whether an item is of the tier. */
  readonly isInside: (item: Item) => boolean;
  /** How much worse than the best a good value may be. Default {@link FAR_WORSE}. */
  readonly farWorse?: number | undefined;
  /** Items that are wanted. Default: all of the tier. */
  readonly places?: number | undefined;
}

/**
 * Orders a tier by quality per cost as {@link byValue} does, where a tier is a limit and no duty: what costs more than
 * something else of the pool and is no better, or is worse and costs no less, is never taken before that. Of the items of
 * the tier that nothing in the pool beats, the best value comes first; where all are beaten, of those that beat them.
 * Then the same of the rest. Items at unknown prices come last.
 *
 * @param pool - The tier and all others, which may take its place.
 */
export function bestOfTier<Item>(
  pool: readonly Item[],
  worthOf: (item: Item) => Worth,
  { isInside, farWorse, places = Infinity }: TierRules<Item>,
): readonly Item[] {
  const all = pool.map((item) => ({ item, ...worthOf(item), inside: isInside(item) }));
  const unpriced = all.filter(({ price, inside }) => inside && price === undefined);
  // The cheapest first, and of equals the best: then what beats another comes before it.
  let rest = all
    .flatMap((one) => (one.price === undefined ? [] : [{ ...one, price: one.price }]))
    .sort((left, right) => left.price - right.price || right.quality - left.quality);
  const worthOfOne = ({ quality, price }: Worth): Worth => ({ quality, price });
  const ordered: { readonly item: Item }[] = [];
  while (ordered.length < places && rest.some(({ inside }) => inside)) {
    const unbeaten: typeof rest = [];
    let strongest: (typeof rest)[number] | undefined;
    for (const one of rest) {
      const before = unbeaten.at(-1);
      const isBeaten = before !== undefined && before.quality >= one.quality;
      if (!isBeaten || (before.quality === one.quality && before.price === one.price)) unbeaten.push(one);
      if (one.inside && one.quality >= (strongest?.quality ?? -Infinity)) strongest = one;
    }
    const own = unbeaten.filter(({ inside }) => inside);
    const [first] = byValue(own.length > 0 ? own : beating(unbeaten, strongest), worthOfOne, farWorse);
    if (first === undefined) break;
    ordered.push(first);
    rest = rest.filter((one) => one !== first);
  }
  const known = unpriced.sort((left, right) => right.quality - left.quality);
  return [...ordered, ...known].slice(0, places === Infinity ? undefined : places).map(({ item }) => item);
}

/** Those that are as good and cost no more. */
function beating<One extends Worth>(unbeaten: readonly One[], beaten: One | undefined): readonly One[] {
  const { quality = 0, price = Infinity } = beaten ?? {};
  return unbeaten.filter((one) => one.quality >= quality && (one.price ?? Infinity) <= price);
}

function perCost({ quality, price }: { readonly quality: number; readonly price: number }): number {
  return quality / Math.max(price, NEXT_TO_NOTHING);
}
