import type { ContentSink, Ledger, RedactContent } from '../contracts/ledger.ts';
import { computed, option, type OptionsOf, type OptionTable, fill } from '../options/option.ts';
import type { ConfigProblem } from '../protocol/router-error.ts';

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
  keep: option.integer(1, { default: 1_000 }),
  /** Names of members of `metadata` that are kept with the record of a request, to sum costs by. Default: none. */
  tags: option.array(option.string(), { default: [] }),
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

/** A ledger with everything filled in. */
export interface ResolvedLedger {
  readonly store: Ledger;
  readonly tags: readonly string[];
  readonly content: { readonly sink: ContentSink; readonly redact: RedactContent } | undefined;
}

/**
 * Completes the options; undefined where nothing is kept.
 *
 * @param isNeeded - Whether something else of the router reads records, so that there are some without being requested.
 * @param alsoKept - Who else of the router keeps prompts and answers, in its own memory.
 */
export function resolveLedger(
  given: boolean | LedgerOptions | undefined,
  { isNeeded = false, alsoKept }: { readonly isNeeded?: boolean; readonly alsoKept?: ContentSink | undefined } = {},
): ResolvedLedger | undefined {
  if (given === false || (given === undefined && !isNeeded)) return undefined;
  const { store, keep, tags, content, redact } = fill(LEDGER, Object(given) as object);
  return {
    store: store ?? memoryOnUse(keep),
    tags,
    content: contentOf(content !== undefined && redact !== undefined ? { sink: content, redact } : undefined, alsoKept),
  };
}

type Content = ResolvedLedger['content'];

/** What the options say is done with prompts and answers, and who else keeps them as they are. */
function contentOf(configured: Content, alsoKept: ContentSink | undefined): Content {
  if (alsoKept === undefined) return configured;
  return {
    redact: (content) => {
      void alsoKept(content);
      return configured?.redact(content);
    },
    sink: (content) => configured?.sink(content),
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
    timeline: async (query) => (await load()).timeline?.(query) ?? [],
    failures: async (query) => (await load()).failures?.(query) ?? [],
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
