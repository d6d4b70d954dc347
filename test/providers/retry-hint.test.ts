import { describe, expect, it } from 'vitest';
import { readErrorShape } from '../../src/providers/error-shape.ts';
import { retryHintMs } from '../../src/providers/retry-hint.ts';

const NOW = Date.UTC(2026, 10, 20, 12);

function hint(headers: Readonly<Record<string, string>>, body: unknown = {}, status = 429): number | undefined {
  return retryHintMs(status, (name) => headers[name], readErrorShape(body), NOW);
}

const google = (retryDelay: string): object => ({
  error: { code: 429, details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay }] },
});

describe('when a provider wants to be asked again', () => {
  it.each<
    readonly [name: string, headers: Readonly<Record<string, string>>, body: unknown, expected: number | undefined]
  >([
    ['milliseconds', { 'retry-after-ms': '1500' }, {}, 1_500],
    ['no time at all', { 'retry-after-ms': '0' }, {}, 0],
    ['fractions of milliseconds', { 'retry-after-ms': '12.5' }, {}, 12.5],
    ["Azure's milliseconds", { 'x-ms-retry-after-ms': '700' }, {}, 700],
    ['seconds', { 'retry-after': '2' }, {}, 2_000],
    ['a date', { 'retry-after': 'Fri, 20 Nov 2026 12:00:30 GMT' }, {}, 30_000],
    [
      'a date, by its own clock',
      { 'retry-after': 'Fri, 20 Nov 2026 12:00:30 GMT', date: 'Fri, 20 Nov 2026 12:00:10 GMT' },
      {},
      20_000,
    ],
    ["Google's delay", {}, google('27s'), 27_000],
    ["Google's delay in fractions", {}, google('3.25s'), 3_250],
    [
      'requests that are used up',
      { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '6m0s' },
      {},
      360_000,
    ],
    ['tokens that are used up', { 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '120ms' }, {}, 120],
    [
      'both, of which the later counts',
      {
        'x-ratelimit-remaining-requests': '0',
        'x-ratelimit-reset-requests': '1s',
        'x-ratelimit-remaining-tokens': '0',
        'x-ratelimit-reset-tokens': '1m2.5s',
      },
      {},
      62_500,
    ],
    [
      "Anthropic's reset",
      { 'anthropic-ratelimit-requests-remaining': '0', 'anthropic-ratelimit-requests-reset': '2026-11-20T12:00:05Z' },
      {},
      5_000,
    ],
    ['its words', {}, { error: { message: 'Rate limit reached. Please try again in 1.2s. Thanks' } }, 1_200],
    ['its words, in milliseconds', {}, { error: { message: 'Please try again in 250ms' } }, 250],
    ['its words, in minutes and seconds', {}, { error: { message: 'try again in 6m0s.' } }, 360_000],
    ['its words, written out', {}, { error: { message: 'Retry after 20 seconds' } }, 20_000],
    ['its words, in minutes', {}, { error: { message: 'Please retry in 2 minutes' } }, 120_000],
  ])('it says so in %s', (_name, headers, body, expected) => {
    expect(hint(headers, body)).toBe(expected);
  });

  it('the first source that says so counts', () => {
    const body = { error: { message: 'try again in 5s', details: [{ retryDelay: '4s' }] } };
    const headers: Record<string, string> = {
      'retry-after-ms': '1000',
      'x-ms-retry-after-ms': '2000',
      'retry-after': '3',
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '6s',
    };
    expect(hint(headers, body)).toBe(1_000);
    delete headers['retry-after-ms'];
    expect(hint(headers, body)).toBe(2_000);
    delete headers['x-ms-retry-after-ms'];
    expect(hint(headers, body)).toBe(3_000);
    delete headers['retry-after'];
    expect(hint(headers, body)).toBe(4_000);
    expect(hint(headers, { error: { message: 'try again in 5s' } })).toBe(6_000);
    expect(hint({}, { error: { message: 'try again in 5s' } })).toBe(5_000);
  });

  it.each<readonly [name: string, headers: Readonly<Record<string, string>>, body: unknown]>([
    ['nothing', {}, {}],
    ['a negative number', { 'retry-after': '-1' }, {}],
    ['an exponent', { 'retry-after': '1e3' }, {}],
    ['a hexadecimal number', { 'retry-after-ms': '0x10' }, {}],
    ['words', { 'retry-after': 'tomorrow' }, {}],
    ['two numbers', { 'retry-after': '120, 240' }, {}],
    [
      'a limit that is not used up',
      { 'x-ratelimit-remaining-requests': '3', 'x-ratelimit-reset-requests': '6m0s' },
      {},
    ],
    ['a reset without a count', { 'x-ratelimit-reset-requests': '6m0s' }, {}],
    ['a reset in an unknown form', { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': 'soon' }, {}],
    ['a delay that is no text', {}, { error: { details: [{ retryDelay: 27 }] } }],
    ['details that are none', {}, { error: { details: 'none' } }],
    ['a number without a unit', {}, { error: { message: 'try again in 5' } }],
    ['a number of something else', {}, { error: { message: 'Retry after 3 attempts' } }],
  ])('%s says nothing', (_name, headers, body) => {
    expect(hint(headers, body)).toBeUndefined();
  });

  it('is an hour at most, and not in the past', () => {
    expect(hint({ 'retry-after': '99999' })).toBe(3_600_000);
    expect(hint({ 'retry-after': 'Fri, 20 Nov 2026 11:00:00 GMT' })).toBe(0);
    expect(hint({}, google('99999s'))).toBe(3_600_000);
    expect(hint({}, { error: { message: 'try again in 9h' } })).toBe(3_600_000);
    const past = {
      'anthropic-ratelimit-requests-remaining': '0',
      'anthropic-ratelimit-requests-reset': '2020-01-01T00:00:00Z',
    };
    expect(hint(past)).toBe(0);
  });

  it('is taken from its headers with every status, and from its words only when it is busy', () => {
    for (const status of [400, 408, 409, 500, 503, 529]) expect(hint({ 'retry-after': '2' }, {}, status)).toBe(2_000);
    const body = { error: { message: 'try again in 5s' } };
    for (const status of [429, 498, 503, 529]) expect(hint({}, body, status)).toBe(5_000);
    for (const status of [400, 401, 500]) expect(hint({}, body, status)).toBeUndefined();
  });

  it('is a minute at least when it asks to slow down', () => {
    expect(hint({}, { error: { code: 'slow_down', type: 'rate_limit_error' } })).toBe(60_000);
    expect(hint({ 'retry-after': '2' }, { error: { code: 'slow_down' } })).toBe(60_000);
    expect(hint({ 'retry-after': '90' }, { error: { code: 'slow_down' } })).toBe(90_000);
  });
});
