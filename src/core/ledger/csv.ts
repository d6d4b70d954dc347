/** Writes records of the ledger as CSV. */
import type { LedgerRecord } from '../../contracts/ledger.ts';
import { isoTime } from './civil-time.ts';

/** Columns of the CSV form, and what they contain. */
const COLUMNS: Readonly<Record<string, (record: LedgerRecord) => string | number | boolean | undefined>> = {
  id: ({ id }) => id,
  at: ({ at }) => isoTime(at),
  account: ({ account }) => account,
  tags: ({ tags }) => tags && JSON.stringify(tags),
  session: ({ session }) => session,
  parent: ({ parent }) => parent,
  batch: ({ batch }) => batch,
  format: ({ format }) => format,
  stream: ({ stream }) => stream,
  requested: ({ requested }) => requested,
  strategy: ({ strategy }) => strategy,
  status: ({ status }) => status,
  error_type: ({ error_type: type }) => type,
  finish_reason: ({ finish_reason: reason }) => reason,
  provider: ({ provider }) => provider,
  model: ({ model }) => model,
  endpoint: ({ endpoint }) => endpoint,
  own_key: ({ own_key: own }) => own,
  attempts: ({ attempts }) => attempts.length,
  hedges: ({ attempts }) => attempts.filter(({ hedge }) => hedge === true).length,
  prompt_tokens: ({ usage }) => usage?.prompt_tokens,
  cached_tokens: ({ usage }) => usage?.cached_tokens,
  completion_tokens: ({ usage }) => usage?.completion_tokens,
  reasoning_tokens: ({ usage }) => usage?.reasoning_tokens,
  first_token_ms: ({ first_token_ms: ms }) => ms,
  duration_ms: ({ duration_ms: ms }) => ms,
  cost_nano_usd: ({ cost_nano_usd: cost }) => cost,
  // Empty where it is unknown.
  cost_usd: ({ cost_nano_usd: cost }) => (cost === undefined ? undefined : decimalUsd(cost)),
  cache: ({ cache }) => cache,
  plugins: ({ plugins = [] }) => plugins.map(({ id }) => id).join(' '),
  tools: ({ tools = [] }) => tools.map(({ type }) => type).join(' '),
  mirror: ({ mirror }) => mirror,
  reason: ({ reason }) => reason,
};

/** The first line of a CSV file of records. */
export const CSV_HEAD = Object.keys(COLUMNS).join(',');

/** A record as a line of CSV (RFC 4180). Texts that a spreadsheet would take for a formula begin with a quote sign. */
export function csvLine(record: LedgerRecord): string {
  return Object.values(COLUMNS)
    .map((cell) => cellOf(cell(record)))
    .join(',');
}

/** First characters of what spreadsheets compute. Minus too: no text of ours is a number. */
const FORMULA = /^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/;

function cellOf(value: string | number | boolean | undefined): string {
  if (value === undefined) return '';
  if (typeof value !== 'string') return String(value);
  const harmless = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

/** US dollars with all nine digits behind the point, so that nothing is rounded. Nothing costs less than nothing. */
function decimalUsd(nanoUsd: number): string {
  const digits = String(nanoUsd).padStart(10, '0');
  return `${digits.slice(0, -9)}.${digits.slice(-9)}`;
}
