/** The responses of the OpenAPI document, errors included. */
import { type ComponentName, reference } from './component-schemas.ts';

/** What each status of an error means (contract: errors). 405, 415 and 431 come from HTTP itself. */
const MEANINGS = {
  400: 'The request is malformed, or one of its fields is wrong; the message names it.',
  401: 'Credentials are missing or not valid.',
  402: 'Credits or quota do not suffice; with `Retry-After`, because other requests have reserved the rest.',
  403: 'Not permitted: by scope, by a guardrail, or because the model or provider is not allowed.',
  404: 'There is no such model, batch or endpoint, or nothing is left that may serve the request.',
  405: 'The path does not take this method; `Allow` says which it takes.',
  408: 'The operation took too long.',
  409: 'The state of the batch, or an earlier request with the same idempotency key, does not allow it.',
  413: 'The body is too large.',
  415: 'The body is not JSON, or compressed in a way that is not understood.',
  422: 'The request is well formed and cannot be carried out.',
  429: 'Too many requests; `Retry-After` says when to try again.',
  431: 'The headers are too large.',
  500: 'A fault inside the router.',
  502: 'The provider failed.',
  503: 'Not available at the moment.',
  504: 'The provider did not answer in time, in the format of this API.',
  524: 'The provider did not answer in time.',
  529: 'The provider is overloaded.',
} as const;

/** Status of an error. */
export type ErrorStatus = keyof typeof MEANINGS;

/** Statuses that any path may answer with. */
export const COMMON_ERRORS = [400, 404, 405, 431, 500, 503] as const satisfies readonly ErrorStatus[];

/** Statuses of operations that need credentials and take a body. */
export const BODY_ERRORS = [401, 402, 403, 408, 409, 413, 415, 422, 429] as const satisfies readonly ErrorStatus[];

/** Statuses of operations that call providers. */
export const UPSTREAM_ERRORS = [502, 504, 524, 529] as const satisfies readonly ErrorStatus[];

/** Headers of answers. */
export const HEADERS = {
  RequestId: { description: 'Names the call, also when it failed.', schema: { type: 'string' } },
  GenerationId: { description: 'Id of the answer, as in its body.', schema: { type: 'string', pattern: '^gen-' } },
  RetryAfter: { description: 'Seconds to wait before another try.', schema: { type: 'integer', minimum: 0 } },
  ShouldRetry: {
    description: '`false` when the same request cannot succeed, `true` when it likely will after `Retry-After`.',
    schema: { enum: ['true', 'false'] },
  },
  RateLimitLimit: { description: 'What the limit that was reached allows.', schema: { type: 'integer' } },
  RateLimitRemaining: { description: 'What is left of it.', schema: { type: 'integer', minimum: 0 } },
  RateLimitReset: { description: 'When it resets, in epoch milliseconds.', schema: { type: 'integer' } },
  CacheStatus: {
    description: 'Whether the answer came from the response cache. Absent where the cache took no part.',
    schema: { enum: ['HIT', 'MISS'] },
  },
  CacheTtl: { description: 'Seconds that the answer is kept.', schema: { type: 'integer' } },
  CacheAge: { description: 'Seconds since a kept answer was made.', schema: { type: 'integer', minimum: 0 } },
  CacheSource: { description: 'Id of the answer that was kept.', schema: { type: 'string' } },
  NextCursor: {
    description: 'Where the next page begins; absent on the last one.',
    schema: { type: 'string', pattern: '^[0-9]+$' },
  },
  ETag: { description: 'Names what was sent; with `If-None-Match`, it is not sent again.', schema: { type: 'string' } },
  Allow: { description: 'Methods that the path takes.', schema: { type: 'string' } },
} as const;

function header(name: keyof typeof HEADERS): object {
  return { $ref: `#/components/headers/${name}` };
}

