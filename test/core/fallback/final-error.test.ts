import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type FinalError, coolingError, finalError } from '../../../src/core/fallback/final-error.ts';
import type { Admission } from '../../../src/core/fallback/health.ts';
import type { LatelyEnded } from '../../../src/core/fallback/outcomes.ts';
import type { PlanStep } from '../../../src/core/selection/route-plan.ts';
import { FAILURE_KINDS, type FailureDetails, failedAt, planOver } from '../../support/attempts.ts';
import { runs } from '../../support/properties.ts';
import { failure, FAILURE_RULES, type FailureKind } from '../../../src/contracts/failure.ts';

const plan = planOver('alpha', 'beta', 'gamma');
const PROVIDERS = ['alpha', 'beta', 'gamma'] as const;

type Fault = FailureKind | readonly [FailureKind, FailureDetails];

/** The error after one fault of each provider, in their order. */
function after(faults: readonly Fault[], allowFallbacks = true): FinalError {
  const attempts = faults.map((fault, index) => {
    const [kind, details] = typeof fault === 'string' ? [fault, {}] : fault;
    return failedAt(plan, PROVIDERS[index % PROVIDERS.length] ?? 'alpha', kind, details);
  });
  return finalError(plan, attempts, 'exhausted', { allowFallbacks, docsUrl: 'docs' });
}

describe('the status when all attempts failed', () => {
  const cases: readonly (readonly [string, readonly Fault[], number, string])[] = [
    ['all rate limited', ['rate_limited', 'rate_limited'], 429, 'rate_limit_exceeded'],
    ['all overloaded', ['overloaded', 'overloaded'], 503, 'provider_overloaded'],
    [
      'all overloaded with 529',
      [
        ['overloaded', { status: 529 }],
        ['overloaded', { status: 529 }],
      ],
      529,
      'provider_overloaded',
    ],
    [
      'overloaded with 529 and with 503',
      [
        ['overloaded', { status: 529 }],
        ['overloaded', { status: 503 }],
      ],
      503,
      'provider_overloaded',
    ],
    ['all timed out', ['timeout', 'timeout', 'timeout'], 524, 'timeout'],
    ['a single timeout', ['timeout'], 524, 'timeout'],
    ['a single rate limit', ['rate_limited'], 429, 'rate_limit_exceeded'],
    ['a single overload with 529', [['overloaded', { status: 529 }]], 529, 'provider_overloaded'],
    ['a broken connection', ['connection'], 502, 'provider_unavailable'],
    ['an unreachable host', ['unreachable'], 502, 'provider_unavailable'],
    ['a server error', ['server'], 502, 'provider_unavailable'],
    ['a bad answer', ['bad_response'], 502, 'provider_unavailable'],
    ['a conflict', ['conflict'], 502, 'provider_unavailable'],
    ['a refused key', [['credentials', { status: 401 }]], 502, 'provider_unavailable'],
    ['an empty balance', [['quota', { status: 402 }]], 502, 'provider_unavailable'],
    ['a failing adapter', ['adapter'], 502, 'provider_unavailable'],
    ['hard failures of several sorts', ['server', 'timeout', 'connection'], 502, 'provider_unavailable'],
    ['rate limits and a server error', ['rate_limited', 'server'], 502, 'provider_unavailable'],
    ['rate limits and overload', ['rate_limited', 'overloaded'], 503, 'provider_overloaded'],
    ['a model nobody knows', ['model_not_found', 'model_not_found'], 404, 'not_found'],
    ['a model only some know', ['model_not_found', 'server'], 502, 'provider_unavailable'],
    ['a refused request', ['invalid_request'], 400, 'invalid_request'],
    ['a refused request after an outage', ['server', 'invalid_request'], 400, 'invalid_request'],
    ['a parameter nobody takes', ['unsupported_parameter', 'unsupported_parameter'], 400, 'invalid_request'],
    ['a body that cannot be processed', ['unprocessable'], 422, 'unprocessable'],
    ['a prompt that is too long', ['context_length'], 400, 'context_length_exceeded'],
    ['a body that is too large', ['too_large'], 413, 'payload_too_large'],
    ['refused content', [['content_policy', { status: 403 }]], 403, 'content_policy_violation'],
    ['refused content with 400', [['content_policy', { status: 400 }]], 400, 'content_policy_violation'],
    ['our own deadline', ['server', 'deadline'], 408, 'timeout'],
  ];
  it.each(cases)('%s', (_name, faults, status, errorType) => {
    expect(after(faults)).toMatchObject({ status, errorType });
  });

  it('is 408 when the time was up before or between the attempts', () => {
    expect(finalError(plan, [], 'deadline', { allowFallbacks: true, docsUrl: 'docs' })).toMatchObject({
      status: 408,
      errorType: 'timeout',
    });
    const attempts = [failedAt(plan, 'alpha', 'server')];
    expect(finalError(plan, attempts, 'deadline', { allowFallbacks: true, docsUrl: 'docs' })).toMatchObject({
      status: 408,
    });
  });

  it.each(FAILURE_KINDS)('of a single "%s" is never one that blames the key of the caller', (kind) => {
    for (const status of [401, 402, 403]) {
      const found = after([[kind, { status }]]);
      if (kind !== 'content_policy') expect([401, 402, 403]).not.toContain(found.status);
      expect(after([[kind, { status }]], false).status).toBe(kind === 'content_policy' ? 403 : found.status);
    }
  });

  it('counts the attempts of the model that was tried last', () => {
    const two = planOver('alpha acme/one', 'beta acme/one', 'gamma acme/two');
    const attempts = [
      failedAt(two, 'alpha', 'server'),
      failedAt(two, 'beta', 'context_length'),
      failedAt(two, 'gamma', 'rate_limited'),
    ];
    expect(finalError(two, attempts, 'exhausted', { allowFallbacks: true, docsUrl: 'docs' })).toMatchObject({
      status: 429,
    });
  });

  it('depends on the set of faults, not on their order (P9)', () => {
    const equalClass = FAILURE_KINDS.filter((kind) => FAILURE_RULES[kind].next === 'endpoint');
    const fault = fc.tuple(fc.constantFrom(...equalClass), fc.constantFrom(undefined, 429, 500, 503, 529));
    const shuffled = fc
      .array(fault, { minLength: 1, maxLength: 6 })
      .chain((list) =>
        fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length, maxLength: list.length })),
      );
    fc.assert(
      fc.property(shuffled, ([one, other]) => {
        const statusOf = (list: typeof one): readonly unknown[] => {
          const { status, errorType, retryable } = after(list.map(([kind, code]) => [kind, { status: code }] as const));
          return [status, errorType, retryable];
        };
        expect(statusOf(other)).toEqual(statusOf(one));
      }),
      runs(1_000),
    );
  });

  it('follows the outcome rules for every mixture (P9)', () => {
    const anyFault = fc.constantFrom<FailureKind>(
      'rate_limited',
      'overloaded',
      'timeout',
      'server',
      'connection',
      'credentials',
    );
    fc.assert(
      fc.property(fc.array(anyFault, { minLength: 1, maxLength: 6 }), (kinds) => {
        const { status } = after(kinds);
        const all = (kind: FailureKind): boolean => kinds.every((one) => one === kind);
        if (all('rate_limited')) expect(status).toBe(429);
        else if (all('timeout')) expect(status).toBe(524);
        else if (kinds.every((kind) => kind === 'rate_limited' || kind === 'overloaded')) expect(status).toBe(503);
        else expect(status).toBe(502);
      }),
      runs(1_000),
    );
  });
});

