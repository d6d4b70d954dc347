import { COST_KEYS, LEDGER_FORMATS } from '../ledger-operations.ts';
import type { Parameter } from './parameters.ts';

const TEXT = { type: 'string' } as const;
const COUNT = { type: 'integer', minimum: 0 } as const;

/** Id of a generation. */
export const GENERATION_ID = { ...TEXT, pattern: '^gen-' } as const;

const SPAN: readonly Parameter[] = [
  { name: 'account', in: 'query', description: 'Only requests of this account.', schema: TEXT },
  { name: 'from', in: 'query', description: 'Milliseconds since 1970, included.', schema: COUNT },
  { name: 'to', in: 'query', description: 'Milliseconds since 1970, excluded.', schema: COUNT },
];

/** Query of `GET /ledger`. */
export const LEDGER_QUERY: readonly Parameter[] = [
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
  { name: 'error', in: 'query', description: '`any`, or an `error_type`.', schema: TEXT },
  { name: 'tag', in: 'query', description: 'Name and value of a tag, as in `team:search`.', schema: TEXT },
  ...SPAN,
];

/** Query of `GET /ledger/costs`. */
export const COSTS_QUERY: readonly Parameter[] = [
  { name: 'by', in: 'query', required: true, description: 'What costs are summed by.', schema: { enum: COST_KEYS } },
  { name: 'tag', in: 'query', description: 'Name of the tag, with `by=tag`.', schema: TEXT },
  ...SPAN,
];

/** A generation, as far as its members are always there; the others are those of the hosted service. */
export const GENERATION = {
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
        total_cost: { type: 'number' },
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
];

const COST = {
  type: 'object',
  required: ['key', ...NUMBERS],
  properties: { key: TEXT, ...Object.fromEntries(NUMBERS.map((name) => [name, COUNT])) },
};

/** Sums of costs. */
export const COSTS = {
  type: 'object',
  required: ['object', 'data', 'total'],
  properties: { object: { const: 'list' }, data: { type: 'array', items: COST }, total: COST },
};
