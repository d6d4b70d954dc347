/** The body and the response of `POST /embeddings`, and their schemas. */
import { jsonObject, array } from '../schema/collections.ts';
import { looseObject } from '../schema/object.ts';
import { literal, integer, enumeration } from '../schema/scalars.ts';
import { nullish } from '../schema/modifiers.ts';
import { metadataSchema } from './chat-request.ts';
import { type ContentPart, embeddedContentSchema } from './content-part.ts';
import { type Checked, type RequestFault, failed, faultAt, passed } from './fault.ts';
import { identifier } from './fields.ts';
import { read, shownValue } from './issues.ts';
import { isJsonObject } from './json.ts';
import {
  DEFAULT_REQUEST_LIMITS,
  MAX_DIMENSIONS,
  MAX_FALLBACK_MODELS,
  MAX_INPUT_TYPE_LENGTH,
  MAX_MODEL_SLUG_LENGTH,
  MAX_SESSION_ID_LENGTH,
  MAX_USER_LENGTH,
  type RequestLimits,
} from './limits.ts';
import type { RouterMetadata } from './metadata.ts';
import { type ProviderPreferences, providerPreferencesSchema } from './provider-preferences.ts';
import type { Usage } from './usage.ts';
import { inspectJson } from './inspect-json.ts';

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
   * those that make the same ones; the answer's `model` says which it was.
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
    array(slug, { most: MAX_FALLBACK_MODELS, says: `'models' array must have ${MAX_FALLBACK_MODELS} items or fewer.` }),
  ),
  encoding_format: nullish(enumeration(['float', 'base64'])),
  dimensions: nullish(integer({ least: 1, most: MAX_DIMENSIONS })),
  input_type: nullish(identifier(1, MAX_INPUT_TYPE_LENGTH)),
  user: nullish(identifier(0, MAX_USER_LENGTH)),
  session_id: nullish(identifier(0, MAX_SESSION_ID_LENGTH)),
  metadata: nullish(metadataSchema),
  provider: nullish(providerPreferencesSchema),
  trace: nullish(jsonObject),
  stream: nullish(literal(false)),
};

/** Schema of an {@link EmbeddingRequest}, apart from its input. Loose: it keeps unknown members. */
export const embeddingRequestSchema = looseObject(embeddingRequestFields);

/** Schema of a {@link MultimodalInput}. */
export const multimodalItemSchema = looseObject({ content: embeddedContentSchema });

/** Schema of an input that consists of parts. */
export const multimodalInputSchema = looseObject({ input: array(multimodalItemSchema) });

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
  /** Present when the request enabled it. */
  readonly router_metadata?: RouterMetadata;
}

/** Fields of chat requests that would do nothing here, and must not reach a provider as if they were its own. */
const CHAT_ONLY: Readonly<Record<string, string>> = {
  messages: 'belongs to chat requests; what is to be embedded goes into input',
  tools: 'belongs to chat requests; embeddings call no tools',
  plugins: 'belongs to chat requests; plugins do not run for embeddings',
  preset: 'belongs to chat requests; presets do not apply to embeddings',
};

/** Checks the body of `POST /embeddings` (gaps 10). What is wrong comes back as data, with status 400. */
export function parseEmbeddingRequest(
  body: unknown,
  limits: RequestLimits = DEFAULT_REQUEST_LIMITS,
): Checked<EmbeddingRequest> {
  if (!isJsonObject(body)) return failed(faultAt('', `must be a JSON object with an "input", not ${shownValue(body)}`));
  const stray = Object.keys(CHAT_ONLY).find((name) => body[name] != null);
  if (stray !== undefined) return failed(faultAt(stray, CHAT_ONLY[stray] ?? ''));
  const { input, ...rest } = body;
  const inputFault = checkInput(input, limits);
  if (inputFault !== undefined) return failed(inputFault);
  const inspection = inspectJson(isTokenInput(input) ? rest : body, limits);
  if (!inspection.ok) return failed(faultAt(inspection.path, inspection.problem));
  const parsed = read(embeddingRequestSchema, rest);
  if (!parsed.ok) return failed(faultAt(parsed.path, parsed.problem));
  if (!isMultimodalInput(input)) return passed({ ...parsed.value, input } as EmbeddingRequest);
  const multimodal = read(multimodalInputSchema, { input });
  if (!multimodal.ok) return failed(faultAt(multimodal.path, multimodal.problem));
  return passed({ ...parsed.value, ...multimodal.value } as unknown as EmbeddingRequest);
}

