import { BATCH_STATUSES } from '../../protocol/batch.ts';
import { MAX_SESSION_ID_LENGTH } from '../../protocol/limits.ts';
import { MODEL_FILTERS, MODEL_ORDERS } from '../list-models.ts';

/** A part of a request besides its body. */
interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly description: string;
  readonly required?: boolean;
  readonly schema: object;
}

const TEXT = { type: 'string' } as const;
const COUNT = { type: 'integer', minimum: 0 } as const;

/** Headers of operations that ask models. */
export const CALL_HEADERS: readonly Parameter[] = [
  {
    name: 'X-Router-Metadata',
    in: 'header',
    description: '`enabled` adds `router_metadata` to the answer.',
    schema: TEXT,
  },
  {
    name: 'X-Session-Id',
    in: 'header',
    description: 'Session of the request, when its body names none. Requests of a session stick to a provider.',
    schema: { ...TEXT, maxLength: MAX_SESSION_ID_LENGTH },
  },
];

/** Headers of `POST /batches`. */
export const CREATE_BATCH_HEADERS: readonly Parameter[] = [
  {
    name: 'Idempotency-Key',
    in: 'header',
    description: 'The same key with the same body gives the same batch.',
    schema: TEXT,
  },
];

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
