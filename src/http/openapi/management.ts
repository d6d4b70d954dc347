/** Documents the operations on API keys and the ledger. */
import { SCOPES } from '../../options/accounts.ts';
import { COST_KEYS, LEDGER_FORMATS } from '../ledger-operations.ts';
import type { KeyOperation, LedgerOperation } from '../routes.ts';
import type { Parameter } from './parameters.ts';
import { COMMON_ERRORS, describedResponse, errors, lines } from './responses.ts';
import type { DocumentedOperation } from './documented-operation.ts';

const TEXT = { type: 'string' } as const;
const TIME = { type: 'string', format: 'date-time' } as const;
const HASH = { ...TEXT, pattern: '^[0-9a-f]{64}$' } as const;
const LIMIT = { type: ['number', 'null'], minimum: 0 } as const;
const RESET = { enum: ['daily', 'weekly', 'monthly', null] } as const;
const KEY_SCOPES = { type: 'array', items: { enum: SCOPES }, minItems: 1 } as const;

/** Query of `GET /keys`. */
const KEYS_QUERY = [
  { name: 'after', in: 'query', description: '`hash` of the last key of the page before.', schema: HASH },
] as const;

/** A key in a path. */
const KEY_PATH = [
  { name: 'hash', in: 'path', required: true, description: 'SHA-256 of the key, in hexadecimal digits.', schema: HASH },
] as const;

const SPENT = {
  ...LIMIT,
  description: 'US dollars that were spent with the key; null where it is not counted.',
} as const;

const AMOUNTS = {
  limit: { ...LIMIT, description: 'US dollars that may be spent with the key.' },
  limit_remaining: { ...LIMIT, description: 'What is left of `limit`.' },
  limit_reset: { ...RESET, description: 'When `limit` begins anew; null for never.' },
  include_byok_in_limit: {
    const: false,
    description: 'Calls with provider keys of the account do not count towards a limit.',
  },
  usage: SPENT,
  usage_daily: { ...SPENT, description: 'Likewise, of this day in UTC.' },
  usage_weekly: { ...SPENT, description: 'Likewise, of this week, which began on Monday.' },
  usage_monthly: { ...SPENT, description: 'Likewise, of this month.' },
} as const;

const CURRENT = {
  type: 'object',
  required: ['label', ...Object.keys(AMOUNTS), 'is_free_tier', 'is_management_key', 'expires_at'],
  properties: {
    label: TEXT,
    ...AMOUNTS,
    is_free_tier: { const: false },
    is_management_key: { type: 'boolean' },
    expires_at: { type: ['string', 'null'], format: 'date-time' },
  },
} as const;

const CARD = {
  type: 'object',
  required: ['hash', 'name', 'label', 'disabled', ...Object.keys(AMOUNTS), 'scopes', 'created_at', 'expires_at'],
  properties: {
    hash: HASH,
    name: TEXT,
    label: { ...TEXT, description: 'The beginning and the end of the key.' },
    disabled: { type: 'boolean' },
    ...AMOUNTS,
    scopes: KEY_SCOPES,
    created_at: TIME,
    updated_at: TIME,
    expires_at: { type: ['string', 'null'], format: 'date-time' },
  },
} as const;

function object(properties: Readonly<Record<string, object>>): object {
  return { type: 'object', required: Object.keys(properties), properties };
}

/** Answers about keys. */
const ONE_KEY = object({ data: CARD });
/** The only answers in which a key itself stands. */
const NEW_KEY = object({ data: CARD, key: { ...TEXT, description: 'The key. It is not shown again.' } });
const KEY_LIST = object({ data: { type: 'array', items: CARD, maxItems: 100 } });
const CURRENT_KEY = object({ data: CURRENT });
const DELETED_KEY = object({ deleted: { const: true } });

const FIELDS = {
  name: { ...TEXT, minLength: 1, maxLength: 200 },
  limit: LIMIT,
  limit_reset: RESET,
  scopes: KEY_SCOPES,
  expires_at: { type: ['string', 'null'], format: 'date-time' },
};

function bodyOf(properties: Readonly<Record<string, object>>): object {
  return { requestBody: { content: { 'application/json': { schema: { type: 'object', properties } } } } };
}

