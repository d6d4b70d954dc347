/** The field `provider` of requests: preferences of routing, and their schema. */
import { REFUSALS } from '../options/accounts.ts';
import { AFTER_FIRST_TOKEN } from '../options/fallback.ts';
import type { ProviderName } from '../options/names.ts';
import { nullish } from '../schema/modifiers.ts';
import { union } from '../schema/choices.ts';
import { array } from '../schema/collections.ts';
import { boolean, number, string, enumeration } from '../schema/scalars.ts';
import { closed } from './fields.ts';

/** Weight formats that `quantizations` may name. */
export const QUANTIZATIONS = [
  'int4',
  'int8',
  'fp4',
  'mxfp4',
  'nvfp4',
  'fp6',
  'fp8',
  'mxfp8',
  'fp16',
  'bf16',
  'fp32',
  'unknown',
] as const;

/** Number format of an endpoint's weights. */
export type Quantization = (typeof QUANTIZATIONS)[number];

/** What endpoints are sorted by. `exacto` sorts by the quality of tool calls. */
export type SortKey = 'price' | 'throughput' | 'latency' | 'exacto';

/** A threshold: a bare number means the median. */
export type Percentiles =
  | number
  | {
      readonly p50?: number | null | undefined;
      readonly p75?: number | null | undefined;
      readonly p90?: number | null | undefined;
      readonly p99?: number | null | undefined;
    };

/** Highest accepted prices: tokens in USD per million, the rest in USD per unit. Numbers or numeric strings. */
export interface MaxPrice {
  /** US dollars per million prompt tokens. */
  readonly prompt?: number | string | null | undefined;
  /** US dollars per million completion tokens. */
  readonly completion?: number | string | null | undefined;
  /** US dollars per request. */
  readonly request?: number | string | null | undefined;
  /** US dollars per image. */
  readonly image?: number | string | null | undefined;
  /** US dollars per token of audio. */
  readonly audio?: number | string | null | undefined;
}

/**
 * Routing preferences (contract: provider preferences; gaps 3.1). Closed: an unknown member is a 400.
 * Providers are named by slug (`azure`), by endpoint (`deepinfra/turbo`) or by display name, in any case.
 */
export interface ProviderPreferences {
  /**
   * Try these first, in this order. Switches load balancing and sticky sessions off.
   *
   * @example `['azure', 'deepinfra/turbo']`
   */
  readonly order?: readonly ProviderName[] | null | undefined;
  /** Use no other provider than these, such as `['openai', 'azure']`. */
  readonly only?: readonly ProviderName[] | null | undefined;
  /** Never use these; added to the account's own list. */
  readonly ignore?: readonly ProviderName[] | null | undefined;
  /** `false`: only the first candidate, or only those in `order`. Default true. */
  readonly allow_fallbacks?: boolean | null | undefined;
  /** Use only endpoints that support every parameter of the request. Default false. */
  readonly require_parameters?: boolean | null | undefined;
  /** `deny`: only providers that neither store nor train on user data. Default `allow`. */
  readonly data_collection?: 'allow' | 'deny' | null | undefined;
  /** `true`: only endpoints with zero data retention. `false` never relaxes an account's setting. */
  readonly zdr?: boolean | null | undefined;
  /** `true`: only models whose author permits distillation of their text. */
  readonly enforce_distillable_text?: boolean | null | undefined;
  /**
   * Use only endpoints that declare one of these regions, or one within it: `eu` is also `eu-central-1`. Endpoints without
   * a region are excluded. Never relaxes an account's setting.
   */
  readonly regions?: readonly string[] | null | undefined;
  /** Accepted weight formats. `fp4` includes mxfp4 and nvfp4, `fp8` includes mxfp8. */
  readonly quantizations?: readonly Quantization[] | null | undefined;
  /** Sort instead of balancing. `partition: 'none'` sorts the endpoints of all requested models together. */
  readonly sort?:
    | SortKey
    | { readonly by?: SortKey | null | undefined; readonly partition?: 'model' | 'none' | null | undefined }
    | null
    | undefined;
  /**
   * Highest prices. Endpoints without a known price are excluded.
   *
   * @example `{ prompt: 1, completion: 2 }` is 1 and 2 US dollars per million tokens
   */
  readonly max_price?: MaxPrice | null | undefined;
  /** Tokens per second, the median as a number or `{ p90: 40 }`. Reorders, never rejects. */
  readonly preferred_min_throughput?: Percentiles | null | undefined;
  /** Seconds to the first token, the median as a number or `{ p90: 2 }`. Reorders, never rejects. */
  readonly preferred_max_latency?: Percentiles | null | undefined;
  /**
   * What follows when a model refuses to answer: the next model, or the refusal itself. `fallback` never relaxes an
   * account's setting. Default `fallback`.
   */
  readonly refusals?: 'fallback' | 'return' | null | undefined;
  /**
   * What follows when a stream of text breaks after its first token: an error, or the next endpoint, which goes on where
   * it can. Both calls are paid for. Default: as the router is configured.
   */
  readonly after_first_token?: 'error' | 'continue' | null | undefined;
}

const providerList = nullish(array(string({ least: 1, most: 128 }), { most: 256 }));
const sortKey = enumeration(['price', 'throughput', 'latency', 'exacto']);
const cutoff = nullish(number({ least: 0 }));
const percentiles = nullish(
  union([number({ least: 0 }), closed({ p50: cutoff, p75: cutoff, p90: cutoff, p99: cutoff })]),
);

const amount = nullish(
  union([
    number({ least: 0 }),
    string({ pattern: [/^\d+(?:\.\d+)?$/, 'must be a number of US dollars, such as 0.5 or "0.5"'] }),
  ]),
);

/** Schema of {@link ProviderPreferences}. */
export const providerPreferencesSchema = closed({
  order: providerList,
  only: providerList,
  ignore: providerList,
  allow_fallbacks: nullish(boolean),
  require_parameters: nullish(boolean),
  data_collection: nullish(enumeration(['allow', 'deny'])),
  zdr: nullish(boolean),
  enforce_distillable_text: nullish(boolean),
  regions: nullish(array(string({ least: 1, most: 128 }), { most: 64 })),
  quantizations: nullish(array(enumeration(QUANTIZATIONS), { most: QUANTIZATIONS.length })),
  sort: nullish(union([sortKey, closed({ by: nullish(sortKey), partition: nullish(enumeration(['model', 'none'])) })])),
  max_price: nullish(closed({ prompt: amount, completion: amount, request: amount, image: amount, audio: amount })),
  preferred_min_throughput: percentiles,
  preferred_max_latency: percentiles,
  refusals: nullish(enumeration(REFUSALS)),
  after_first_token: nullish(enumeration(AFTER_FIRST_TOKEN)),
});
