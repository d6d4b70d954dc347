import { describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../src/protocol/chat-request.ts';
import type { RouterError } from '../../src/protocol/router-error.ts';
import { type Outcome, ask, askAndWait, benchOf, metadataOf, statusOf } from '../support/driving.ts';
import type { Behaviour } from '../support/stub-provider.ts';

type Fail = Extract<Behaviour, { does: 'fail' }>;

function fails(kind: Fail['kind'], more: Partial<Fail> = {}): Behaviour {
  return { does: 'fail', kind, ...more };
}

const ANSWER: Behaviour = { does: 'answer' };

/** Two providers of one model, the second of which would answer; asked in this order. */
async function takenOver(behaves: Behaviour, stream: boolean, body: Partial<ChatRequest> = {}) {
  const bench = benchOf({ p0: { behaves }, p1: { behaves: ANSWER } });
  const outcome = await askAndWait(bench, { stream, body: { provider: { order: ['p0'] }, ...body }, metadata: true });
  return { outcome, providers: bench.stubs.calls.map(({ provider }) => provider) };
}

function errorOf({ error }: Outcome): RouterError {
  return error as RouterError;
}

describe.each([false, true])('one upstream failure (stream: %s)', (stream) => {
  const passing: readonly (readonly [string, Behaviour])[] = [
    ['a connection that is refused (U-03)', fails('connection')],
    ['an unknown host (U-01)', fails('unreachable')],
    ['a timeout (U-04)', fails('timeout')],
    ['a refused key (U-29)', fails('credentials', { status: 401 })],
    ['an empty balance (U-30)', fails('quota', { status: 402 })],
    ['a model it does not have (U-32)', fails('model_not_found', { status: 404 })],
    ['a conflict (U-34)', fails('conflict', { status: 409 })],
    ['a rate limit (U-37)', fails('rate_limited', { status: 429, retryAfterMs: 2_000 })],
    ['a server error (U-49)', fails('server', { status: 500 })],
    ['overload (U-53)', fails('overloaded', { status: 529 })],
    ['a bad answer (U-41)', fails('bad_response')],
    ['a parameter it does not take', fails('unsupported_parameter', { status: 400 })],
  ];
  it.each(passing)('%s is taken over by the next provider', async (_name, behaves) => {
    const { outcome, providers } = await takenOver(behaves, stream);
    expect(statusOf(outcome)).toBe(200);
    expect(providers).toEqual(['p0', 'p1']);
    expect(metadataOf(outcome)).toMatchObject({ attempt: 2, summary: 'available=2, selected=P1' });
  });

  const final: readonly (readonly [string, Behaviour, number])[] = [
    ['a request it refuses (U-27)', fails('invalid_request', { status: 400 }), 400],
    ['a prompt that is too long (U-28)', fails('context_length', { status: 400 }), 400],
    ['content it refuses (U-31)', fails('content_policy', { status: 403 }), 403],
    ['a body that is too large (U-35)', fails('too_large', { status: 413 }), 413],
    ['a body it cannot process (U-36)', fails('unprocessable', { status: 422 }), 422],
  ];
  it.each(final)('%s is the end for this model', async (_name, behaves, status) => {
    const { outcome, providers } = await takenOver(behaves, stream);
    expect(statusOf(outcome)).toBe(status);
    expect(providers).toEqual(['p0']);
  });

  it.each(final)('%s lets the next model try', async (_name, behaves) => {
    const bench = benchOf({
      p0: { behaves, models: { 'acme/one': {} } },
      p1: { behaves: ANSWER, models: { 'acme/two': {} } },
    });
    const outcome = await askAndWait(bench, { stream, body: { models: ['acme/two'] }, metadata: true });
    expect(statusOf(outcome)).toBe(200);
    expect(metadataOf(outcome)).toMatchObject({ strategy: 'fallback', requested: 'acme/one', attempt: 2 });
  });
});

describe('a failure of everybody', () => {
  it.each<readonly [string, readonly Behaviour[], number]>([
    ['404 if all said so (U-32)', [fails('model_not_found'), fails('model_not_found')], 404],
    ['524 for timeouts only (U-33, U-50)', [fails('timeout', { status: 504 }), fails('timeout', { status: 408 })], 524],
    ['529 for 529 only (U-53)', [fails('overloaded', { status: 529 }), fails('overloaded', { status: 529 })], 529],
    ['503 for overload (U-51)', [fails('overloaded', { status: 503, retryAfterMs: 7_000 })], 503],
    ['502 for keys that are refused (U-29)', [fails('credentials', { status: 401 }), fails('quota')], 502],
  ])('is %s', async (_name, behaviours, status) => {
    const providers = behaviours.map((behaves, index) => [`p${index}`, { behaves }] as const);
    expect(statusOf(await askAndWait(benchOf(Object.fromEntries(providers))))).toBe(status);
  });

  it('by rate limits is 429 with the shortest wait (U-37)', async () => {
    const bench = benchOf({
      p0: { behaves: fails('rate_limited', { retryAfterMs: 9_000 }) },
      p1: { behaves: fails('rate_limited', { retryAfterMs: 4_000 }) },
    });
    const outcome = await askAndWait(bench);
    expect(errorOf(outcome)).toMatchObject({ status: 429, errorType: 'rate_limit_exceeded', retryAfterMs: 4_000 });
  });

  it('tells the last failure, and the earlier ones without their texts', async () => {
    const bench = benchOf({
      p0: { behaves: fails('server', { status: 500 }) },
      p1: { behaves: fails('rate_limited', { status: 429, retryAfterMs: 60_000 }) },
    });
    const outcome = await askAndWait(bench, { body: { provider: { order: ['p0', 'p1'] } } });
    const { metadata, message } = errorOf(outcome);
    expect(message).toContain('p0 failed');
    expect(metadata).toMatchObject({
      provider_name: 'P0',
      previous_errors: [
        { provider: 'p0', code: 'server', status: 500 },
        { provider: 'p1', code: 'rate_limited', status: 429 },
        { provider: 'p0', code: 'server', status: 500 },
      ],
    });
  });

  it('says nothing of our key with a provider', async () => {
    const bench = benchOf({ p0: { behaves: fails('credentials', { status: 401 }) } });
    const outcome = await askAndWait(bench);
    expect(errorOf(outcome).message).toBe('Provider returned error');
    expect(errorOf(outcome).metadata).toEqual({ provider_name: 'P0', is_byok: false });
    expect(errorOf(outcome).retryable).toBe(false);
  });

  it('is the error of the last model that was tried', async () => {
    const bench = benchOf({
      p0: { behaves: fails('server'), models: { 'acme/one': {} } },
      p1: { behaves: fails('rate_limited', { retryAfterMs: 60_000 }), models: { 'acme/two': {} } },
    });
    const outcome = await askAndWait(bench, {
      body: { models: ['acme/two'] },
      metadata: true,
    });
    // The first model is tried once more before the other one, and again when nothing else is left.
    expect(bench.stubs.calls.map(({ provider }) => provider)).toEqual(['p0', 'p0', 'p1', 'p0']);
    expect(statusOf(outcome)).toBe(502);
    expect(metadataOf(outcome)).toMatchObject({ attempt: 4, summary: 'available=2, selected=none' });
  });

  it('without fallbacks is passed on as it came', async () => {
    for (const [status, expected] of [
      [500, 500],
      [429, 429],
      [529, 529],
      [401, 502],
      [418, 502],
    ] as const) {
      const kind = status === 429 ? 'rate_limited' : status === 401 ? 'credentials' : 'server';
      const bench = benchOf({ p0: { behaves: fails(kind, { status }) }, p1: { behaves: ANSWER } });
      const outcome = await askAndWait(bench, { body: { provider: { order: ['p0'], allow_fallbacks: false } } });
      expect(statusOf(outcome)).toBe(expected);
    }
  });
});

/** A Retry-After means what it says, without the jitter that keeps instances apart. */
const EXACT = {};

describe('when everybody is cooling down', () => {
  it('the answer is 503 at once, with the soonest moment that it makes sense to ask (U-68)', async () => {
    const bench = benchOf({
      p0: { behaves: fails('overloaded', { retryAfterMs: 120_000 }) },
      p1: { behaves: fails('overloaded', { retryAfterMs: 90_000 }) },
    });
    const first = ask(bench);
    await bench.environment.settle();
    expect(first.outcome && statusOf(first.outcome)).toBe(503);
    await bench.environment.advance(5_000);
    const before = bench.stubs.calls.length;
    const second = ask(bench, { metadata: true });
    await bench.environment.settle();
    if (second.outcome === undefined) throw new Error('must not wait');
    expect(errorOf(second.outcome)).toMatchObject({
      status: 503,
      retryAfterMs: 85_000,
      availability: { code: 'temporarily_unavailable', retryable: true, retry_after: 85 },
    });
    expect(metadataOf(second.outcome)?.attempt).toBe(0);
    expect(bench.stubs.calls).toHaveLength(before);
  });

  it('whoever did not say when to come back is asked all the same, a second later', async () => {
    const bench = benchOf({
      p0: { behaves: [fails('credentials', { status: 401 }), ANSWER] },
      p1: { behaves: fails('overloaded', { retryAfterMs: 90_000 }) },
    });
    ask(bench);
    await bench.environment.settle();
    const turnedAway = ask(bench);
    await bench.environment.settle();
    expect(turnedAway.outcome?.error).toMatchObject({ status: 503, retryAfterMs: 1_000 });
    await bench.environment.advance(1_000);
    expect(statusOf(await askAndWait(bench))).toBe(200);
    expect(bench.stubs.calls.map(({ provider }) => provider).sort()).toEqual(['p0', 'p0', 'p1']);
  });

  it('by rate limits the answer is 429', async () => {
    const bench = benchOf({ p0: { behaves: fails('rate_limited', { retryAfterMs: 30_000 }) } }, EXACT);
    ask(bench);
    await bench.environment.settle();
    const second = ask(bench);
    await bench.environment.settle();
    expect(second.outcome?.error).toMatchObject({
      status: 429,
      retryAfterMs: 30_000,
      availability: { code: 'capacity_exhausted' },
    });
  });

  it('the next request after the cooldown is sent', async () => {
    const bench = benchOf({ p0: { behaves: [fails('rate_limited', { retryAfterMs: 30_000 }), ANSWER] } }, EXACT);
    ask(bench);
    await bench.environment.advance(30_000);
    const second = ask(bench);
    await bench.environment.settle();
    await bench.environment.advance(10);
    expect(second.outcome?.status).toBe('ok');
  });
});

describe("an account's own key", () => {
  const account = { id: 'tester', providerKeys: { p0: { apiKey: 'own-key' } } };

  it('is used before the shared one, and costs nothing', async () => {
    const models = { 'acme/one': { price: { prompt: 1, completion: 1 } } };
    const bench = benchOf({ p0: { behaves: ANSWER, models } });
    const outcome = await askAndWait(bench, { account, metadata: true });
    expect(bench.stubs.calls.map(({ apiKey }) => apiKey)).toEqual(['own-key']);
    expect(outcome.result?.usage).toMatchObject({ is_byok: true, cost: 0 });
    expect(metadataOf(outcome)?.is_byok).toBe(true);
  });

  it('that fails is followed by the shared one, and its failure is its own', async () => {
    const bench = benchOf({ p0: { behaves: [fails('credentials', { status: 401 }), ANSWER] } });
    expect(statusOf(await askAndWait(bench, { account }))).toBe(200);
    expect(bench.stubs.calls.map(({ apiKey }) => apiKey)).toEqual(['own-key', undefined]);
    expect(statusOf(await askAndWait(bench, { account: { id: 'other' } }))).toBe(200);
  });

  it('is never used for anybody else', async () => {
    const bench = benchOf({ p0: { behaves: ANSWER } });
    await askAndWait(bench, { account });
    await askAndWait(bench, { account: { id: 'other' } });
    expect(bench.stubs.calls.map(({ apiKey }) => apiKey)).toEqual(['own-key', undefined]);
  });
});
