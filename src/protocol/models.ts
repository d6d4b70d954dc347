/** Models, endpoints and providers, as the catalog operations show them. */

/** A model as `GET /models` lists it (gaps 10). Prices are strings in USD per token or unit. */
export interface ModelCard {
  readonly id: string;
  readonly canonical_slug: string;
  readonly name: string;
  /** Unix seconds. */
  readonly created: number;
  readonly description: string;
  readonly context_length: number | null;
  readonly architecture: Architecture;
  readonly pricing: PricingCard;
  readonly top_provider: {
    readonly context_length: number | null;
    readonly max_completion_tokens: number | null;
    readonly is_moderated: boolean;
  };
  readonly per_request_limits: null;
  readonly supported_parameters: readonly string[];
  readonly default_parameters: Readonly<Record<string, unknown>> | null;
  readonly supported_voices: readonly string[] | null;
  /** Day or month, as in `2026-01`. */
  readonly knowledge_cutoff: string | null;
  /** Day from which the model is served no more, as in `2026-12-31`. */
  readonly expiration_date: string | null;
  readonly links: { readonly details: string };
}

/** What goes in and comes out of a model. */
export interface Architecture {
  readonly input_modalities: readonly string[];
  readonly output_modalities: readonly string[];
  readonly modality: string | null;
  readonly tokenizer: string;
  readonly instruct_type: string | null;
}

/** Prices as strings in USD per token, request, image or search. */
export interface PricingCard {
  readonly prompt: string;
  readonly completion: string;
  readonly request?: string;
  readonly image?: string;
  readonly audio?: string;
  readonly web_search?: string;
  readonly internal_reasoning?: string;
  readonly input_cache_read?: string;
  readonly input_cache_write?: string;
  readonly input_cache_write_1h?: string;
}

/** Percentiles of a measure over the last 30 minutes. */
export interface PercentileCard {
  readonly p50: number;
  readonly p75: number;
  readonly p90: number;
  readonly p99: number;
}

/** An endpoint as `GET /models/{author}/{slug}/endpoints` lists it (gaps 10). */
export interface EndpointCard {
  readonly name: string;
  readonly model_id: string;
  readonly model_name: string;
  readonly provider_name: string;
  /** Slug that names this endpoint in provider preferences. */
  readonly tag: string;
  readonly quantization: string | null;
  readonly context_length: number | null;
  readonly max_completion_tokens: number | null;
  readonly max_prompt_tokens: number | null;
  readonly pricing: PricingCard;
  readonly supported_parameters: readonly string[];
  readonly supports_implicit_caching: boolean;
  /** 0 normal, -1 degraded, -2 cooling down. */
  readonly status: number;
  /** Percent of calls that succeeded; null with little data. */
  readonly uptime_last_5m: number | null;
  readonly uptime_last_30m: number | null;
  readonly uptime_last_1d: number | null;
  /** Milliseconds to the first token. */
  readonly latency_last_30m: PercentileCard | null;
  /** Tokens per second. */
  readonly throughput_last_30m: PercentileCard | null;
}

/** Body of `GET /models`. */
export interface ModelList {
  readonly data: readonly ModelCard[];
  readonly total_count: number;
  readonly links: { readonly next: string | null };
}

/** Body of `GET /models/{author}/{slug}/endpoints`. */
export interface EndpointList {
  readonly data: {
    readonly id: string;
    readonly name: string;
    readonly created: number;
    readonly description: string;
    readonly architecture: Architecture;
    readonly endpoints: readonly EndpointCard[];
  };
}

/** Body of `GET /endpoints/zdr`. */
export interface PrivateEndpointList {
  readonly data: readonly EndpointCard[];
}

/** Body of `GET /providers`. */
export interface ProviderList {
  readonly data: readonly ProviderCard[];
}

/** A provider as `GET /providers` lists it. */
export interface ProviderCard {
  readonly name: string;
  readonly slug: string;
  readonly privacy_policy_url: string | null;
  readonly terms_of_service_url: string | null;
  readonly status_page_url: string | null;
  readonly headquarters: string | null;
  readonly datacenters: readonly string[] | null;
}
