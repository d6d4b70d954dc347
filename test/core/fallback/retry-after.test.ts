import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { durationMs, MAX_RETRY_AFTER_MS, parseHttpDate, retryAfterMs } from '../../../src/core/fallback/http-date.ts';
import { runs } from '../../support/properties.ts';

/** 2026-11-20T12:00:00Z. */
const NOW = Date.UTC(2026, 10, 20, 12);

describe('Retry-After', () => {
  const cases: readonly (readonly [string, number | undefined])[] = [
    ['0', 0],
    ['2', 2_000],
    ['120', 120_000],
    ['3600', 3_600_000],
    ['3601', 3_600_000],
    ['10000000000000', 3_600_000],
    ['007', 7_000],
    ['  120', 120_000],
    ['120  ', 120_000],
    // A date, in each of the three forms.
    ['Fri, 20 Nov 2026 12:00:30 GMT', 30_000],
    ['Friday, 20-Nov-26 12:00:30 GMT', 30_000],
    ['Fri Nov 20 12:00:30 2026', 30_000],
    ['Sun Dec  6 12:00:00 2026', 3_600_000],
    // In the past, and far ahead.
    ['Thu, 19 Nov 2026 12:00:00 GMT', 0],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
    ['Tue, 31 Dec 2999 23:59:59 GMT', 3_600_000],
    // Everything that parsers which guess take for something.
    ['', undefined],
    [' ', undefined],
    ['-1', undefined],
    ['+1', undefined],
    ['1.5', 1_500],
    ['0x10', undefined],
    ['1e3', undefined],
    ['Infinity', undefined],
    ['NaN', undefined],
    ['120, 240', undefined],
    ['120;', undefined],
    ['120s', undefined],
    ['tomorrow', undefined],
    ['null', undefined],
    ['١٢', undefined],
    ['2026-11-20T12:00:30Z', undefined],
    ['Fri, 20 Nov 2026 12:00:30 +0100', undefined],
    ['Fri, 20 Nov 2026 12:00:30', undefined],
    ['Fri, 31 Feb 2026 12:00:00 GMT', undefined],
    ['Fri, 20 Foo 2026 12:00:00 GMT', undefined],
    ['Fri, 00 Nov 2026 12:00:00 GMT', undefined],
    ['Fri, 20 Nov 2026 24:00:00 GMT', undefined],
    ['9'.repeat(400), undefined],
  ];
  it.each(cases)('%j means %s milliseconds', (value, expected) => {
    expect(retryAfterMs({ 'retry-after': value }, NOW)).toBe(expected);
  });

  it('may be absent', () => {
    expect(retryAfterMs({}, NOW)).toBeUndefined();
  });

  it.each([
    [{ 'retry-after-ms': '1500', 'retry-after': '9' }, 1_500],
    [{ 'retry-after-ms': '12.5' }, 12.5],
    [{ 'x-ms-retry-after-ms': '250', 'retry-after': '9' }, 250],
    [{ 'retry-after-ms': 'soon', 'x-ms-retry-after-ms': '250' }, 250],
    [{ 'retry-after-ms': '-5', 'retry-after': '9' }, 9_000],
    [{ 'retry-after-ms': '99999999' }, MAX_RETRY_AFTER_MS],
  ])('gives way to a valid form in milliseconds: %j', (headers, expected) => {
    expect(retryAfterMs(headers, NOW)).toBe(expected);
  });

  it("measures a date against the provider's own clock", () => {
    const headers = { 'retry-after': 'Fri, 20 Nov 2026 12:00:30 GMT', date: 'Fri, 20 Nov 2026 12:00:10 GMT' };
    expect(retryAfterMs(headers, NOW + 9_999_999)).toBe(20_000);
    expect(retryAfterMs({ ...headers, date: 'nonsense' }, NOW)).toBe(30_000);
  });

  it('is always between nothing and an hour, or ignored, whatever stands in it', () => {
    const anything = fc.oneof(
      fc.string({ maxLength: 40 }),
      fc.string({ unit: fc.constantFrom(...Array.from('0123456789.,-+exEX ')), maxLength: 24 }),
      fc.double().map(String),
      fc.bigInt().map(String),
      fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
      fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
    );
    fc.assert(
      fc.property(anything, anything, fc.option(anything, { nil: undefined }), (value, milliseconds, date) => {
        const found = retryAfterMs({ 'retry-after': value, 'retry-after-ms': milliseconds, date }, NOW);
        if (found === undefined) return;
        expect(found).toBeGreaterThanOrEqual(0);
        expect(found).toBeLessThanOrEqual(MAX_RETRY_AFTER_MS);
      }),
      runs(10_000),
    );
  });

  it('takes whole seconds for what they are', () => {
    fc.assert(
      fc.property(fc.nat(100_000), (seconds) => {
        expect(retryAfterMs({ 'retry-after': String(seconds) }, NOW)).toBe(
          Math.min(MAX_RETRY_AFTER_MS, seconds * 1_000),
        );
      }),
      runs(1_000),
    );
  });
});

describe('a date of HTTP', () => {
  it('is the same moment for us and for the platform', () => {
    const date = fc.date({ min: new Date('1970-01-01'), max: new Date('9999-12-31'), noInvalidDate: true });
    fc.assert(
      fc.property(date, (moment) => {
        const seconds = Math.floor(moment.getTime() / 1_000) * 1_000;
        expect(parseHttpDate(new Date(seconds).toUTCString())).toBe(seconds);
      }),
      runs(10_000),
    );
  });

  it('may fall on a leap day of a leap year only', () => {
    expect(parseHttpDate('Thu, 29 Feb 2024 00:00:00 GMT')).toBe(Date.UTC(2024, 1, 29));
    expect(parseHttpDate('Tue, 29 Feb 2000 00:00:00 GMT')).toBe(Date.UTC(2000, 1, 29));
    expect(parseHttpDate('Wed, 29 Feb 2023 00:00:00 GMT')).toBeUndefined();
    expect(parseHttpDate('Thu, 29 Feb 2100 00:00:00 GMT')).toBeUndefined();
  });

  it('may be a leap second, and no second beyond', () => {
    expect(parseHttpDate('Sat, 31 Dec 2016 23:59:60 GMT')).toBe(Date.UTC(2017, 0, 1));
    expect(parseHttpDate('Sat, 31 Dec 2016 23:59:61 GMT')).toBeUndefined();
    expect(parseHttpDate('Sat, 31 Dec 2016 23:60:00 GMT')).toBeUndefined();
  });

  it('with a year of two digits is in this century up to 69', () => {
    expect(parseHttpDate('Friday, 20-Nov-69 12:00:00 GMT')).toBe(Date.UTC(2069, 10, 20, 12));
    expect(parseHttpDate('Friday, 20-Nov-70 12:00:00 GMT')).toBe(Date.UTC(1970, 10, 20, 12));
  });
});

describe('a duration in words', () => {
  it.each([
    ['27s', 27_000],
    ['27.5s', 27_500],
    ['120ms', 120],
    ['1m', 60_000],
    ['1h2m3s', 3_600_000],
    ['2m3s', 123_000],
    ['', undefined],
    ['27', undefined],
    ['s', undefined],
    ['-1s', undefined],
    ['1e3s', undefined],
    ['1 s', undefined],
    [undefined, undefined],
  ])('%j means %s milliseconds', (text, expected) => {
    expect(durationMs(text)).toBe(expected);
  });
});
