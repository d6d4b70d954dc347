import { describe, expect, it } from 'vitest';
import { ColdSums } from '../../../src/core/ledger/sum-cold.ts';
import type { LedgerCold, LedgerRecord } from '../../../src/contracts/ledger.ts';

function recordOf(id: string, cold: LedgerCold | undefined, requested = 'acme/one'): LedgerRecord {
  return { id, requested, account: 'a', cold } as LedgerRecord;
}

describe('sums of cold prompt caches', () => {
  it('put the dearest cause first, with the places that cost most and a request for each', () => {
    const sums = new ColdSums();
    const line = (number: number, lost: number): LedgerCold => ({
      cause: 'system_changed',
      at: 'system[0]',
      line: number,
      missed_tokens: 100,
      lost_nano_usd: lost,
    });
    sums.add(recordOf('gen-1', { cause: 'expired', missed_tokens: 10, lost_nano_usd: 5 }));
    sums.add(recordOf('gen-2', line(3, 10)));
    sums.add(recordOf('gen-3', line(7, 30)));
    sums.add(recordOf('gen-4', line(7, 30)));
    sums.add(recordOf('gen-5', undefined));
    sums.add(recordOf('gen-6', { cause: 'first' }));
    sums.add(recordOf('gen-7', { cause: 'tools_changed', at: 'tools[1]', change: 'order' }));
    sums.add(recordOf('gen-8', { cause: 'other_endpoint', moved: 'it failed: server', lost_nano_usd: 1 }));
    const [first, second, third, ...others] = sums.all;
    expect(first).toMatchObject({ cause: 'system_changed', requests: 3, missed_tokens: 300, lost_nano_usd: 70 });
    expect(first?.places).toEqual([
      {
        requested: 'acme/one',
        account: 'a',
        place: 'system[0], line 7',
        requests: 2,
        lost_nano_usd: 60,
        example: 'gen-3',
      },
      {
        requested: 'acme/one',
        account: 'a',
        place: 'system[0], line 3',
        requests: 1,
        lost_nano_usd: 10,
        example: 'gen-2',
      },
    ]);
    expect(second?.cause).toBe('expired');
    expect(third?.places[0]?.place).toBe('it failed: server');
    expect(others.map(({ cause }) => cause).sort()).toEqual(['first', 'tools_changed']);
    expect(others.flatMap(({ places }) => places.map(({ place }) => place)).sort()).toEqual(['', 'tools[1] (order)']);
  });
});
