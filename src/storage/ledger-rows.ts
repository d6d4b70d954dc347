/** Rows and pages of ledgers, for every database. */
import type {
  LedgerCost,
  LedgerCostQuery,
  LedgerFailure,
  LedgerFilter,
  LedgerPage,
  LedgerQuery,
  LedgerRecord,
  LedgerSlot,
  LedgerTimelineQuery,
} from '../contracts/ledger.ts';
import {
  addLines,
  failuresInOrder,
  firstTokenOf,
  sortedCosts,
  linesByEndpoint,
  partOfEndpoint,
} from '../core/ledger/sum-costs.ts';
import { ConfigError } from '../protocol/router-error.ts';
import { restored, storable } from './stored-rows.ts';

/** Records on a page where nothing else is requested. */
export const DEFAULT_PAGE = 100;
/** Days for which records are kept, unless set otherwise. */
export const DEFAULT_KEEP_DAYS = 30;
/** Records that are deleted in one transaction. */
export const PURGE_PAGE = 1_000;
/** Milliseconds between two looks for records that are too old. */
export const PURGE_EVERY_MS = 3_600_000;
/** Requests that failed which are counted by endpoint and type at most: the latest. */
export const MOST_FAILURES = 50_000;
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
export const MINUTE_MS = 60_000;
/** Records that are looked at for a page in one step, so that a filter that lets little through blocks nobody. */
const LOOK_AT = 20_000;
/** The same for tags, which are in no index. */
const LOOK_AT_TAGS = 2_000;
/** Steps for one page. What is beyond is for the next one. */
const MOST_STEPS = 10;
/** Cursors before the first and behind the last record. */
const FIRST = 0;
const LAST = Number.MAX_SAFE_INTEGER;

/** A row as drivers give it. */
type Row = Readonly<Record<string, unknown>>;

/** The columns of a record that it is found by. Texts are as {@link storable} writes them. */
export function columnsOf(record: LedgerRecord) {
  const { id, at, account, model, provider, endpoint, error_type: error, tags, session, stream, batch } = record;
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
    session: text(session),
    stream: Number(stream),
    batch: Number(batch ?? false),
    duration: record.duration_ms,
    firstToken: firstTokenOf(record) ?? null,
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
    unpriced: counts.unpriced,
  }));
}

/** Values of the conditions that every statement about records has. What is null holds for all of them. */
function filterValues(filter: LedgerFilter) {
  const { account, model, provider, endpoint, error, tag, session, batch, stream, longerThanMs, called, from, to } =
    filter;
  const text = (value: string | undefined): string | null => (value === undefined ? null : storable(value));
  return {
    account: text(account),
    model: text(model),
    provider: text(provider),
    endpoint: text(endpoint),
    error: text(error),
    tagName: text(tag?.[0]),
    tagValue: text(tag?.[1]),
    called: text(called),
    session: text(session),
    batch: batch === undefined ? null : Number(batch),
    stream: stream === undefined ? null : Number(stream),
    longer: longerThanMs ?? null,
    since: from ?? FIRST,
    until: to ?? LAST,
  };
}

/** Where a record is in the order of a ledger. */
export interface LedgerPlace {
  /** When its request began, milliseconds since 1970. */
  readonly at: number;
  /** Number in the order in which records came. */
  readonly position: number;
}

/** The place that a cursor names; without one, that before the first record in this order. */
export function placeOfCursor(cursor: string | undefined, order: 'oldest' | 'latest'): LedgerPlace {
  if (cursor === undefined) return order === 'oldest' ? { at: FIRST, position: FIRST } : { at: LAST, position: LAST };
  const [first = '', second = ''] = cursor.split('.');
  return order === 'oldest' ? { at: FIRST, position: Number(first) } : { at: Number(first), position: Number(second) };
}

/** The cursor of a place. */
export function cursorOf({ at, position }: LedgerPlace, order: 'oldest' | 'latest'): string {
  return order === 'oldest' ? String(position) : `${at}.${position}`;
}

/** Values of a page of the oldest. One more than it holds is read, to know whether there is another. */
export function pageValues({ after, limit = DEFAULT_PAGE, order: _, ...filter }: LedgerQuery) {
  return { ...filterValues(filter), after: placeOfCursor(after, 'oldest').position, limit: limit + 1 };
}

