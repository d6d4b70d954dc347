import type { Ledger, LedgerRecord } from '../contracts/ledger.ts';
import { matchesFilter, sumCosts } from '../core/ledger/sum-costs.ts';
import { DEFAULT_PAGE } from './ledger-rows.ts';

/**
 * The last records, in the memory of this process.
 *
 * @param keeps - How many at most. Default 1,000.
 */
export function memoryLedger(keeps = 1_000): Ledger {
  /** In the order in which they came. */
  let records: { readonly position: number; readonly record: LedgerRecord }[] = [];
  const ids = new Map<string, LedgerRecord>();
  let position = 0;
  return {
    keeps,
    append(added) {
      for (const record of added) {
        if (ids.has(record.id)) continue;
        position += 1;
        records.push({ position, record });
        ids.set(record.id, record);
      }
      // Not one by one: moving all the others costs as much each time.
      if (records.length <= keeps) return;
      for (const { record } of records.slice(0, -keeps)) ids.delete(record.id);
      records = records.slice(-keeps);
    },
    read({ after, limit = DEFAULT_PAGE, order = 'oldest', ...filter } = {}) {
      const start = after === undefined ? undefined : Number(after);
      const isBehind = (at: number): boolean => start === undefined || (order === 'oldest' ? at > start : at < start);
      const found = records.filter((one) => isBehind(one.position) && matchesFilter(one.record, filter));
      const page = (order === 'oldest' ? found : found.toReversed()).slice(0, limit);
      const last = page.at(-1);
      return {
        records: page.map(({ record }) => record),
        ...(last === undefined ? {} : { last: String(last.position) }),
        ...(last === undefined || found.length <= page.length ? {} : { next: String(last.position) }),
      };
    },
    one: (id) => ids.get(id),
    costs: (query) =>
      sumCosts(
        records.map(({ record }) => record),
        query,
      ),
  };
}
