/** The parameters and headers of the OpenAPI document. */
import { BATCH_STATUSES } from '../../protocol/batch.ts';
import { MAX_SESSION_ID_LENGTH } from '../../protocol/limits.ts';
import { MODEL_FILTERS, MODEL_ORDERS } from '../list-models.ts';

/** A part of a request besides its body. */
export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly description: string;
  readonly required?: boolean;
  readonly schema: object;
}

const TEXT = { type: 'string' } as const;
const COUNT = { type: 'integer', minimum: 0 } as const;

/** Headers of every operation that asks models. Those with `Router` in their name have a second spelling. */
export const CALL_HEADERS: readonly Parameter[] = [
  {
    name: 'X-Router-Metadata',
    in: 'header',
    description:
      '`enabled` adds `router_metadata` to the answer. `X-Router-Experimental-Metadata` is an older name of it; ' +
      '`X-OpenRouter-Metadata` adds `openrouter_metadata`.',
    schema: TEXT,
  },
  {
    name: 'X-Session-Id',
    in: 'header',
    description: 'Session of the request, when its body names none. Requests of a session stick to a provider.',
    schema: { ...TEXT, maxLength: MAX_SESSION_ID_LENGTH },
  },
  {
    name: 'X-Claude-Code-Session-Id',
    in: 'header',
    description: "The same as `X-Session-Id`, which wins: Claude Code's name of its session.",
    schema: { ...TEXT, maxLength: MAX_SESSION_ID_LENGTH },
  },
  {
    name: 'Traceparent',
    in: 'header',
    description: 'Trace that the request belongs to (W3C Trace Context), for routers that are observed.',
    schema: TEXT,
  },
  {
    name: 'Tracestate',
    in: 'header',
    description: 'What tracing systems add to `Traceparent`.',
    schema: TEXT,
  },
];

/** Headers of operations that make text. */
export const TEXT_HEADERS: readonly Parameter[] = [
  ...CALL_HEADERS,
  {
    name: 'X-Router-Cache',
    in: 'header',
    description:
      '`true`: the answer may come from the response cache and is kept there; `false`: neither. Default: as the preset ' +
      'or the router says. `X-OpenRouter-…` is understood too, here and in the two below.',
    schema: { enum: ['true', 'false'] },
  },
  {
    name: 'X-Router-Cache-TTL',
    in: 'header',
    description: 'Seconds that the answer is kept.',
    schema: { type: 'integer' },
  },
  {
    name: 'X-Router-Cache-Clear',
    in: 'header',
    description: '`true`: what is kept for this request is deleted, and a new response is made.',
    schema: { enum: ['true', 'false'] },
  },
  {
    name: 'X-Anthropic-Beta',
    in: 'header',
    description: 'Beta features of Anthropic, separated by commas, for endpoints there.',
    schema: TEXT,
  },
];

/** Headers of `POST /messages`. */
export const MESSAGES_HEADERS: readonly Parameter[] = [
  ...TEXT_HEADERS,
  {
    name: 'Anthropic-Beta',
    in: 'header',
    description: 'The same as `X-Anthropic-Beta`, which wins.',
    schema: TEXT,
  },
];

/** Headers of `POST /messages/count_tokens`. */
export const COUNTING_HEADERS = MESSAGES_HEADERS.filter(({ name }) => /beta$|session/i.test(name));

/** Headers of `POST /batches`. */
export const CREATE_BATCH_HEADERS: readonly Parameter[] = [
  {
    name: 'Idempotency-Key',
    in: 'header',
    description: 'The same key with the same body gives the same batch.',
    schema: TEXT,
  },
];

/** Header of what does not change once it is complete. */
export const IF_NONE_MATCH: Parameter = {
  name: 'If-None-Match',
  in: 'header',
  description: 'The `ETag` of what the client has: then the answer is a 304 without a body.',
  schema: TEXT,
};

/** A model in a path. */
export const MODEL_PATH: readonly Parameter[] = [
  { name: 'author', in: 'path', required: true, description: 'Author of the model.', schema: TEXT },
  { name: 'slug', in: 'path', required: true, description: 'Name of the model below its author.', schema: TEXT },
];

/** A batch in a path. */
export const BATCH_PATH: readonly Parameter[] = [
  { name: 'id', in: 'path', required: true, description: 'Id of the batch.', schema: { ...TEXT, pattern: '^batch_' } },
];

const filters: readonly Parameter[] = MODEL_FILTERS.map((name) => ({
  name,
  in: 'query',
  description: 'Leaves out models that do not fit. Lists are separated by commas.',
  schema: TEXT,
}));

/** Query of `GET /models/count`. */
export const COUNT_QUERY = filters;

/** Header of the lists of models. */
export const ANTHROPIC_VERSION: Parameter = {
  name: 'Anthropic-Version',
  in: 'header',
  description:
    'Any version: the answer has the API format of Anthropic’s Models API, with its `limit`, `after_id` and `before_id`.',
  schema: TEXT,
};

/** Query of `GET /models`. */
export const MODELS_QUERY: readonly Parameter[] = [
  ...filters,
  { name: 'sort', in: 'query', description: 'Order of the list.', schema: { enum: MODEL_ORDERS } },
  { name: 'offset', in: 'query', description: 'Models to pass over.', schema: COUNT },
  { name: 'limit', in: 'query', description: 'Models on a page.', schema: COUNT },
];

/** Query of `GET /batches`. */
export const BATCHES_QUERY: readonly Parameter[] = [
  { name: 'limit', in: 'query', description: 'Batches on a page.', schema: COUNT },
  { name: 'after', in: 'query', description: '`last_id` of the page before.', schema: TEXT },
  {
    name: 'status',
    in: 'query',
    description: 'Only these; may be given several times.',
    schema: { type: 'array', items: { enum: BATCH_STATUSES } },
  },
  { name: 'created_after', in: 'query', description: 'Unix seconds.', schema: COUNT },
  { name: 'created_before', in: 'query', description: 'Unix seconds.', schema: COUNT },
];

/** A file in a path. */
export const FILE_PATH = [
  {
    name: 'id',
    in: 'path',
    required: true,
    description: 'Id of the file.',
    schema: { type: 'string', pattern: '^file-' },
  },
] as const;

/** Query of `GET /files`. */
export const FILES_QUERY = [
  { name: 'limit', in: 'query', description: 'Files on a page.', schema: { type: 'integer', minimum: 0 } },
  { name: 'after', in: 'query', description: '`last_id` of the page before.', schema: { type: 'string' } },
  { name: 'purpose', in: 'query', description: 'The only purpose there is.', schema: { enum: ['batch'] } },
] as const;

/** The form of `POST /files`. */
export const FILE_FORM = {
  type: 'object',
  required: ['file', 'purpose'],
  properties: {
    file: { type: 'string', format: 'binary' },
    purpose: { enum: ['batch'] },
    'expires_after[anchor]': { enum: ['created_at'] },
    'expires_after[seconds]': { type: 'integer', minimum: 3_600, maximum: 2_592_000 },
  },
};
