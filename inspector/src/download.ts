import type { LedgerRecord } from '../../src/contracts/ledger.ts';
import type { RecordPage } from '../../src/http/inspector/wire.ts';
import { ask } from './api.ts';

/** Records that one download has at most: more of them come from `signalbox ledger export`. */
const MOST_RECORDS = 50_000;

/** Hands a text to the browser as a file. */
export function download(name: string, type: string, parts: readonly string[]): void {
  const address = URL.createObjectURL(new Blob([...parts], { type }));
  const link = Object.assign(document.createElement('a'), { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** Everything that the ledger keeps, as JSON lines. */
export async function downloadLedger(): Promise<void> {
  const parts: string[] = [];
  let after: string | undefined;
  do {
    const query: string = after === undefined ? '' : `?after=${encodeURIComponent(after)}`;
    const { records, next } = await ask<RecordPage>(`records${query}`);
    parts.push(...records.map((record: LedgerRecord) => `${JSON.stringify(record)}\n`));
    after = next;
  } while (after !== undefined && parts.length < MOST_RECORDS);
  download('ledger.jsonl', 'application/jsonl', parts);
}

/** A field as spreadsheets read it. One that begins like a formula is made a text. */
export function csvField(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