/** How the latest records are read, step by step. */
interface LatestReader {
  /** The place so many records further on, whatever the filter; undefined where there are not so many. */
  readonly further: (values: {
    readonly at: number;
    readonly after: number;
    readonly since: number;
    readonly skipped: number;
  }) => Promise<Row | undefined>;
  /** Rows between two places that the filter lets through. */
  readonly between: (
    values: ReturnType<typeof filterValues> & {
      readonly at: number;
      readonly after: number;
      readonly endAt: number;
      readonly end: number;
      readonly limit: number;
    },
  ) => Promise<readonly Row[]>;
}

/**
 * A page of the latest records. Goes on from the cursor in steps that take a bounded time, and ends before the page is
 * full where the filter lets hardly anything through.
 */
export async function latestPage(query: LedgerQuery, { further, between }: LatestReader): Promise<LedgerPage> {
  const { limit = DEFAULT_PAGE, after, order: _, ...filter } = query;
  const values = filterValues(filter);
  const { since, until } = values;
  const skipped = filter.tag === undefined ? LOOK_AT : LOOK_AT_TAGS;
  let start = placeOfCursor(after, 'latest');
  // Everything that begins later is passed over by the index.
  if (until < start.at) start = { at: until, position: FIRST };
  const rows: Row[] = [];
  const records = (): readonly LedgerRecord[] => rows.slice(0, limit).map(recordOfRow);
  for (let steps = 0; steps < MOST_STEPS; steps += 1) {
    const found = await further({ at: start.at, after: start.position, since, skipped });
    const end = found === undefined ? undefined : rowPlace(found);
    rows.push(
      ...(await between({
        ...values,
        at: start.at,
        after: start.position,
        endAt: end?.at ?? FIRST,
        end: end?.position ?? FIRST,
        limit: limit + 1 - rows.length,
      })),
    );
    const last = rows[Math.min(rows.length, limit) - 1];
    const cursor = last === undefined ? {} : { last: cursorOf(rowPlace(last), 'latest') };
    if (rows.length > limit) return { records: records(), ...cursor, next: cursor.last };
    if (end === undefined) return { records: records(), ...cursor };
    start = end;
  }
  const next = cursorOf(start, 'latest');
  return { records: records(), last: next, next };
}