describe('without fallbacks', () => {
  it.each([400, 404, 408, 413, 422, 429, 500, 502, 503, 524, 529])("passes the provider's %d on", (status) => {
    expect(after([['server', { status }]], false).status).toBe(status);
  });

  it.each([301, 401, 402, 403, 405, 409, 418, 501, 504, 520, 522, 599, 999])('makes a 502 of %d', (status) => {
    expect(after([['server', { status }]], false).status).toBe(502);
  });

  it('follows the ordinary rules for a failure without a status', () => {
    expect(after(['timeout'], false).status).toBe(524);
    expect(after(['connection'], false).status).toBe(502);
  });

  it('still answers 408 for its own deadline', () => {
    expect(after([['deadline', { status: 500 }]], false).status).toBe(408);
  });
});

describe('what else a final error says', () => {
  it('is the shortest wait that any provider named', () => {
    const faults: readonly Fault[] = [
      ['rate_limited', { retryAfterMs: 9_000 }],
      ['server', {}],
      ['rate_limited', { retryAfterMs: 4_000 }],
    ];
    expect(after(faults).retryAfterMs).toBe(4_000);
    expect(after(['server']).retryAfterMs).toBeUndefined();
    expect(
      after([
        ['rate_limited', { retryAfterMs: 0 }],
        ['server', { retryAfterMs: 5 }],
      ]).retryAfterMs,
    ).toBe(0);
  });

  it('is the last failure and those before it', () => {
    const { attempt, previous, message } = after(['server', 'timeout', 'connection']);
    expect(attempt?.step.endpoint.provider).toBe('gamma');
    expect(previous.map(({ step }) => step.endpoint.provider)).toEqual(['alpha', 'beta']);
    expect(message).toBe('gamma failed');
  });

  it('is that trying again is pointless when every failure will last', () => {
    expect(after(['credentials', 'quota', 'model_not_found']).retryable).toBe(false);
    expect(after(['credentials', 'server']).retryable).toBeUndefined();
    expect(after(['schema_mismatch', 'schema_mismatch']).retryable).toBe(false);
    expect(after(['schema_mismatch', 'server']).retryable).toBeUndefined();
    expect(finalError(plan, [], 'deadline', { allowFallbacks: true, docsUrl: 'docs' }).retryable).toBeUndefined();
  });
});

