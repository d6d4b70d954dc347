import type { LedgerFilter, LedgerRecord } from '../../contracts/ledger.ts';

/** Whether a record is among those that are asked for. */
export function matchesFilter(record: LedgerRecord, filter: LedgerFilter): boolean {
  const { account, model, provider, endpoint, error, tag, from = -Infinity, to = Infinity } = filter;
  return (
    (account === undefined || record.account === account) &&
    (model === undefined || record.model === model) &&
    (provider === undefined || record.provider === provider) &&
    (endpoint === undefined || record.endpoint === endpoint) &&
    (error === undefined || (error === 'any' ? record.error_type !== undefined : record.error_type === error)) &&
    (tag === undefined || tagOf(record, tag[0]) === tag[1]) &&
    record.at >= from &&
    record.at < to
  );
}

/** A tag's value; undefined where the record has none of this name. */
export function tagOf({ tags }: Pick<LedgerRecord, 'tags'>, name: string): string | undefined {
  return tags !== undefined && Object.hasOwn(tags, name) ? tags[name] : undefined;
}
