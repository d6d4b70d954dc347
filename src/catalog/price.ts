/**
 * What an endpoint charges. Token prices are US dollars per million tokens, the others US dollars per unit.
 * A price that is left out is unknown, which is not the same as free: costs that need it are then unknown too,
 * except where a comment names the price that stands in.
 */
export interface Price {
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
  /** USD per million audio output tokens. Left out: the `completion` price. */
  readonly audioCompletion?: number | undefined;
  /** USD per million image output tokens. Left out: the `completion` price. */
  readonly imageCompletion?: number | undefined;
  /** USD per request. Left out: nothing. */
  readonly request?: number | undefined;
  /** USD per input image. Left out: nothing beyond its tokens. */
  readonly image?: number | undefined;
  /** USD per web search that the provider runs. Left out: nothing. */
  readonly webSearch?: number | undefined;
}

/** Price by which endpoints are compared and weighted: input plus output, USD per million tokens. */
export function blendedPrice(price: Price | undefined): number | undefined {
  return price === undefined ? undefined : price.prompt + price.completion;
}

/** True when nothing in the price costs anything. */
export function isFree(price: Price | undefined): boolean {
  return price !== undefined && Object.values(price).every((amount) => amount === 0 || amount === undefined);
}
