import type { FailureKind } from '../../core/fallback/failure.ts';

/** What a status without any further word means. */
export const STATUS_KINDS: readonly (readonly [status: number, kind: FailureKind])[] = [
  [400, 'invalid_request'],
  [401, 'credentials'],
  [402, 'quota'],
  [403, 'credentials'],
  [404, 'model_not_found'],
  [408, 'timeout'],
  [409, 'conflict'],
  [413, 'too_large'],
  [422, 'unprocessable'],
  [429, 'rate_limited'],
  [500, 'server'],
  [502, 'server'],
  [503, 'overloaded'],
  [504, 'timeout'],
  [529, 'overloaded'],
];

/** Bodies that are no answer, each with a good status. */
export const NONSENSE: readonly (readonly [contentType: string, body: string])[] = [
  ['application/json', ''],
  ['application/json', '   \n'],
  ['application/json', '{'],
  ['application/json', '{}'],
  ['application/json', '[]'],
  ['application/json', 'null'],
  ['application/json', '"text"'],
  ['application/json', '7'],
  ['application/json', '{"choices":7,"content":7,"candidates":7}'],
  ['text/html', '<!doctype html><title>Sign in</title>'],
  ['text/event-stream', ''],
  ['text/event-stream', 'data: \u0000\n\n'],
  ['text/event-stream', 'data: {\n\n'],
  ['text/event-stream', '<!doctype html><title>Sign in</title>'],
  ['text/plain', 'It works!'],
  ['application/octet-stream', '\u0000\u0001\u0002'],
];
