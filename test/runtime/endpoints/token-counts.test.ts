import { describe, expect, it } from 'vitest';
import type { Endpoint } from '../../../src/catalog/endpoint.ts';
import { TokenCounts } from '../../../src/runtime/endpoints/token-counts.ts';
import { serving } from '../../support/requests.ts';

const [endpoint] = serving({ acme: {} }).catalog.endpoints('acme/one') as [Endpoint];

describe('how an endpoint counts tokens', () => {
  it('is learned from the prompts of an account, for that account', () => {
    const counts = new TokenCounts();
    counts.reported(endpoint, 'a', { estimated: 100, reported: 200 }, 0);
    expect(counts.of(endpoint, 'a')?.factor).toBeCloseTo(2);
    expect(counts.of(endpoint, 'b')).toBeUndefined();
    expect([counts.wants(endpoint, 'a', 0), counts.wants(endpoint, 'b', 0)]).toEqual([true, true]);
  });

  it('is kept for an account, however many endpoints another one calls', () => {
    const counts = new TokenCounts();
    counts.reported(endpoint, 'a', { estimated: 100, reported: 200 }, 0);
    for (let index = 0; index < 20_000; index += 1) {
      counts.reported({ ...endpoint, id: `e${index}` }, 'b', { estimated: 100, reported: 50 }, 0);
    }
    expect(counts.of(endpoint, 'a')?.factor).toBeCloseTo(2);
  });
});
