/** The price of an endpoint, and how two prices compare. */

/** Rates by the kind of thing that is billed: token rates are US dollars per million tokens, the others per unit. */
export interface Rates {
  /** USD per million input tokens. */
  readonly prompt: number;
  /** USD per million output tokens. */
  readonly completion: number;
  /** USD per million input tokens read from a cache. Left out: the `prompt` price. */
  readonly cacheRead?: number | undefined;
  /** USD per million input tokens written to a cache for minutes. Left out: the `prompt` price. */
  readonly cacheWrite?: number | undefined;
  /** USD per million input tokens written to a cache for an hour. Left out: the `cacheWrite` price. */
  readonly cacheWrite1h?: number | undefined;
  /** USD per million reasoning tokens. Left out: the `completion` price. */
  readonly reasoning?: number | undefined;
  /** USD per million audio input tokens. Left out: the `prompt` price. */
  readonly audioPrompt?: number | undefined;
  /** USD per million image input tokens. Left out: the `prompt` price. */
  readonly imagePrompt?: number | undefined;
  /** USD per million video input tokens. Left out: the `prompt` price. */
  readonly videoPrompt?: number | undefined;
  /** USD per million audio output tokens. Left out: the `completion` price. */
  readonly audioCompletion?: number | undefined;
  /** USD per million image output tokens. Left out: the `completion` price. */
  readonly imageCompletion?: number | undefined;
  /** USD per request. Left out: nothing. */
  readonly request?: number | undefined;
  /** USD per input image. Left out: nothing beyond its tokens. */
  readonly image?: number | undefined;
  /** USD per image in the answer. Left out: nothing beyond its tokens. */
  readonly outputImage?: number | undefined;
  /** USD per web search that the provider runs. Left out: unknown, and so is the cost of an answer with searches. */
  readonly webSearch?: number | undefined;
}

/** A tier that a provider may say it served a request in. */
export type BilledTier = 'default' | 'priority' | 'flex' | 'batch';

/**
 * What an endpoint charges. Where the rates depend on the prompt's length, on the tier that served or on the time,
 * those on top are the ones for short prompts, the endpoint's own tier and the time before the first change.
 * A price that is left out is unknown, which is not the same as free: costs that need it are then unknown too,
 * except where a comment names the price that is in.
 */
export interface Price extends Rates {
  /** Other rates for long prompts, for the whole request. Those with the highest bound that was passed hold. */
  readonly above?: readonly LongPromptRates[] | undefined;
  /**
   * What a request costs that the provider served in another tier than the endpoint's own. A number multiplies the
   * token rates and leaves the rates per unit. Left out: the cost of such a request is unknown.
   */
  readonly serviceTiers?: Readonly<Partial<Record<BilledTier, number | Price>>> | undefined;
  /** Other prices from a day on, or at hours of the day. The last one in force holds. */
  readonly changes?: readonly PriceChange[] | undefined;
}

/** Rates that replace the others when a prompt is longer than so many tokens. */
export interface LongPromptRates extends Partial<Rates> {
  /** The prompt must have more tokens than this. */
  readonly promptTokens: number;
}

/** A price that is in force at times. */
export interface PriceChange {
  /** Unix seconds of the beginning. Left out: always. */
  readonly from?: number | undefined;
  /** Minutes after midnight UTC, `from` included and `to` excluded. An end before the beginning is on the next day. */
  readonly hours?: { readonly from: number; readonly to: number } | undefined;
  readonly price: Price;
}

/** Price by which endpoints are compared and weighted: input plus output, USD per million tokens. */
export function blendedPrice(price: Rates | undefined): number | undefined {
  return price === undefined ? undefined : price.prompt + price.completion;
}

/** True when nothing in the price costs anything, at any length and at any time. */
export function isFree(price: Price | undefined): boolean {
  if (price === undefined) return false;
  const { above = [], serviceTiers: _, changes = [], ...rates } = price;
  const amounts = [rates, ...above.map(({ promptTokens: __, ...others }) => others)].flatMap(Object.values);
  return amounts.every((amount) => !amount) && changes.every((change) => isFree(change.price));
}
