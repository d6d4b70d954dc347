import { afterEach, describe, expect, it, vi } from 'vitest';
import { createRouter, type Router } from 'signalbox';
import { simulateTraffic } from 'signalbox/testing';
import type { PendingRecord } from '../../src/core/ledger/pending-record.ts';
import { PendingRecords } from '../../src/core/ledger/pending-records.ts';
import { unpackDrafts } from '../../src/core/ledger/unpack-records.ts';
import { writeRecord } from '../../src/core/ledger/write-record.ts';

const CONTEXT = { tags: ['team'], session: 'hash' };

afterEach(() => void vi.restoreAllMocks());

/** Drafts of many requests: streams, failures, hedges, sessions, and some that are refused. */
async function someDrafts(requests: number): Promise<readonly PendingRecord[]> {
  const add = vi.spyOn(PendingRecords.prototype, 'add');
  let router: Router | undefined;
  await simulateTraffic(
    {
      endpoints: ['one', 'two', 'three'].map((name, index) => ({
        name,
        price: { prompt: 0.2 * (index + 1), completion: index + 1 },
        latency: { medianMs: 300 * (index + 1) },
      })),
      outages: { share: 0.2 },
      traffic: { requests, streaming: 0.5 },
    },
    (setup) => (router = createRouter({ ...setup, ledger: true })),
  );
  const refused = { model: 'acme/unknown', messages: [{ role: 'user' as const, content: 'Hi' }] };
  await expect(router?.chat({ ...refused, metadata: { team: 'red' } })).rejects.toThrow();
  return add.mock.calls.map(([draft]) => draft);
}

/** Takes everything, the oldest first. */
function allOf(list: PendingRecords): readonly PendingRecord[] {
  const drafts: PendingRecord[] = [];
  for (let pack = list.take(); pack !== undefined; pack = list.take()) drafts.push(...unpackDrafts(pack));
  return drafts;
}

const recordOf = (draft: PendingRecord): string => JSON.stringify(writeRecord(draft, CONTEXT));

describe('drafts as numbers and references', () => {
  it('write the records that the drafts themselves would', async () => {
    const drafts = await someDrafts(1_200);
    const list = new PendingRecords();
    for (const draft of drafts) list.add(draft);
    expect(list.length).toBe(drafts.length);
    expect(allOf(list).map(recordOf)).toEqual(drafts.map(recordOf));
    expect(list.length).toBe(0);
    const attempts = drafts.flatMap((draft) => draft.attempts);
    expect(attempts.some(({ outcome }) => !outcome.ok)).toBe(true);
    expect(drafts.some(({ refused }) => refused === true)).toBe(true);
    expect(drafts.some(({ plan }) => plan.seen?.admissions.length)).toBe(true);
  });

  it.each([1, 499, 500, 501, 1_000])('are the latest %i, in order, however many came', async (keeps) => {
    const [draft] = await someDrafts(1);
    if (draft === undefined) throw new RangeError('a request leaves a draft');
    for (const added of [1, keeps, keeps + 1, 2_750]) {
      const list = new PendingRecords(keeps);
      for (let at = 0; at < added; at += 1) list.add({ ...draft, at });
      const kept = allOf(list).map(({ at }) => at);
      expect(kept).toEqual(Array.from({ length: Math.min(added, keeps) }, (_, index) => added - kept.length + index));
    }
  });
});
