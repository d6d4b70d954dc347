import type { Ledger, LedgerRecord } from '../contracts/ledger.ts';
import { matchesFilter, sumCosts, sumFailures, sumSlots } from '../core/ledger/sum-costs.ts';
import { cursorOf, DEFAULT_PAGE, placeOfCursor } from './ledger-rows.ts';

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
      const all = records.filter(({ record }) => matchesFilter(record, filter));
      const begun = ({ record }: (typeof all)[number]): number => record.at;
      if (order === 'latest') all.sort((left, right) => begun(right) - begun(left) || right.position - left.position);
      const start = placeOfCursor(after, order);
      const found = all.filter((one) =>
        order === 'oldest'
          ? one.position > start.position
          : begun(one) < start.at || (begun(one) === start.at && one.position < start.position),
      );
      const page = found.slice(0, limit);
      const last = page.at(-1);
      const cursor = last && cursorOf({ at: begun(last), position: last.position }, order);
      return {
        records: page.map(({ record }) => record),
        ...(cursor === undefined ? {} : { last: cursor }),
        ...(cursor === undefined || found.length <= page.length ? {} : { next: cursor }),
      };
    },
    one: (id) => ids.get(id),
    costs: (query) =>
      sumCosts(
        records.map(({ record }) => record),
        query,
      ),
    timeline: (query) =>
      sumSlots(
        records.map(({ record }) => record),
        query,
      ),
    failures: ({ from }) =>
      sumFailures(
        records.map(({ record }) => record),
        from,
      ),
  };
}