/** Forms of the items in an input that is a list. All items have the same one. */
type Form = 'text' | 'token' | 'tokens' | 'parts';

const FORM_NAMES: Readonly<Record<Form, string>> = {
  text: 'a string',
  token: 'a token, which is a non-negative whole number',
  tokens: 'an array of tokens',
  parts: 'an object with content',
};

const FORMS = 'a string, an array of strings, an array of tokens, or an array of arrays of tokens';

/** Says what is wrong with an input. The parts of a multimodal one are left to their schema. */
function checkInput(input: unknown, limits: RequestLimits): RequestFault | undefined {
  if (typeof input === 'string') return input === '' ? faultAt('input', 'must not be empty') : undefined;
  if (input === undefined) return faultAt('input', `is required and must be ${FORMS}`);
  if (!Array.isArray(input)) return faultAt('input', `must be ${FORMS}, not ${shownValue(input)}`);
  const items: readonly unknown[] = input;
  if (items.length === 0) return faultAt('input', 'must have at least 1 item');
  const form = formOf(items[0]);
  if (form === undefined) return faultAt('input[0]', `must be a string or tokens, not ${shownValue(items[0])}`);
  const most = form === 'token' ? limits.embeddingTokens : limits.embeddingInputs;
  if (items.length > most) return faultAt('input', tooMany(items.length, most, form === 'token' ? 'tokens' : 'items'));
  return checkItems(items, form, limits);
}

/** True for an input of tokens. {@link checkInput} has looked at each of them already, and there may be very many. */
function isTokenInput(input: unknown): boolean {
  const first: unknown = Array.isArray(input) ? input[0] : undefined;
  return typeof first === 'number' || Array.isArray(first);
}

/** True for an input made of parts. */
function isMultimodalInput(input: unknown): boolean {
  return Array.isArray(input) && isJsonObject(input[0]);
}

/** What becomes one vector each. */
export function embeddingItems(input: EmbeddingInput): readonly EmbeddingItem[] {
  if (typeof input === 'string') return [input];
  return typeof input[0] === 'number' ? [input as readonly number[]] : (input as readonly EmbeddingItem[]);
}

function formOf(item: unknown): Form | undefined {
  if (typeof item === 'string') return 'text';
  if (typeof item === 'number') return 'token';
  if (Array.isArray(item)) return 'tokens';
  return isJsonObject(item) ? 'parts' : undefined;
}

function checkItems(items: readonly unknown[], form: Form, limits: RequestLimits): RequestFault | undefined {
  let tokens = 0;
  for (let index = 0; index < items.length; index += 1) {
    const item = items[index];
    if (formOf(item) !== form || (form === 'token' && !isToken(item))) {
      return faultAt(`input[${index}]`, `must be ${FORM_NAMES[form]}${likeTheFirst(index)}, not ${shownValue(item)}`);
    }
    if (item === '') return faultAt(`input[${index}]`, 'must not be empty');
    if (form !== 'tokens') continue;
    const ids = item as readonly unknown[];
    if (ids.length === 0) return faultAt(`input[${index}]`, 'must have at least 1 token');
    tokens += ids.length;
    if (tokens > limits.embeddingTokens) return faultAt('input', tooMany(tokens, limits.embeddingTokens, 'tokens'));
    const wrong = ids.findIndex((one) => !isToken(one));
    if (wrong >= 0) {
      return faultAt(`input[${index}][${wrong}]`, `must be ${FORM_NAMES.token}, not ${shownValue(ids[wrong])}`);
    }
  }
  return undefined;
}

function likeTheFirst(index: number): string {
  return index === 0 ? '' : ', like the items before it';
}

function isToken(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function tooMany(count: number, most: number, what: string): string {
  return `must have at most ${most.toLocaleString('en-US')} ${what}, not ${count.toLocaleString('en-US')}`;
}