const MEANT = { 'X-Request-Id': header('RequestId') };
const GENERATED = { ...MEANT, 'X-Generation-Id': header('GenerationId') };
const CACHED = {
  'X-Router-Cache-Status': header('CacheStatus'),
  'X-Router-Cache-TTL': header('CacheTtl'),
  'X-Router-Cache-Age': header('CacheAge'),
  'X-Router-Cache-Source-Id': header('CacheSource'),
};
const LIMITED = {
  'X-RateLimit-Limit': header('RateLimitLimit'),
  'X-RateLimit-Remaining': header('RateLimitRemaining'),
  'X-RateLimit-Reset': header('RateLimitReset'),
};
/** The messages wire has a name of its own for the id of a call. */
const NAMED = { 'Request-Id': header('RequestId') };

/** Answers that are lines of text, page by page. */
export function lines(description: string, types: readonly string[]): object {
  return {
    description,
    headers: { ...MEANT, 'X-Next-Cursor': header('NextCursor') },
    content: Object.fromEntries(types.map((type) => [type, { schema: { type: 'string' } }])),
  };
}

/** An answer whose schema is no component. */
export function describedResponse(description: string, schema: object): object {
  return { description, headers: MEANT, content: { 'application/json': { schema } } };
}

/** An answer about a generation, whose schema is no component. */
export function ofGeneration(description: string, type?: string, schema: object = {}): object {
  return { description, headers: GENERATED, ...(type === undefined ? {} : { content: { [type]: { schema } } }) };
}

/** What a client gets that asks for something which does not change: the success, with its tag, or that it has it. */
export function tagged(response: object): Readonly<Record<string, object>> {
  const headers = { ...MEANT, ETag: header('ETag') };
  return {
    200: { ...response, headers },
    304: { description: 'The client has it already, as its `If-None-Match` says.', headers },
  };
}

/** A success that is no JSON. */
export function plain(description: string, type: string): object {
  return { description, headers: MEANT, content: { [type]: { schema: { type: 'string' } } } };
}

/** The answer to an operation that went well. */
export function success(
  description: string,
  schema: ComponentName,
  { events, generated = false }: { readonly events?: ComponentName; readonly generated?: boolean } = {},
): object {
  return {
    description,
    headers: {
      ...(generated ? GENERATED : MEANT),
      ...(events === undefined ? {} : CACHED),
      ...(schema === 'MessagesResult' ? NAMED : {}),
    },
    content: {
      'application/json': { schema: reference(schema) },
      ...(events === undefined
        ? {}
        : {
            'text/event-stream': {
              schema: {
                type: 'string',
                description:
                  'Server-sent events. The data of each is JSON, except the last, `[DONE]`, where the wire has it. ' +
                  'Comments keep a quiet stream open.',
                'x-event-schema': reference(events),
              },
            },
          }),
    },
  };
}

/** Shapes of error answers. */
type ErrorSchema = Extract<ComponentName, 'Error' | 'MessagesError' | 'ResponsesError'>;

/** Answers to an operation that failed, by status. */
export function errors(
  statuses: readonly ErrorStatus[],
  schema: ErrorSchema,
): Readonly<Record<string, { readonly $ref: string }>> {
  const sorted = [...new Set(statuses)].sort((left, right) => left - right);
  return Object.fromEntries(
    sorted.map((status) => [status, { $ref: `#/components/responses/${nameOf(schema, status)}` }]),
  );
}

function nameOf(schema: ErrorSchema, status: number | string): string {
  return `${schema}${status}`;
}

/** Every answer that {@link errors} refers to. */
export function errorResponses(): Readonly<Record<string, object>> {
  const schemas = ['Error', 'MessagesError', 'ResponsesError'] as const;
  return Object.fromEntries(
    schemas.flatMap((schema) =>
      Object.entries(MEANINGS).map(([status, description]) => [
        nameOf(schema, status),
        errorResponse(Number(status), description, schema),
      ]),
    ),
  );
}

function errorResponse(status: number, description: string, schema: ErrorSchema): object {
  return {
    description,
    headers: {
      ...GENERATED,
      ...(status === 405 ? { Allow: header('Allow') } : {}),
      ...(schema === 'MessagesError' ? NAMED : {}),
      ...(status === 429 ? LIMITED : {}),
      ...(status === 402 || status === 429 || status >= 500 ? { 'Retry-After': header('RetryAfter') } : {}),
      'X-Should-Retry': header('ShouldRetry'),
    },
    content: { 'application/json': { schema: reference(schema) } },
  };
}
