import type { Account } from '../core/account.ts';
import type { GuardedTransportFactory } from '../net/outbound.ts';
import type { TaskQueueFactory } from '../contracts/task-queue.ts';
import type { ReachFailPoint } from '../runtime/batches/ports.ts';
import type { BatchStore } from '../contracts/batch-store.ts';
import type { MaybePromise } from '../contracts/state-store.ts';
import { computed, option, type OptionsOf, type OptionTable, type Partially, type ResolvedOf } from './option.ts';
import { BATCH_LIMITS, type BatchLimits } from './tables/batch-limits.ts';
import { OUTBOUND, type OutboundOptions } from './tables/outbound.ts';

/** Finds an account by its id. */
type AccountFinder = (accountId: string) => MaybePromise<Account | undefined>;

/** Where batches live, what runs them, and their limits. */
export const BATCHES = {
  /** Where batches live. Default: the memory of this process, which is only good for tests and demonstrations. */
  storage: computed(
    option.contract<BatchStore>('BatchStore', 'a storage, such as sqliteStorage() makes one', ['open', 'claimItems']),
  ),
  /** What decides when and where they run. Default: `localQueue()`. */
  queue: computed(option.callable<TaskQueueFactory>('TaskQueueFactory', 'what a queue such as localQueue() gives')),
  /**
   * Finds an account by its id when a batch of it runs, with its policy and its own provider keys. Keys are never
   * stored, so without this function accounts that have any cannot create batches. Default: an account with the policy
   * that it had when it created the batch.
   */
  accountOf: option.callable<AccountFinder>('(accountId: string) => Account | undefined'),
  /** Limits of batches. */
  limits: computed(option.object<Partially<BatchLimits>>(BATCH_LIMITS)),
  /** Called at every named place in the life of a batch where a process might die. For crash tests. Default: none. */
  failPoint: computed(option.callable<ReachFailPoint>('ReachFailPoint')),
} satisfies OptionTable;

/** Options of batches. */
export interface BatchesOptions extends OptionsOf<typeof BATCHES> {}

/** Batches with nothing missing. */
export interface ResolvedBatches extends Omit<ResolvedOf<typeof BATCHES>, 'limits'> {
  readonly limits: BatchLimits;
}

/** How owners of batches are notified when these end. */
export const WEBHOOKS = {
  /**
   * Secrets that sign, each `whsec_` and the base64 of 24 to 64 random bytes. Two while receivers are moved from one to
   * the other. Default: none, and webhooks are not signed.
   */
  secrets: option.list(option.anyText()),
  ...OUTBOUND,
  /** Makes the connections. For tests. Default: connections that reach public addresses only. */
  createTransport: option.callable<GuardedTransportFactory>(
    '(guard: (host: string, address: string) => boolean) => Promise<Transport>',
  ),
} satisfies OptionTable;

/** Options of webhooks. */
export interface WebhooksOptions extends OutboundOptions, OptionsOf<typeof WEBHOOKS> {}
