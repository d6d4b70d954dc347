import * as z from 'zod';
import type { Embedding, EmbeddingResult } from '../embedding-result.ts';
import { routerMetadataSchema } from './error.ts';
import { embeddingUsageSchema } from './usage.ts';
import { count, wireObject } from './wire-object.ts';

const embedding = wireObject<Embedding>(
  { object: z.literal('embedding'), index: count, embedding: z.union([z.array(z.number()), z.string()]) },
  {},
);

/** Schema of {@link EmbeddingResult}. */
export const embeddingResultSchema = wireObject<EmbeddingResult>(
  {
    id: z.string().regex(/^gen-/),
    object: z.literal('list'),
    model: z.string(),
    provider: z.string(),
    data: z.array(embedding),
    usage: embeddingUsageSchema,
  },
  { router_metadata: routerMetadataSchema },
);
