import type { BatchStoreCheck, BatchStoreHarness } from './batch-store-checks/check.ts';
import { claimingChecks, sweepChecks } from './batch-store-checks/claiming-checks.ts';
import { draftChecks, idempotencyChecks } from './batch-store-checks/draft-checks.ts';
import { batchFaultChecks } from './batch-store-checks/fault-checks.ts';
import { fileChecks } from './batch-store-checks/file-checks.ts';
import { outcomeChecks, savingChecks } from './batch-store-checks/outcome-checks.ts';
import { outageChecks } from './batch-store-checks/outage-checks.ts';
import { readingChecks, tenantChecks } from './batch-store-checks/reading-checks.ts';
import { sharingChecks } from './batch-store-checks/sharing-checks.ts';
import { taskChecks } from './batch-store-checks/task-checks.ts';

/**
 * The checks for authors of stores for batches. They need no test runner: each is a name and a function. Together they
 * hold a store to what `BatchStore` promises.
 *
 * Some wait for leases of 40 ms to end. Where the clock of your store can be set, let `pass` set it, and nothing waits.
 *
 * @example
 * ```ts
 * const harness: BatchStoreHarness = { create: openMyStore, pass: (ms) => clock.advance(ms) };
 * for (const { name, run } of batchStoreChecksFor(harness)) it(name, () => run(harness));
 * ```
 */
export const batchStoreChecks: readonly BatchStoreCheck[] = [
  ...draftChecks,
  ...idempotencyChecks,
  ...readingChecks,
  ...savingChecks,
  ...claimingChecks,
  ...outcomeChecks,
  ...taskChecks,
  ...tenantChecks,
  ...sweepChecks,
  ...fileChecks,
  ...batchFaultChecks,
  ...outageChecks,
  ...sharingChecks,
];

/** The checks that mean something for this store. */
export function batchStoreChecksFor({
  attach,
  faults,
}: Pick<BatchStoreHarness, 'attach' | 'faults'>): readonly BatchStoreCheck[] {
  return batchStoreChecks.filter(
    ({ needsSharing, needsFault }) =>
      (!needsSharing || attach !== undefined) && (needsFault === undefined || faults?.[needsFault] !== undefined),
  );
}