describe('when every endpoint is cooling down', () => {
  const waits: Readonly<Record<string, Admission>> = {
    alpha: { ok: false, waitMs: 9_000, cause: 'breaker' },
    beta: { ok: false, waitMs: 1_200, cause: 'rate_limited' },
    gamma: { ok: false, waitMs: 30_000, cause: 'credentials' },
  };
  const never = (): LatelyEnded => ({ succeeded: 0, failed: 0 });
  const lately = ({ endpoint: { provider } }: PlanStep): LatelyEnded =>
    provider === 'alpha' ? { succeeded: 1, failed: 9 } : provider === 'beta' ? { succeeded: 0, failed: 5 } : never();

  it('the answer is 503 with the soonest moment at which one may be asked (U-68)', () => {
    const error = coolingError(plan, ({ endpoint: { provider } }) => waits[provider] ?? { ok: true }, lately, 'docs');
    expect(error).toEqual({
      status: 503,
      errorType: 'provider_overloaded',
      message:
        'Every provider of acme/one is failing right now (of 15 requests that called one of them in the last 30 seconds, 14 failed there); retry after the time in Retry-After, or add a provider',
      retryAfterMs: 1_200,
      previous: [],
      availability: {
        code: 'temporarily_unavailable',
        retryable: true,
        requested_models: ['acme/one'],
        docs_url: 'docs#temporarily_unavailable',
        retry_after: 2,
        affected_providers: ['alpha', 'beta', 'gamma'],
      },
    });
  });

  it('the answer is 503 without a wait when they have just recovered', () => {
    expect(coolingError(plan, () => ({ ok: true }), never, 'docs')).toMatchObject({ status: 503, retryAfterMs: 0 });
  });

  it('the answer is 429 when all of them are rate limited', () => {
    const error = coolingError(plan, () => ({ ok: false, waitMs: 5_000, cause: 'rate_limited' }), lately, 'docs');
    expect(error).toMatchObject({
      status: 429,
      errorType: 'rate_limit_exceeded',
      retryAfterMs: 5_000,
      availability: { code: 'capacity_exhausted', retryable: true, retry_after: 5 },
    });
  });
});

describe('the rule of every kind of failure', () => {
  it('is one of the documented statuses', () => {
    const documented = new Set([400, 403, 404, 408, 413, 422, 429, 499, 502, 503, 524]);
    expect(FAILURE_KINDS.filter((kind) => !documented.has(FAILURE_RULES[kind].status))).toEqual([]);
  });

  it('counts against the uptime what says something about the endpoint, and nothing that the caller did', () => {
    const counted = FAILURE_KINDS.filter((kind) => FAILURE_RULES[kind].againstUptime);
    expect(counted.sort()).toEqual([
      'adapter',
      'bad_response',
      'conflict',
      'connection',
      'credentials',
      'model_not_found',
      'overloaded',
      'quota',
      'server',
      'timeout',
      'unreachable',
    ]);
  });

  it('never lets the breaker count what is not the fault of the endpoint', () => {
    const breaking = FAILURE_KINDS.filter((kind) => FAILURE_RULES[kind].breaks);
    expect(breaking.sort()).toEqual([
      'adapter',
      'bad_response',
      'connection',
      'overloaded',
      'server',
      'timeout',
      'unreachable',
    ]);
  });

  it('never repeats what cannot come out differently', () => {
    const repeated = FAILURE_KINDS.filter((kind) => FAILURE_RULES[kind].sameEndpoint);
    expect(repeated.every((kind) => FAILURE_RULES[kind].next === 'endpoint')).toBe(true);
    expect(repeated.sort()).toEqual(['bad_response', 'conflict', 'connection', 'overloaded', 'rate_limited', 'server']);
    expect(failure('server', 'text')).toEqual({ kind: 'server', message: 'text' });
  });
});
