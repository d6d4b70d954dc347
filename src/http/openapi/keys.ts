const TEXT = { type: 'string' } as const;
const TIME = { type: 'string', format: 'date-time' } as const;
const HASH = { ...TEXT, pattern: '^[0-9a-f]{64}$' } as const;
const LIMIT = { type: ['number', 'null'], minimum: 0 } as const;
const RESET = { enum: ['daily', 'weekly', 'monthly', null] } as const;
const SCOPES = { type: 'array', items: { enum: ['inference', 'management'] }, minItems: 1 } as const;

/** Query of `GET /keys`. */
export const KEYS_QUERY = [
  { name: 'after', in: 'query', description: '`hash` of the last key of the page before.', schema: HASH },
] as const;

/** A key in a path. */
export const KEY_PATH = [
  { name: 'hash', in: 'path', required: true, description: 'SHA-256 of the key, in hexadecimal digits.', schema: HASH },
] as const;

const CARD = {
  type: 'object',
  required: ['hash', 'name', 'label', 'disabled', 'limit', 'limit_reset', 'scopes', 'created_at', 'expires_at'],
  properties: {
    hash: HASH,
    name: TEXT,
    label: { ...TEXT, description: 'The beginning and the end of the key.' },
    disabled: { type: 'boolean' },
    limit: { ...LIMIT, description: 'US dollars that may be spent with the key.' },
    limit_reset: { ...RESET, description: 'When `limit` begins anew; null for never.' },
    scopes: SCOPES,
    created_at: TIME,
    updated_at: TIME,
    expires_at: { type: ['string', 'null'], format: 'date-time' },
  },
} as const;

function object(properties: Readonly<Record<string, object>>): object {
  return { type: 'object', required: Object.keys(properties), properties };
}

/** Answers about keys. */
export const ONE_KEY = object({ data: CARD });
/** The only answers in which a key itself stands. */
export const NEW_KEY = object({ data: CARD, key: { ...TEXT, description: 'The key. It is not shown again.' } });
export const KEY_LIST = object({ data: { type: 'array', items: CARD, maxItems: 100 } });
export const DELETED_KEY = object({ deleted: { const: true } });

const FIELDS = {
  name: { ...TEXT, minLength: 1, maxLength: 200 },
  limit: LIMIT,
  limit_reset: RESET,
  scopes: SCOPES,
  expires_at: { type: ['string', 'null'], format: 'date-time' },
};

function bodyOf(properties: Readonly<Record<string, object>>): object {
  return { requestBody: { content: { 'application/json': { schema: { type: 'object', properties } } } } };
}

/** Bodies of requests about keys. */
export const CREATE_KEY_BODY = bodyOf(FIELDS);
export const UPDATE_KEY_BODY = bodyOf({ ...FIELDS, disabled: { type: 'boolean' } });
export const ROTATE_KEY_BODY = bodyOf({
  overlap_seconds: { type: 'number', minimum: 0, description: 'How long the old key still works. Default a day.' },
});
