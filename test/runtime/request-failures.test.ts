import { describe, expect, it } from 'vitest';
import { UNKNOWN_HEALTH } from '../../src/core/fallback/health.ts';
import { type CountedHealth } from '../../src/core/fallback/forgiven.ts';
import { isBlamed, RequestFailures } from '../../src/runtime/endpoints/request-failures.ts';
import { NOW, costing, serving } from '../support/requests.ts';
import { failure } from '../../src/contracts/failure.ts';

const counted: CountedHealth = { at: NOW, account: 'one', before: UNKNOWN_HEALTH, after: UNKNOWN_HEALTH };

describe('failures of one request', () => {
  const [one, two] = serving({ a: costing(1), b: costing(2) })
    .plan({})
    .steps.map(({ endpoint }) => endpoint);
  if (one === undefined || two === undefined) throw new Error('two endpoints');

  it('are counted once per endpoint, however often it was tried there', () => {
    const failures = new RequestFailures();
    expect(failures.has(one)).toBe(false);
    failures.note(one, counted);
    failures.note(one, 'again');
    failures.note(one, 'again');
    failures.note(two, counted);
    expect([failures.has(one), failures.has(two)]).toEqual([true, true]);
    expect(failures.all).toEqual([
      { endpoint: one, counted, failures: 3 },
      { endpoint: two, counted, failures: 1 },
    ]);
  });

  it('are not known where the first of them was not counted', () => {
    const failures = new RequestFailures();
    failures.note(one, 'again');
    expect(failures.all).toEqual([]);
  });

  it('may be its own where they count against their endpoint, and nothing is in doubt', () => {
    expect(isBlamed(failure('server', 'x'))).toBe(true);
    expect(isBlamed(failure('server', 'x', { doubtful: true }))).toBe(false);
    expect(isBlamed(failure('rate_limited', 'x'))).toBe(false);
    expect(isBlamed(failure('invalid_request', 'x'))).toBe(false);
  });
});
