import { describe, expect, it } from 'vitest';
import { failureInBand, failureOfResponse } from '../../../src/providers/upstream-failure.ts';
import { answerContextOf, googleFixtureText } from '../../support/google-wire.ts';

function failureOf(path: string, status: number, wallClock = Date.UTC(2026, 10, 20, 12)) {
  const context = { ...answerContextOf(), wallClock };
  return failureOfResponse(status, () => undefined, googleFixtureText(path), context);
}

describe('an error of Google', () => {
  it.each([
    ['error-key.json', 400, 'credentials', undefined],
    ['error-location.json', 400, 'credentials', undefined],
    ['error-argument.json', 400, 'invalid_request', undefined],
    ['error-context.json', 400, 'context_length', undefined],
    ['error-permission.json', 403, 'credentials', undefined],
    ['error-model.json', 404, 'model_not_found', undefined],
    ['error-aborted.json', 409, 'conflict', undefined],
    ['error-minute.json', 429, 'rate_limited', 27_000],
    ['error-array.json', 429, 'rate_limited', undefined],
    ['error-prepay.json', 429, 'quota', undefined],
    ['error-internal.json', 500, 'server', undefined],
    ['error-overloaded.json', 503, 'overloaded', undefined],
    ['error-deadline.json', 504, 'timeout', undefined],
  ])('is understood: %s with %i is %s', (path, status, kind, retryAfterMs) => {
    expect(failureOf(path, status)).toMatchObject({ kind, status });
    expect(failureOf(path, status).retryAfterMs).toBe(retryAfterMs);
  });

  it.each([
    ['an hour, which is the longest', '2026-11-20T12:00:00Z', 3_600_000],
    ['until midnight in winter', '2026-11-21T07:40:00Z', 1_200_000],
    ['until midnight in summer', '2026-07-01T06:59:30Z', 30_000],
  ])('puts a key whose day is used up to sleep for %s', (_name, now, wait) => {
    expect(failureOf('error-day.json', 429, Date.parse(now)).retryAfterMs).toBe(wait);
  });

  it.each([
    ['UNAUTHENTICATED', 'credentials', 401],
    ['PERMISSION_DENIED', 'credentials', 403],
    ['NOT_FOUND', 'model_not_found', 404],
    ['ABORTED', 'conflict', 409],
    ['ALREADY_EXISTS', 'conflict', 409],
    ['RESOURCE_EXHAUSTED', 'rate_limited', 429],
    ['CANCELLED', 'server', 499],
    ['UNIMPLEMENTED', 'server', 501],
    ['UNAVAILABLE', 'overloaded', 503],
    ['DEADLINE_EXCEEDED', 'timeout', 504],
    ['INVALID_ARGUMENT', 'invalid_request', 400],
    ['OUT_OF_RANGE', 'invalid_request', 400],
    ['FAILED_PRECONDITION', 'credentials', 400],
    ['INTERNAL', 'server', 500],
    ['UNKNOWN', 'server', 500],
    ['DATA_LOSS', 'server', 500],
  ])('inside a stream is understood without a number: %s is %s', (word, kind, status) => {
    expect(failureInBand({ error: { message: 'No.', status: word } }, answerContextOf())).toMatchObject({
      kind,
      status,
    });
  });
});
