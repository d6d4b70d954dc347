/** The inspector's view of batches. */
import type { InspectedRouter } from '../../config/inspector.ts';
import { ANONYMOUS, type Account } from '../../contracts/account.ts';
import type { Batch } from '../../protocol/batch.ts';
import type { BatchErrorCounts, BatchView, BatchViewList } from './wire.ts';

/** Batches that are shown of one account, and of all. */
const MOST_OF_ACCOUNT = 20;
const MOST = 100;
/** Accounts that are looked at: stores list the batches of one account only. */
const MOST_ACCOUNTS = 50;
/** Outcomes that are looked at for the errors of a batch. */
const MOST_OUTCOMES = 2_000;
const OUTCOMES_AT_A_TIME = 200;

/** Batches of the accounts that requests came from, newest first. */
export async function listBatches(router: InspectedRouter): Promise<BatchViewList> {
  const lists = await Promise.all(
    (await accountsOf(router)).map(async (id) => {
      const { data } = await router.batches.list({ account: { id }, limit: MOST_OF_ACCOUNT });
      return data.map((batch) => viewOf(batch, id));
    }),
  );
  const data = lists.flat().sort((left, right) => right.created_at - left.created_at);
  return { now: router.internals.config.environment.wallClock(), data: data.slice(0, MOST) };
}

/**
 * Ends a batch before its time.
 *
 * @throws {@link RouterError} 404 when the account has none of this id, 409 when it has ended.
 */
export async function cancelBatch(router: InspectedRouter, id: string, account: string): Promise<BatchView> {
  return viewOf(await router.batches.cancel(id, { account: { id: account } satisfies Account }), account);
}

/** Counts the requests of a batch that failed, by what went wrong. */
export async function batchErrors(router: InspectedRouter, id: string, account: string): Promise<BatchErrorCounts> {
  // Asked first: it knows what there is.
  await router.batches.retrieve(id, { account: { id: account } });
  const storage = await router.internals.config.batches.openStorage();
  const kinds = new Map<string, { count: number; example: string }>();
  let lookedAt = 0;
  for (let after = -1; lookedAt < MOST_OUTCOMES;) {
    const page = await storage.outcomes(account, id, after, OUTCOMES_AT_A_TIME);
    const last = page.at(-1);
    if (last === undefined) break;
    after = last.index;
    lookedAt += page.length;
    for (const { error } of page) {
      if (error == null) continue;
      const kind = error.error_type ?? error.type ?? 'unknown';
      const known = kinds.get(kind);
      if (known === undefined) kinds.set(kind, { count: 1, example: error.message });
      else known.count += 1;
    }
  }
  const counted = [...kinds].map(([kind, { count, example }]) => ({ kind, count, example: example.slice(0, 300) }));
  return { looked_at: lookedAt, kinds: counted.sort((left, right) => right.count - left.count) };
}

/** Accounts that the ledger knows, and the one of callers without credentials. */
async function accountsOf(router: InspectedRouter): Promise<readonly string[]> {
  const costs = (await router.internals.services.ledger?.costs({ by: 'account' })) ?? [];
  return [...new Set([ANONYMOUS.id, ...costs.map(({ key }) => key)])].slice(0, MOST_ACCOUNTS);
}

function viewOf(batch: Batch, account: string): BatchView {
  const { id, endpoint, model, status, created_at, finalized_at, expires_at, provider, request_counts, error } = batch;
  return {
    account,
    id,
    endpoint,
    model,
    status,
    created_at,
    finalized_at,
    expires_at,
    provider,
    request_counts,
    error,
  };
}