/** Bodies of requests about keys. */
const CREATE_KEY_BODY = bodyOf(FIELDS);
const UPDATE_KEY_BODY = bodyOf({ ...FIELDS, disabled: { type: 'boolean' } });
const ROTATE_KEY_BODY = bodyOf({
  overlap_seconds: { type: 'number', minimum: 0, description: 'How long the old key still works. Default a day.' },
});

const KEY_ERRORS = [...COMMON_ERRORS, 401, 403, 408, 409, 413, 415] as const;

function manages(
  operationId: string,
  summary: string,
  answer: { readonly status?: 200 | 201; readonly schema: object },
  more: object = {},
): object {
  const { status = 200, schema } = answer;
  return {
    operationId,
    summary: `${summary} For management keys, where API keys are stored.`,
    ...more,
    responses: { [status]: describedResponse('What became of it.', schema), ...errors(KEY_ERRORS, 'Error') },
  };
}

/** Operations on stored API keys. */
export const KEY_OPERATIONS: Readonly<Record<KeyOperation['name'], DocumentedOperation>> = {
  key_current: {
    method: 'get',
    path: '/key',
    operation: {
      operationId: 'getCurrentKey',
      summary: 'Get the API key that the request is made with. Where API keys are stored.',
      responses: { 200: describedResponse('The key.', CURRENT_KEY), ...errors(KEY_ERRORS, 'Error') },
    },
  },
  key_list: {
    method: 'get',
    path: '/keys',
    operation: manages(
      'listKeys',
      'List the API keys of the account.',
      { schema: KEY_LIST },
      { parameters: KEYS_QUERY },
    ),
  },
  key_create: {
    method: 'post',
    path: '/keys',
    operation: manages('createKey', 'Make an API key.', { status: 201, schema: NEW_KEY }, CREATE_KEY_BODY),
  },
  key_retrieve: {
    method: 'get',
    path: '/keys/{hash}',
    operation: manages('getKey', 'Get an API key.', { schema: ONE_KEY }, { parameters: KEY_PATH }),
  },
  key_update: {
    method: 'patch',
    path: '/keys/{hash}',
    operation: manages(
      'updateKey',
      'Change an API key; what is left out stays.',
      { schema: ONE_KEY },
      { parameters: KEY_PATH, ...UPDATE_KEY_BODY },
    ),
  },
  key_rotate: {
    method: 'post',
    path: '/keys/{hash}/rotate',
    operation: manages(
      'rotateKey',
      'Make an API key in the place of another one, which works for a while.',
      { status: 201, schema: NEW_KEY },
      { parameters: KEY_PATH, ...ROTATE_KEY_BODY },
    ),
  },
  key_delete: {
    method: 'delete',
    path: '/keys/{hash}',
    operation: manages('deleteKey', 'Revoke an API key at once.', { schema: DELETED_KEY }, { parameters: KEY_PATH }),
  },
};

const COUNT = { type: 'integer', minimum: 0 } as const;

const TRUTH = { enum: ['true', 'false'] } as const;

/** Id of a generation. */
const GENERATION_ID = { ...TEXT, pattern: '^gen-' } as const;

const SPAN: readonly Parameter[] = [
  { name: 'account', in: 'query', description: 'Only requests of this account.', schema: TEXT },
  { name: 'from', in: 'query', description: 'Milliseconds since 1970, included.', schema: COUNT },
  { name: 'to', in: 'query', description: 'Milliseconds since 1970, excluded.', schema: COUNT },
];