function rowPlace(row: Row): LedgerPlace {
  return { at: Number(row['at']), position: Number(row['position']) };
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

/** What is summed of the lines of records. */
export const SUMMED = ['requests', 'failed', 'attempts', 'prompt', 'completion', 'cached', 'cost', 'unpriced'] as const;

/** The record of a row. */
export function recordOfRow(row: Row): LedgerRecord {
  return JSON.parse(String(row['record'])) as LedgerRecord;
}

/** How costs are summed: whole hours are kept as sums, and what is before and behind them is summed from its lines. */
interface CostReader {
  readonly hours: (values: HourValues) => Promise<readonly Row[]>;
  readonly lines: (values: LineValues) => Promise<readonly Row[]>;
  /** Sums of everything in these hours, for what has no tag of a name. */
  readonly all: (values: HourValues) => Promise<readonly Row[]>;
}

type HourValues = {
  readonly account: string | null;
  readonly tagName: string;
  readonly first: number;
  readonly last: number;
};

type LineValues = {
  readonly account: string | null;
  readonly tagName: string;
  readonly since: number;
  readonly until: number;
};

/** Costs in order, without a look at every record. */
export async function sumHours(query: LedgerCostQuery, reader: CostReader): Promise<readonly LedgerCost[]> {
  const { by, tag, account: whose, from, to } = query;
  const { account, since, until } = filterValues({ account: whose, from, to });
  const tagName = storable(tag ?? '');
  const first = Math.ceil(since / HOUR_MS);
  const last = Math.floor(until / HOUR_MS);
  const lines = async (begin: number, end: number): Promise<readonly LedgerCost[]> =>
    begin < end ? costsOf(await reader.lines({ account, tagName, since: begin, until: end })) : [];
  if (first >= last) return sortedCosts(addLines(await lines(since, until)), by);
  const span = { account, tagName, first, last };
  const hours = costsOf(await reader.hours(span));
  const rest = by === 'tag' ? less(costsOf(await reader.all(span)), hours) : [];
  const edges = [await lines(since, first * HOUR_MS), await lines(last * HOUR_MS, until)];
  return sortedCosts(addLines([...hours, ...rest, ...edges.flat()]), by);
}

/** What is left of some sums without others, as the line of requests that have no tag; nothing where nothing is left. */
function less(all: readonly LedgerCost[], some: readonly LedgerCost[]): readonly LedgerCost[] {
  const [whole] = addLines(all.map((cost) => ({ ...cost, key: '' })));
  if (whole === undefined) return [];
  const [part] = addLines(some.map((cost) => ({ ...cost, key: '' })));
  const minus = (name: Exclude<keyof LedgerCost, 'key'>): number => whole[name] - (part?.[name] ?? 0);
  const left: LedgerCost = {
    key: '',
    requests: minus('requests'),
    failed: minus('failed'),
    attempts: minus('attempts'),
    prompt_tokens: minus('prompt_tokens'),
    completion_tokens: minus('completion_tokens'),
    cached_tokens: minus('cached_tokens'),
    cost_nano_usd: minus('cost_nano_usd'),
    unpriced: minus('unpriced'),
  };
  return left.requests === 0 ? [] : [left];
}

/** Sums of rows. Databases give large numbers as texts. */
function costsOf(rows: readonly Row[]): readonly LedgerCost[] {
  return rows.map((row) => ({
    key: restored(String(row['key'])),
    requests: Number(row['requests']),
    failed: Number(row['failed']),
    attempts: Number(row['attempts']),
    prompt_tokens: Number(row['prompt']),
    completion_tokens: Number(row['completion']),
    cached_tokens: Number(row['cached']),
    cost_nano_usd: Number(row['cost']),
    unpriced: Number(row['unpriced']),
  }));
}

/** Values of the statement for a timeline. */
export function timelineValues({ from, to, slotMs }: LedgerTimelineQuery) {
  return {
    minutes: slotMs / MINUTE_MS,
    first: Math.floor(from / MINUTE_MS),
    last: Math.ceil(to / MINUTE_MS),
  };
}

/** Slots of rows. */
export function slotsOf(rows: readonly Row[], slotMs: number): readonly LedgerSlot[] {
  return rows.map((row) => ({
    at: Number(row['slot']) * slotMs,
    requests: Number(row['requests']),
    failed: Number(row['failed']),
    cost_nano_usd: Number(row['cost']),
    unpriced: Number(row['unpriced']),
    ...(Number(row['streams']) === 0 ? {} : { first_token_ms: Number(row['waited']) / Number(row['streams']) }),
  }));
}

/** Failures of rows, in order. */
export function failuresOf(rows: readonly Row[]): readonly LedgerFailure[] {
  return failuresInOrder(
    rows.map(({ endpoint, error, requests, latest }) => ({
      ...(typeof endpoint === 'string' ? { endpoint: restored(endpoint) } : {}),
      error_type: typeof error === 'string' ? restored(error) : '',
      requests: Number(requests),
      latest: Number(latest),
    })),
  );
}

/** Milliseconds since 1970 before which records are too old; undefined where they are kept for good. */
export function oldestKept(keepDays: number, now: number): number | undefined {
  return keepDays === Infinity ? undefined : now - keepDays * DAY_MS;
}

/**
 * Deletes records that are too old, when records have been added; not more often than {@link PURGE_EVERY_MS} says.
 *
 * @param now - Epoch milliseconds.
 * @param deleteBefore - Deletes the records from before a time in epoch milliseconds.
 */
export function purging(
  keepDays: number,
  now: () => number,
  deleteBefore: (time: number) => Promise<void>,
): () => Promise<void> {
  let purgedAt = -Infinity;
  return async () => {
    const at = now();
    const before = oldestKept(keepDays, at);
    if (before === undefined || at - purgedAt < PURGE_EVERY_MS) return;
    purgedAt = at;
    await deleteBefore(Math.floor(before));
  };
}

/** @throws {@link ConfigError} for days that are none. */
export function checkKeepDays(keepDays: unknown): void {
  if (typeof keepDays === 'number' && keepDays > 0) return;
  throw new ConfigError([{ path: 'keepDays', problem: 'must be a number of days above 0, or Infinity' }]);
}
