import { expect } from 'vitest';
import type { Ledger, LedgerFilter, LedgerRecord } from '../../src/contracts/ledger.ts';
import { memoryLedger } from '../../src/storage/memory-ledger.ts';
import { ledgerAttempt, ledgerRecord, NOON } from './ledger-records.ts';

/** Records as they were written into tables of version 1, which knew nothing of unknown prices. */
export const FIRST_RECORDS: readonly LedgerRecord[] = [
  ledgerRecord({ id: 'gen-old-1', tags: { team: 'a\0b', session: 's_0000' }, session: 's_0123456789abcdef0123' }),
  ledgerRecord({ id: 'gen-old-2', at: NOON + 1, stream: true, first_token_ms: 7.5, duration_ms: 31 }),
  ledgerRecord({ id: 'gen-batch-old-3', at: NOON + 2, batch: true, status: 502, error_type: 'provider_unavailable' }),
].map((record) => inWrittenOrder(record));

/** Members in the order in which records are written. */
function inWrittenOrder(record: LedgerRecord): LedgerRecord {
  const { version, id, at, duration_ms, first_token_ms, account, batch, tags, session, format, stream, ...others } =
    record;
  const first = { version, id, at, duration_ms, first_token_ms, account, batch, tags, session, format, stream };
  return JSON.parse(JSON.stringify({ ...first, ...others })) as LedgerRecord;
}

/** What must be found of {@link FIRST_RECORDS} in a ledger that has taken over tables of version 1. */
export async function takenOver(ledger: Ledger): Promise<void> {
  const { records } = await ledger.read();
  expect(records).toEqual(FIRST_RECORDS);
  const found = async (query: LedgerFilter): Promise<readonly string[]> =>
    (await ledger.read({ ...query, order: 'latest' })).records.map(({ id }) => id);
  expect(await found({ session: 's_0123456789abcdef0123' })).toEqual(['gen-old-1']);
  expect(await found({ session: 's_0000' })).toEqual([]);
  expect(await found({ stream: true })).toEqual(['gen-old-2']);
  expect(await found({ batch: true })).toEqual(['gen-batch-old-3']);
  expect(await found({ batch: false, longerThanMs: 20 })).toEqual(['gen-old-2']);
  await ledger.append([
    ledgerRecord({ id: 'gen-new', attempts: [ledgerAttempt({ cost_nano_usd: undefined, unpriced: true })] }),
  ]);
  const model = memoryLedger();
  await model.append((await ledger.read()).records);
  for (const query of [{ by: 'day' }, { by: 'account' }, { by: 'tag', tag: 'team' }] as const) {
    expect(await ledger.costs(query)).toEqual(await model.costs(query));
  }
  expect((await ledger.costs({ by: 'account' })).map((cost) => [cost.requests, cost.unpriced])).toEqual([[4, 1]]);
  const span = { from: NOON, to: NOON + 60_000, slotMs: 60_000 };
  expect(await ledger.timeline?.(span)).toEqual(await model.timeline?.(span));
  expect(await ledger.failures?.({ from: NOON })).toEqual(await model.failures?.({ from: NOON }));
}
