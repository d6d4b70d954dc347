import type { ContentSink, RedactContent } from '../contracts/ledger-content.ts';
import type { Ledger } from '../contracts/ledger.ts';
import type { ConfigProblem } from '../protocol/router-error.ts';
import { LEDGER, type LedgerOptions } from './ledger.ts';
import { fill } from './option.ts';

/** A ledger with everything filled in. */
export interface ResolvedLedger {
  readonly store: Ledger;
  readonly tags: readonly string[];
  readonly bufferRecords: number;
  readonly flushMs: number;
  readonly content: { readonly sink: ContentSink; readonly redact: RedactContent } | undefined;
}

/**
 * Completes the options; undefined where nothing is kept.
 *
 * @param isNeeded - Whether something else of the router reads records, so that there are some without being asked for.
 */
export function resolveLedger(
  given: boolean | LedgerOptions | undefined,
  isNeeded = false,
): ResolvedLedger | undefined {
  if (given === false || (given === undefined && !isNeeded)) return undefined;
  const { store, keep, tags, bufferRecords, flushMs, content, redact } = fill(LEDGER, Object(given) as object);
  return {
    store: store ?? memoryOnUse(keep),
    tags,
    bufferRecords,
    flushMs,
    content: content === undefined || redact === undefined ? undefined : { sink: content, redact },
  };
}

/** Records in memory, whose code is loaded when somebody reads. */
function memoryOnUse(keeps: number): Ledger {
  let loaded: Promise<Ledger> | undefined;
  const load = (): Promise<Ledger> =>
    (loaded ??= import('../storage/memory-ledger.ts').then(({ memoryLedger }) => memoryLedger(keeps)));
  return {
    keeps,
    append: async (records) => (await load()).append(records),
    read: async (query) => (await load()).read(query),
    one: async (id) => (await load()).one(id),
    costs: async (query) => (await load()).costs(query),
  };
}

/** What is wrong between options; each by itself is checked by its kind. */
export function* ledgerProblems(given: boolean | LedgerOptions | undefined): Generator<ConfigProblem> {
  if (typeof given !== 'object') return;
  if (given.content !== undefined && given.redact === undefined) {
    yield {
      path: 'ledger.redact',
      problem: 'must be given with ledger.content: a function that gives what may be kept of a prompt and its answer',
    };
  }
  if (given.keep !== undefined && given.store !== undefined) {
    yield { path: 'ledger.keep', problem: 'counts the records in memory, but they are kept in ledger.store' };
  }
}
