import type {
  LedgerCost,
  LedgerCostQuery,
  LedgerFilter,
  LedgerPage,
  LedgerQuery,
  LedgerRecord,
} from '../contracts/ledger.ts';
import { inOrder, linesByEndpoint, partOfEndpoint } from '../core/ledger/sum-costs.ts';
import { ConfigError } from '../protocol/router-error.ts';
import { restored, storable } from './stored-rows.ts';

/** Records on a page where nothing else is asked for. */
export const DEFAULT_PAGE = 100;
/** Days for which records are kept, unless told otherwise. */
export const DEFAULT_KEEP_DAYS = 30;
/** Records that are deleted in one transaction. */
export const PURGE_PAGE = 1_000;
/** Milliseconds between two looks for records that are too old. */
export const PURGE_EVERY_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** Cursors before the first and behind the last record. */
const FIRST = 0;
const LAST = Number.MAX_SAFE_INTEGER;

/** A row as drivers give it. */
type Row = Readonly<Record<string, unknown>>;

/** The columns of a record that it is found by. Texts are as {@link storable} writes them. */
export function columnsOf(record: LedgerRecord) {
  const { id, at, account, model, provider, endpoint, error_type: error, tags } = record;
  const text = (value: string | undefined): string | null => (value === undefined ? null : storable(value));
  return {
    id: storable(id),
    at,
    account: storable(account),
    model: text(model),
    provider: text(provider),
    endpoint: text(endpoint),
    error: text(error),
    tags: JSON.stringify(Object.fromEntries(Object.entries(tags ?? {}).map((pair) => pair.map(storable)))),
    record: JSON.stringify(record),
  };
}

/** What a record adds to sums, line by line. */
export function lineColumns(record: LedgerRecord) {
  const { account } = record;
  return linesByEndpoint(record).map(({ key, cost_nano_usd: cost, ...counts }) => ({
    endpoint: storable(key),
    provider: storable(partOfEndpoint(key, 'provider', account)),
    model: storable(partOfEndpoint(key, 'model', account)),
    requests: counts.requests,
    failed: counts.failed,
    attempts: counts.attempts,
    prompt: counts.prompt_tokens,
    completion: counts.completion_tokens,
    cached: counts.cached_tokens,
    cost,
  }));
}

/** Values of the conditions that every statement about records has. What is null holds for all of them. */
function filterValues({ account, model, provider, endpoint, error, tag, from, to }: LedgerFilter) {
  const text = (value: string | undefined): string | null => (value === undefined ? null : storable(value));
  return {
    account: text(account),
    model: text(model),
    provider: text(provider),
    endpoint: text(endpoint),
    error: text(error),
    tagName: text(tag?.[0]),
    tagValue: text(tag?.[1]),
    since: from ?? FIRST,
    until: to ?? LAST,
  };
}

/** Values of a page. One more than it holds is read, to know whether there is another. */
export function pageValues({ after, limit = DEFAULT_PAGE, order = 'oldest', ...filter }: LedgerQuery) {
  const start = order === 'oldest' ? FIRST : LAST;
  return { ...filterValues(filter), after: after === undefined ? start : Number(after), limit: limit + 1 };
}

/** The page of some rows, of which there is one more than it holds where another one follows. */
export function pageOf(rows: readonly Row[], { limit = DEFAULT_PAGE }: LedgerQuery): LedgerPage {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1)?.['position'] as number | string | undefined;
  return {
    records: shown.map(recordOfRow),
    ...(last === undefined ? {} : { last: String(last) }),
    ...(last === undefined || rows.length <= limit ? {} : { next: String(last) }),
  };
}

/** The record of a row. */
export function recordOfRow(row: Row): LedgerRecord {
  return JSON.parse(String(row['record'])) as LedgerRecord;
}

/** Values of sums. */
export function costValues({ tag, account, from, to }: LedgerCostQuery) {
  const { account: whose, since, until } = filterValues({ account, from, to });
  return { account: whose, since, until, tagName: storable(tag ?? '') };
}

/** Sums of rows, in order. Databases give large numbers as texts. */
export function costsOf(rows: readonly Row[], { by }: LedgerCostQuery): readonly LedgerCost[] {
  const costs = rows.map((row) => ({
    key: restored(String(row['key'])),
    requests: Number(row['requests']),
    failed: Number(row['failed']),
    attempts: Number(row['attempts']),
    prompt_tokens: Number(row['prompt']),
    completion_tokens: Number(row['completion']),
    cached_tokens: Number(row['cached']),
    cost_nano_usd: Number(row['cost']),
  }));
  return inOrder(costs, by);
}

/** Milliseconds since 1970 before which records are too old; undefined where they are kept for good. */
export function oldestKept(keepDays: number, now: number): number | undefined {
  return keepDays === Infinity ? undefined : now - keepDays * DAY_MS;
}

/** @throws {@link ConfigError} for days that are none. */
export function checkKeepDays(keepDays: unknown): void {
  if (typeof keepDays === 'number' && keepDays > 0) return;
  throw new ConfigError([{ path: 'keepDays', problem: 'must be a number of days above 0, or Infinity' }]);
}
