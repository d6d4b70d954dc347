import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type BatchEvent, isTerminal, transition } from '../../../src/core/batch/machine.ts';
import { BATCH_STATUSES, type BatchStatus } from '../../../src/protocol/batch.ts';
import type { BatchRecord } from '../../../src/contracts/batch-record.ts';

const EVENTS: readonly BatchEvent[] = [
  { type: 'validated', expiresAt: 5_000 },
  { type: 'rejected', message: 'requests[3].body.messages is required.' },
  { type: 'assigned', provider: 'Acme', expiresAt: 9_000, upstream: { id: 'up-1' } },
  { type: 'drained' },
  { type: 'finalized', usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } },
  { type: 'expired' },
  { type: 'cancel_requested' },
  { type: 'cancelled' },
];

const LEGAL: Readonly<Record<string, string>> = {
  'validating validated': 'in_progress run',
  'validating rejected': 'failed notify',
  'validating cancel_requested': 'cancelling stop',
  'in_progress assigned': 'in_progress ',
  'in_progress rejected': 'failed notify',
  'in_progress drained': 'finalizing finalize',
  'in_progress expired': 'expired notify',
  'in_progress cancel_requested': 'cancelling stop',
  'finalizing finalized': 'completed notify',
  'finalizing rejected': 'failed notify',
  'finalizing cancel_requested': 'cancelling stop',
  'cancelling assigned': 'cancelling ',
  'cancelling cancelled': 'cancelled notify',
};

function batchIn(status: BatchStatus, more: Partial<BatchRecord> = {}): BatchRecord {
  return {
    id: 'batch_1',
    account: 'acme',
    endpoint: '/v1/chat/completions',
    model: 'acme/one',
    status,
    createdAt: 1_000,
    deleteAt: 99_000,
    callbackUrl: 'https://example.com/hook',
    counts: { total: 2, completed: 0, failed: 0 },
    revision: 7,
    ...more,
  };
}

const PAIRS = BATCH_STATUSES.flatMap((status) => EVENTS.map((event) => [status, event.type, event] as const));

describe('a batch', () => {
  it.each(PAIRS)('in state %s answers the event %s as the table says', (status, name, event) => {
    const before = batchIn(status);
    const { batch, effects, applied } = transition(before, event, 2_000);
    const expected = LEGAL[`${status} ${name}`];
    expect(applied ? `${batch.status} ${effects.join()}` : undefined).toBe(expected);
    if (!applied) expect(batch).toBe(before);
    else expect(batch.revision).toBe(8);
  });

  it('keeps what the events tell', () => {
    const assigned = transition(
      batchIn('in_progress'),
      { type: 'assigned', provider: 'Acme', upstream: { a: 1 } },
      2_000,
    );
    expect(assigned.batch).toMatchObject({ provider: 'Acme', upstream: { a: 1 } });
    expect(assigned.batch).not.toHaveProperty('expiresAt');
    const failed = transition(batchIn('validating'), { type: 'rejected', message: 'no' }, 2_000);
    expect(failed.batch).toMatchObject({ error: { message: 'no' }, finalizedAt: 2_000 });
  });

  it('goes to one provider: a second job is not taken, and news of the first one are', () => {
    const batch = batchIn('in_progress', { upstream: { id: 'up-1' } });
    const second = { type: 'assigned', provider: 'Acme', upstream: { id: 'up-2' } } as const;
    expect(transition(batch, second, 2_000)).toEqual({ batch, effects: [], applied: false });
    const news = transition(batch, { type: 'assigned', provider: 'Acme', expiresAt: 5 }, 2_000);
    expect(news).toMatchObject({ applied: true, batch: { expiresAt: 5, upstream: { id: 'up-1' } } });
  });

  it('never ends before it began, whatever the clock says', () => {
    const { batch } = transition(batchIn('cancelling'), { type: 'cancelled' }, 10);
    expect(batch.finalizedAt).toBe(1_000);
  });

  it('tells nobody of its end when nobody asked to be told', () => {
    const silent = batchIn('finalizing', { callbackUrl: undefined });
    const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
    expect(transition(silent, { type: 'finalized', usage }, 2_000).effects).toEqual([]);
  });

  it('under any schedule of events moves along its edges, stays in its end, and tells of it once', () => {
    let ended = 0;
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...EVENTS), { maxLength: 40 }), (events) => {
        let batch = batchIn('validating');
        let told = 0;
        for (const [index, event] of events.entries()) {
          const step = transition(batch, event, 2_000 + index);
          const edge = `${batch.status} ${event.type}`;
          const second = event.type === 'assigned' && batch.upstream !== undefined;
          if (step.applied !== (Object.hasOwn(LEGAL, edge) && !second)) return false;
          if (isTerminal(batch.status) && step.applied) return false;
          if (!step.applied && step.batch !== batch) return false;
          if (step.applied && step.batch.revision !== batch.revision + 1) return false;
          told += step.effects.filter((effect) => effect === 'notify').length;
          batch = step.batch;
        }
        if (isTerminal(batch.status)) ended += 1;
        return (
          told === (isTerminal(batch.status) ? 1 : 0) && (batch.finalizedAt !== undefined) === isTerminal(batch.status)
        );
      }),
      { numRuns: 10_000 },
    );
    expect(ended).toBeGreaterThan(1_000);
  });
});
