import type { ContentSink, RedactContent } from '../contracts/ledger-content.ts';
import type { Ledger } from '../contracts/ledger.ts';
import { computed, option, type OptionsOf, type OptionTable } from './option.ts';

/** What is kept of requests, and where. */
export const LEDGER = {
  /**
   * Where records live: `sqliteLedger()`, `postgresLedger()` or one of your own. Default: the last `keep` records in the
   * memory of this process.
   */
  store: computed(
    option.contract<Ledger>('Ledger', 'a ledger, such as sqliteLedger() makes one', ['append', 'read', 'one', 'costs']),
  ),
  /** Records in the memory of this process, without `store`. Default 1,000. */
  keep: option.whole(1, { default: 1_000 }),
  /** Names of members of `metadata` that are kept with the record of a request, to sum costs by. Default: none. */
  tags: option.list(option.text(), { default: [] }),
  /**
   * Records that wait to be written to the store at most. When it is slower than requests come, or away, more are
   * dropped, and a `warning` with the code `ledger_dropped` says so. Default 10,000.
   */
  bufferRecords: option.whole(1, { default: 10_000 }),
  /** Time for which records are collected before they are written together. Default 1,000. */
  flushMs: option.ms({ default: 1_000 }),
  /**
   * Called with the prompt and the answer of each chat request that was answered, after `redact`. Default: none; prompts
   * and answers are in no record.
   */
  content: option.callable<ContentSink>('ContentSink'),
  /** Gives what `content` may be called with; needed with it. `(content) => content` keeps everything. */
  redact: option.callable<RedactContent>('RedactContent'),
} satisfies OptionTable;

/** What is kept of requests, and where. */
export interface LedgerOptions extends OptionsOf<typeof LEDGER> {}
