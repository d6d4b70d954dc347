/** The operations on kept streams, as the OpenAPI document has them. */
import type { StreamOperation } from '../routes.ts';
import type { DocumentedOperation } from './documented-operation.ts';
import type { Parameter } from './parameters.ts';
import { COMMON_ERRORS, errors, ofGeneration } from './responses.ts';

const TEXT = { type: 'string' } as const;
const BYTES = { type: 'integer', minimum: 0 } as const;

const STREAM_PATH: readonly Parameter[] = [
  { name: 'id', in: 'path', required: true, description: '`X-Generation-Id` of the stream.', schema: TEXT },
];

const PLACE: readonly Parameter[] = [
  { name: 'from', in: 'query', description: 'Bytes of the stream that the reader has. Default 0.', schema: BYTES },
  {
    name: 'ids',
    in: 'query',
    description: 'Whether events get a line `id` with the bytes up to their end, for an `EventSource`. Default false.',
    schema: { enum: ['true', 'false'] },
  },
  { name: 'Last-Event-ID', in: 'header', description: 'Likewise `from`, which is used first.', schema: BYTES },
];

const STOPPED = {
  type: 'object',
  required: ['id', 'object', 'status'],
  properties: {
    id: TEXT,
    object: { const: 'stream' },
    status: {
      enum: ['stopping', 'deleted'],
      description: '`stopping`: it ends with an error as its last event. `deleted`: it was over, and is forgotten.',
    },
  },
} as const;

const STREAM_ERRORS = [...COMMON_ERRORS, 401, 403, 429] as const;

/** Operations on streams that are kept. */
export const STREAM_OPERATIONS: Readonly<Record<StreamOperation['name'], DocumentedOperation>> = {
  stream_resume: {
    method: 'get',
    path: '/streams/{id}',
    operation: {
      operationId: 'resumeStream',
      summary: 'Read the rest of a stream, byte for byte as it was sent. Where the option `streams` is on.',
      parameters: [...STREAM_PATH, ...PLACE],
      responses: {
        200: ofGeneration('The rest, as it comes.', 'text/event-stream', TEXT),
        204: ofGeneration('The stream is over, and the reader has all of it.'),
        ...errors(STREAM_ERRORS, 'Error'),
      },
    },
  },
  stream_stop: {
    method: 'delete',
    path: '/streams/{id}',
    operation: {
      operationId: 'stopStream',
      summary: 'Stop a stream that goes on, at its provider too, or forget one that is over.',
      parameters: STREAM_PATH,
      responses: {
        200: ofGeneration('What becomes of it.', 'application/json', STOPPED),
        ...errors(STREAM_ERRORS, 'Error'),
      },
    },
  },
};
