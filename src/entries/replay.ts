/** The entry point `signalbox/replay`: replays a ledger under another configuration. */
import type { RouterConfig } from '../config/router.ts';
import type { LedgerRecord } from '../contracts/ledger.ts';
import { Replay } from '../core/ledger/replay/replay.ts';
import type { ReplayReport } from '../core/ledger/replay/replay-report.ts';
import { createRouter } from '../router/default-router.ts';

export type { LedgerRecord } from '../contracts/ledger.ts';
export type { Interval } from '../core/ledger/replay/local-means.ts';
export { replayTable } from '../core/ledger/replay/replay-report.ts';
export type { Compared, Estimated, ReplayChange, ReplayReport } from '../core/ledger/replay/replay-report.ts';

/**
 * Decides recorded requests again under another configuration, on the world as it was recorded, and says what would have
 * changed. Calls no provider. The same records and the same configuration give the same report, byte for byte.
 *
 * @param records - In the order in which the ledger has them; read once, so that they may come from a file line by line.
 * @param config - Options as `createRouter` takes them.
 * @throws {@link ConfigError} when the configuration is wrong.
 * @example
 * ```ts
 * const { records } = await router.ledger.read({ limit: 1_000 });
 * const report = await replay(records, { ...config, strategy: 'balanced' });
 * console.log(replayTable(report));
 * ```
 */
export async function replay(
  records: Iterable<LedgerRecord> | AsyncIterable<LedgerRecord>,
  config: RouterConfig,
): Promise<ReplayReport> {
  const router = createRouter({ ...config, ledger: false });
  try {
    const { facts, selection, strategy, adaptive } = router.internals.services;
    const played = new Replay({ ...facts, selection, strategy, adaptive });
    if (Symbol.asyncIterator in records) for await (const record of records) played.add(record);
    else for (const record of records) played.add(record);
    return played.report();
  } finally {
    await router.close();
  }
}
