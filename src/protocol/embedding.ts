import { nullish } from './accept/schema.ts';
import { jsonObject, list } from './accept/collections.ts';
import { loose } from './accept/object.ts';
import { constant, integer, word } from './accept/scalars.ts';
import { metadataSchema } from './chat-request.ts';
import { type ContentPart, embeddedContentSchema } from './content-part.ts';
import { identifier } from './fields.ts';
import {
  MAX_DIMENSIONS,
  MAX_FALLBACK_MODELS,
  MAX_INPUT_TYPE_LENGTH,
  MAX_MODEL_SLUG_LENGTH,
  MAX_SESSION_ID_LENGTH,
  MAX_USER_LENGTH,
} from './limits.ts';
import { type ProviderPreferences, providerPreferencesSchema } from './provider-preferences.ts';
import type { RouterMetadata } from './metadata.ts';
import type { Usage } from './chunk.ts';

/** An input made of several parts, for models that embed more than text. It becomes one vector. */
export interface MultimodalInput {
  readonly content: readonly ContentPart[];
}

/** One thing that becomes one vector: text, the tokens of a text, or parts. */
export type EmbeddingItem = string | readonly number[] | MultimodalInput;

/** One text, the tokens of one text, or a list of texts, of token lists or of multimodal inputs. */
export type EmbeddingInput =
  | string
  | readonly string[]
  | readonly number[]
  | readonly (readonly number[])[]
  | readonly MultimodalInput[];

/** How vectors are written: numbers, or little-endian 32-bit floats in base64. */
export type EncodingFormat = 'float' | 'base64';

/**
 * Body of `POST /embeddings` (gaps 10). Null and absent mean the same. Fields that are not listed here are passed on to
 * the provider untouched.
 *
 * @typeParam Model - Model ids that complete in the editor; those of the router's providers.
 */
export interface EmbeddingRequest<Model extends string = string> {
  readonly input: EmbeddingInput;
  /** `author/slug` with optional variants such as `:floor`, or an alias. */
  readonly model?: Model | null | undefined;
  /**
   * Up to three models to fall back to, after `model`. Vectors of different models cannot be compared, so name only
   * those that make the same ones; the answer's `model` tells which it was.
   */
  readonly models?: readonly Model[] | null | undefined;
  /** Default `float`. */
  readonly encoding_format?: EncodingFormat | null | undefined;
  /** Length of the vectors, where the model lets it be chosen. Endpoints where it cannot be are left out. */
  readonly dimensions?: number | null | undefined;
  /** What the vectors are for, in the provider's words: `search_query`, `search_document` and so on. */
  readonly input_type?: string | null | undefined;
  /** Stable id of the end user. Never leaves raw: a keyed hash goes upstream. */
  readonly user?: string | null | undefined;
  /** At most 256 characters. Groups requests in events; nothing sticks, because there is no cache to be used. */
  readonly session_id?: string | null | undefined;
  readonly metadata?: Readonly<Record<string, string>> | null | undefined;
  readonly provider?: ProviderPreferences | null | undefined;
  /** Observability only; never sent to a provider. */
  readonly trace?: Readonly<Record<string, unknown>> | null | undefined;
  readonly stream?: false | null | undefined;
}

const slug = identifier(1, MAX_MODEL_SLUG_LENGTH);

/** Schemas of the fields of an {@link EmbeddingRequest}, apart from its input. */
export const embeddingRequestFields = {
  model: nullish(slug),
  models: nullish(
    list(slug, { most: MAX_FALLBACK_MODELS, says: `'models' array must have ${MAX_FALLBACK_MODELS} items or fewer.` }),
  ),
  encoding_format: nullish(word(['float', 'base64'])),
  dimensions: nullish(integer({ least: 1, most: MAX_DIMENSIONS })),
  input_type: nullish(identifier(1, MAX_INPUT_TYPE_LENGTH)),
  user: nullish(identifier(0, MAX_USER_LENGTH)),
  session_id: nullish(identifier(0, MAX_SESSION_ID_LENGTH)),
  metadata: nullish(metadataSchema),
  provider: nullish(providerPreferencesSchema),
  trace: nullish(jsonObject),
  stream: nullish(constant(false)),
};

/** Schema of an {@link EmbeddingRequest}, apart from its input. Loose: what it does not know, it keeps. */
export const embeddingRequestSchema = loose(embeddingRequestFields);

/** Schema of a {@link MultimodalInput}. */
export const multimodalItemSchema = loose({ content: embeddedContentSchema });

/** Schema of an input that consists of parts. */
export const multimodalInputSchema = loose({ input: list(multimodalItemSchema) });

/** One vector. */
export interface Embedding<Vector = readonly number[] | string> {
  readonly object: 'embedding';
  /** Position of its input in the request. */
  readonly index: number;
  /** Numbers, or base64 of little-endian 32-bit floats, as `encoding_format` asked. */
  readonly embedding: Vector;
}

/** What embeddings used and cost. Nothing is generated, so there are no completion tokens. */
export type EmbeddingUsage = Pick<
  Usage,
  'prompt_tokens' | 'total_tokens' | 'cost' | 'is_byok' | 'estimated' | 'cost_details' | 'prompt_tokens_details'
>;

/**
 * Body of an answer to `POST /embeddings` (gaps 10).
 *
 * @typeParam Vector - `readonly number[]` for the format `float`, `string` for `base64`.
 */
export interface EmbeddingResult<Vector = readonly number[] | string> {
  /** `gen-<unix seconds>-<20 characters>`, the same as in the `X-Generation-Id` header. */
  readonly id: string;
  readonly object: 'list';
  /** Model that answered. */
  readonly model: string;
  /** Display name of the provider that answered. */
  readonly provider: string;
  /** One vector for each input, in their order. */
  readonly data: readonly Embedding<Vector>[];
  readonly usage: EmbeddingUsage;
  /** Present when the request asked for it. */
  readonly router_metadata?: RouterMetadata;
}
