/** The schemas of models, endpoints and providers in the OpenAPI document. */
import * as z from 'zod';
import type {
  Architecture,
  EndpointCard,
  EndpointList,
  ModelCard,
  ModelList,
  PercentileCard,
  PricingCard,
  ProviderCard,
  PrivateEndpointList,
  ProviderList,
} from '../../../protocol/models.ts';
import { countSchema, secondsSchema, wireObject } from './wire-object.ts';

const text = z.string();
const texts = z.array(text);
const tokens = countSchema.nullable();

const architecture = wireObject<Architecture>(
  {
    input_modalities: texts,
    output_modalities: texts,
    modality: text.nullable(),
    tokenizer: text,
    instruct_type: text.nullable(),
  },
  {},
);

const pricing = wireObject<PricingCard>(
  { prompt: text, completion: text },
  {
    request: text,
    image: text,
    audio: text,
    web_search: text,
    internal_reasoning: text,
    input_cache_read: text,
    input_cache_write: text,
    input_cache_write_1h: text,
  },
);

/** Schema of {@link ModelCard}. */
export const modelCardSchema = wireObject<ModelCard>(
  {
    id: text,
    canonical_slug: text,
    name: text,
    created: secondsSchema,
    description: text,
    context_length: tokens,
    architecture,
    pricing,
    top_provider: z.object({ context_length: tokens, max_completion_tokens: tokens, is_moderated: z.boolean() }),
    per_request_limits: z.null(),
    supported_parameters: texts,
    default_parameters: z.record(text, z.unknown()).nullable(),
    supported_voices: texts.nullable(),
    knowledge_cutoff: text.nullable(),
    expiration_date: text.nullable(),
    links: z.object({ details: text }),
  },
  {},
);

/** Schema of {@link ModelList}. */
export const modelListSchema = wireObject<ModelList>(
  { data: z.array(modelCardSchema), total_count: countSchema, links: z.object({ next: text.nullable() }) },
  {},
);

/** Schema of the answer to `GET /models/{author}/{slug}`. */
export const oneModelSchema = wireObject<{ readonly data: ModelCard }>({ data: modelCardSchema }, {});

/** Schema of the answer to `GET /models/count`. */
export const modelCountSchema = wireObject<{ readonly data: { readonly count: number } }>(
  { data: z.object({ count: countSchema }) },
  {},
);

const percentile = z.number();
const percentiles = wireObject<PercentileCard>(
  { p50: percentile, p75: percentile, p90: percentile, p99: percentile },
  {},
).nullable();
const percent = z.number().min(0).max(100).nullable();

const endpointCard = wireObject<EndpointCard>(
  {
    name: text,
    model_id: text,
    model_name: text,
    provider_name: text,
    tag: text,
    quantization: text.nullable(),
    context_length: tokens,
    max_completion_tokens: tokens,
    max_prompt_tokens: tokens,
    pricing,
    supported_parameters: texts,
    supports_implicit_caching: z.boolean(),
    status: z.int(),
    uptime_last_5m: percent,
    uptime_last_30m: percent,
    uptime_last_1d: percent,
    latency_last_30m: percentiles,
    throughput_last_30m: percentiles,
  },
  {},
);

/** Schema of {@link EndpointList}. */
export const endpointListSchema = wireObject<EndpointList>(
  {
    data: wireObject<EndpointList['data']>(
      {
        id: text,
        name: text,
        created: secondsSchema,
        description: text,
        architecture,
        endpoints: z.array(endpointCard),
      },
      {},
    ),
  },
  {},
);

const providerCard = wireObject<ProviderCard>(
  {
    name: text,
    slug: text,
    privacy_policy_url: text.nullable(),
    terms_of_service_url: text.nullable(),
    status_page_url: text.nullable(),
    headquarters: text.nullable(),
    datacenters: texts.nullable(),
  },
  {},
);

/** Schema of {@link PrivateEndpointList}. */
export const privateEndpointListSchema = wireObject<PrivateEndpointList>({ data: z.array(endpointCard) }, {});

/** Schema of {@link ProviderList}. */
export const providerListSchema = wireObject<ProviderList>({ data: z.array(providerCard) }, {});