/** Query of `GET /ledger`. */
const LEDGER_QUERY: readonly Parameter[] = [
  { name: 'after', in: 'query', description: '`X-Next-Cursor` of the page before.', schema: TEXT },
  { name: 'limit', in: 'query', description: 'Records on a page, 1,000 at most. Default 100.', schema: COUNT },
  {
    name: 'order',
    in: 'query',
    description: 'Which come first. Default `oldest`.',
    schema: { enum: ['oldest', 'latest'] },
  },
  { name: 'format', in: 'query', description: 'Default `jsonl`.', schema: { enum: LEDGER_FORMATS } },
  { name: 'model', in: 'query', description: 'Id of the model that answered.', schema: TEXT },
  { name: 'provider', in: 'query', description: 'Slug of the provider that answered.', schema: TEXT },
  { name: 'endpoint', in: 'query', description: 'Id of the endpoint that answered.', schema: TEXT },
  { name: 'called', in: 'query', description: 'Id of an endpoint that was called.', schema: TEXT },
  { name: 'error', in: 'query', description: '`any`, or an `error_type`.', schema: TEXT },
  { name: 'tag', in: 'query', description: 'Name and value of a tag, as in `team:search`.', schema: TEXT },
  { name: 'session', in: 'query', description: 'Hash of a session, as in the record.', schema: TEXT },
  { name: 'batch', in: 'query', description: 'Only requests of batches, or only others.', schema: TRUTH },
  { name: 'stream', in: 'query', description: 'Only streaming requests, or only others.', schema: TRUTH },
  { name: 'longer_than_ms', in: 'query', description: 'Milliseconds that it took at least.', schema: COUNT },
  ...SPAN,
];

/** Query of `GET /ledger/costs`. */
const COSTS_QUERY: readonly Parameter[] = [
  { name: 'by', in: 'query', required: true, description: 'What costs are summed by.', schema: { enum: COST_KEYS } },
  { name: 'tag', in: 'query', description: 'Name of the tag, with `by=tag`.', schema: TEXT },
  ...SPAN,
];

/** A generation, as far as its members are always there; the others are those of the hosted service. */
const GENERATION = {
  type: 'object',
  required: ['data'],
  properties: {
    data: {
      type: 'object',
      required: ['id', 'model', 'streamed', 'cancelled', 'created_at', 'total_cost', 'provider_responses'],
      properties: {
        id: GENERATION_ID,
        model: TEXT,
        streamed: { type: 'boolean' },
        cancelled: { type: 'boolean' },
        created_at: TEXT,
        total_cost: { type: ['number', 'null'] },
        provider_responses: { type: 'array', items: { type: 'object' } },
      },
    },
  },
} as const;

const NUMBERS = [
  'requests',
  'failed',
  'attempts',
  'prompt_tokens',
  'completion_tokens',
  'cached_tokens',
  'cost_nano_usd',
  'unpriced',
];

const COST = {
  type: 'object',
  required: ['key', ...NUMBERS],
  properties: { key: TEXT, ...Object.fromEntries(NUMBERS.map((name) => [name, COUNT])) },
};

/** Sums of costs. */
const COSTS = {
  type: 'object',
  required: ['object', 'data', 'total'],
  properties: { object: { const: 'list' }, data: { type: 'array', items: COST }, total: COST },
};

const LEDGER_ERRORS = [...COMMON_ERRORS, 401, 403, 429] as const;

/** Operations on what is kept of requests. */
export const LEDGER_OPERATIONS: Readonly<Record<LedgerOperation['name'], DocumentedOperation>> = {
  generation: {
    method: 'get',
    path: '/generation',
    operation: {
      operationId: 'getGeneration',
      summary: 'The record of one generation in the ledger. For its own account, or with an operator key.',
      parameters: [
        { name: 'id', in: 'query', required: true, description: 'Id of the generation.', schema: GENERATION_ID },
      ],
      responses: {
        200: describedResponse('The generation.', GENERATION),
        ...errors(LEDGER_ERRORS, 'Error'),
      },
    },
  },
  ledger: {
    method: 'get',
    path: '/ledger',
    operation: {
      operationId: 'readLedger',
      summary:
        'Records of requests as JSON lines or CSV: of all accounts with an operator key, of its own account with a management key.',
      parameters: LEDGER_QUERY,
      responses: {
        200: lines('Records, one a line.', ['application/jsonl', 'text/csv']),
        ...errors(LEDGER_ERRORS, 'Error'),
      },
    },
  },
  ledger_costs: {
    method: 'get',
    path: '/ledger/costs',
    operation: {
      operationId: 'sumCosts',
      summary:
        'What requests cost, in nano-dollars (10⁻⁹ USD, as integers): those of all accounts with an operator key, of its own account with a management key.',
      parameters: COSTS_QUERY,
      responses: { 200: describedResponse('Sums, and their total.', COSTS), ...errors(LEDGER_ERRORS, 'Error') },
    },
  },
};
