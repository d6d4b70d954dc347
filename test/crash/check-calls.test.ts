import { memoryStorage } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { CHECKED_ACCOUNT, BATCH, makeBatch } from '../../src/testing/batch-store-checks/check.ts';
import type { Blow } from './blows.ts';
import { earlyEvents, lateCalls, unexplainedCalls } from './check-calls.ts';

const LEASE_MS = 500;
const [ONE, TWO, THREE] = [1, 2, 3];

function blow(kind: Blow['kind'], process: number | undefined, from: number, to = from): Blow {
  return { kind, process, from, to };
}

function repeated(blows: readonly Blow[]): number {
  const calls = new Map([
    ['a/0', [{ at: 1_000, process: ONE }]],
    [
      'a/1',
      [
        { at: 1_000, process: ONE },
        { at: 3_000, process: TWO },
      ],
    ],
  ]);
  return unexplainedCalls({ calls, blows, leaseMs: LEASE_MS }).length;
}

describe('the checker of the crash test', () => {
  it.each<[string, readonly Blow[], number]>([
    ['nothing happened', [], 1],
    ['its process was killed', [blow('kill', ONE, 1_500)], 0],
    ['another process was killed', [blow('kill', THREE, 1_500)], 1],
    ['its process was killed afterwards', [blow('kill', ONE, 3_001)], 1],
    ['its process was paused', [blow('pause', ONE, 900, 1_700)], 0],
    ['its process had been paused for longer than a lease before', [blow('pause', ONE, 100, 499)], 1],
    ['the second process came late, after a pause', [blow('pause', TWO, 900, 2_800)], 0],
    ['the second process was killed long before', [blow('kill', TWO, 400)], 1],
    ['the database was restarted meanwhile', [blow('restart', undefined, 1_200, 1_400)], 0],
    ['the database was restarted long before', [blow('restart', undefined, 100, 200)], 1],
    ['the machine stalled', [blow('stall', undefined, 1_200, 1_400)], 0],
  ])('asks what a repeated call follows from: %s', (_, blows, unexplained) => {
    expect(repeated(blows)).toBe(unexplained);
  });

  it('asks for a reason for each repetition', () => {
    const calls = new Map([['a/0', [1_000, 2_500, 9_000].map((at) => ({ at, process: ONE }))]]);
    const found = unexplainedCalls({ calls, blows: [blow('pause', ONE, 1_100, 1_900)], leaseMs: LEASE_MS });
    expect(found).toEqual(['a/0: process 1 sent it again 6500 ms after process 1, and nothing had happened to either']);
  });

  it.each<[string, 'cancelled' | 'expired' | 'completed', number, readonly Blow[], number]>([
    ['within a lease after the end', 'cancelled', 10_499, [], 0],
    ['later', 'cancelled', 10_501, [], 1],
    ['later than it expired', 'expired', 10_501, [], 1],
    ['of a batch that is completed', 'completed', 10_501, [], 0],
    ['later, by a process that had been paused meanwhile', 'expired', 20_100, [blow('pause', ONE, 9_000, 20_000)], 0],
    ['later, while another one was paused', 'expired', 20_100, [blow('pause', TWO, 9_000, 20_000)], 1],
    ['long after the pause', 'expired', 20_501, [blow('pause', ONE, 9_000, 20_000)], 1],
  ])('looks for calls after the end of a batch: %s', async (_, status, at, blows, late) => {
    const store = memoryStorage({ now: () => 0 });
    await makeBatch(store, { record: { status, finalizedAt: 10_000 } });
    const calls = new Map([['key/0', [{ at, process: ONE }]]]);
    const batch = { key: 'key', id: BATCH, story: 'cancel' } as const;
    expect(await lateCalls({ calls, blows, leaseMs: LEASE_MS }, store, CHECKED_ACCOUNT, batch)).toHaveLength(late);
  });

  it('looks for events about ends that could not be read when they came', () => {
    const event = (type: string, seen: string | undefined) => ({
      id: 'wh',
      body: JSON.stringify({ type, data: { id: BATCH } }),
      accepted: true,
      seen,
    });
    const events = [
      event('batch.completed', 'completed'),
      event('batch.completed', 'finalizing'),
      event('batch.cancelled', undefined),
    ];
    expect(earlyEvents(events)).toEqual(['wh: told batch.completed of a batch that was finalizing']);
  });
});
