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
