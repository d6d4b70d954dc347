/** The schemas of errors and router metadata in the OpenAPI document. */
import * as z from 'zod';
import {
  type Availability,
  ERROR_TYPES,
  type ErrorBody,
  type ErrorDetail,
  type ErrorMetadata,
} from '../../../protocol/error.ts';
import type { PipelineStage, RouterMetadata, RoutingDecision } from '../../../protocol/metadata.ts';
import { anyJson, anyObject, countSchema, wireObject, words } from './wire-object.ts';

const attempted = { provider: z.string(), model: z.string() };

const decision = wireObject<RoutingDecision>(
  { warmth: z.number(), health: z.number(), slowness: z.number(), headroom: z.number(), share: z.number() },
  { expected_cost: z.number(), later_cost: z.number(), failure_cost: z.number() },
);

const offered = wireObject<RouterMetadata['endpoints']['available'][number]>(
  { ...attempted, selected: z.boolean() },
  { decision },
);

type Continued = NonNullable<NonNullable<RouterMetadata['attempts']>[number]['continued']>;

const made = wireObject<NonNullable<RouterMetadata['attempts']>[number]>(
  { ...attempted, status: countSchema },
  {
    reasoning_removed: z.boolean(),
    adjustments: z.array(z.string()),
    hedge: z.boolean(),
    given_up: z.boolean(),
    cost: z.number(),
    refusal: z.string(),
    kept: z.boolean(),
    continued: wireObject<Continued>({ way: words({ prefill: true, repetition: true }), after: countSchema }, {}),
  },
);

const pipelineStage = wireObject<PipelineStage>(
  { type: z.string(), name: z.string() },
  {
    summary: z.string(),
    guardrail_id: z.string(),
    guardrail_scope: z.string(),
    cost_usd: z.number().nullable(),
    data: anyObject,
  },
);

const passedOver = wireObject<NonNullable<RouterMetadata['endpoints']['excluded']>[number]>(
  { provider: z.string(), model: z.string(), reason: z.literal('budget'), detail: z.string() },
  {},
);

/** Schema of {@link RouterMetadata}. */
export const routerMetadataSchema = wireObject<RouterMetadata>(
  {
    requested: z.string(),
    strategy: z.string(),
    region: z.string().nullable(),
    summary: z.string(),
    attempt: countSchema,
    is_byok: z.boolean(),
    endpoints: wireObject<RouterMetadata['endpoints']>(
      { total: countSchema, available: z.array(offered) },
      { excluded: z.array(passedOver) },
    ),
  },
  {
    attempts: z.array(made),
    params: anyObject,
    generation_time: z.number().min(0),
    pipeline: z.array(pipelineStage),
    warnings: z.array(z.string()),
    cache: wireObject<NonNullable<RouterMetadata['cache']>>(
      { expected_tokens: countSchema, cached_tokens: countSchema },
      {
        cause: z.string(),
        at: z.string(),
        line: countSchema,
        change: z.string(),
        moved: z.string(),
        provider_cause: z.string(),
        lost_usd: z.number().min(0),
      },
    ),
    applied: wireObject<NonNullable<RouterMetadata['applied']>>(
      {},
      {
        rules: z.array(z.string()),
        splits: z.array(z.object({ alias: z.string(), model: z.string(), by: z.string() })),
        mirror: z.object({ alias: z.string(), model: z.string(), by: z.string() }),
      },
    ),
  },
);

/** Schema of the typed cause of an error. */
export const errorTypeSchema = z.enum(ERROR_TYPES);

/** Schema of {@link Availability}. */
export const availabilitySchema = wireObject<Availability>(
  {
    code: words<Availability['code']>({
      model_not_found: true,
      wrong_endpoint: true,
      no_endpoints: true,
      model_deprecated: true,
      model_unavailable_upstream: true,
      capacity_exhausted: true,
      temporarily_unavailable: true,
      region_restricted: true,
      privacy_restricted: true,
      constraint_filtered: true,
      free_variant_ended: true,
    }),
    retryable: z.boolean(),
    requested_models: z.array(z.string()),
    docs_url: z.string(),
  },
  {
    retry_after: countSchema.nullable(),
    affected_providers: z.array(z.string()),
    fallback_models: z.array(z.string()),
    excluded_by: z.array(z.string()),
    constraint: z.object({ field: z.string(), detail: z.string() }),
  },
);

/** Schema of {@link ErrorMetadata}: what it holds besides the cause differs from cause to cause. */
export const errorMetadataSchema: z.ZodType<ErrorMetadata> = z
  .object({ error_type: errorTypeSchema })
  .catchall(anyJson);

const status = z.int().min(400).max(599);

/** Members that every {@link ErrorDetail} has. */
export const errorDetailRequired = { code: status, message: z.string().min(1) };

/** Members that an {@link ErrorDetail} may have. */
export const errorDetailOptional = {
  metadata: errorMetadataSchema,
  error_type: errorTypeSchema,
  http_status: status,
  availability: availabilitySchema,
};

/** Schema of {@link ErrorDetail}. */
export const errorDetailSchema = wireObject<ErrorDetail>(errorDetailRequired, errorDetailOptional);

/** Schema of {@link ErrorBody}. */
export const errorBodySchema: z.ZodType<ErrorBody> = z.object({
  error: errorDetailSchema,
  router_metadata: z.exactOptional(routerMetadataSchema),
  user_id: z.exactOptional(z.string().nullable()),
});
