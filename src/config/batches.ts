/** The options of batches and their webhooks: defaults, and what is wrong between them. */
import type { Account } from '../contracts/account.ts';
import type { TaskQueueFactory } from '../contracts/task-queue.ts';
import { NO_FAIL_POINT, type ReachFailPoint } from '../runtime/batches/ports.ts';
import type { BatchStore } from '../contracts/batch-store.ts';
import type { MaybePromise } from '../platform/wait.ts';
import {
  computed,
  fill,
  option,
  type OptionsOf,
  type OptionTable,
  type Partially,
  type ResolvedOf,
} from '../options/option.ts';
import { BATCH_LIMITS, type BatchLimits, FIXED_BATCH_LIMITS, type ResolvedBatchLimits } from '../options/limits.ts';
import { OUTBOUND, type OutboundOptions } from '../options/http.ts';
import type { ConfigProblem } from '../protocol/router-error.ts';
import { Secret } from '../platform/secret.ts';
import { bytesOfSecret } from '../runtime/batches/verify-webhook.ts';
import type { GuardedTransportFactory } from '../net/outbound-request.ts';

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
   * Whether this process runs batches by itself, from the first operation on batches on; with a durable storage from the
   * first request on, so that a process which was restarted goes on with what it had accepted. False where other
   * processes on the same storage run them. Default true.
   */
  worker: option.boolean({ default: true }),
  /**
   * Finds an account by its id when a batch of it runs, with its policy and its own provider keys. Keys are never
   * stored, so without this function accounts that have any cannot create batches. Default: an account with the policy
   * that it had when it created the batch.
   */
  accountOf: option.callable<AccountFinder>('(accountId: string) => Account | undefined'),
  /** Limits of batches. */
  limits: computed(option.object<Partially<BatchLimits>>(BATCH_LIMITS)),
} satisfies OptionTable;

/** Options of batches. */
export interface BatchesOptions extends OptionsOf<typeof BATCHES> {}

/** Batches with nothing missing. */
export interface ResolvedBatches extends Omit<ResolvedOf<typeof BATCHES>, 'limits' | 'storage' | 'queue'> {
  readonly limits: ResolvedBatchLimits;
  /** Called at every named place in the life of a batch where a process might die. */
  readonly failPoint: ReachFailPoint;
  /** Whether there may be batches of an earlier process, which this one goes on with by itself. */
  readonly resumes: boolean;
  /** Undefined: `localQueue()`, which is loaded with the first batch. */
  readonly queue: TaskQueueFactory | undefined;
  /** The storage: always the same one. That in memory is loaded when it is first requested. */
  readonly openStorage: () => MaybePromise<BatchStore>;
}

/** How owners of batches are notified when these end. */
export const WEBHOOKS = {
  /**
   * Secrets that sign, each `whsec_` and the base64 of 24 to 64 random bytes. Two while receivers are moved from one to
   * the other. Default: none, and webhooks are not signed.
   */
  secrets: option.array(option.anyString()),
  ...OUTBOUND,
} satisfies OptionTable;

/** Options of webhooks. */
export interface WebhooksOptions extends OutboundOptions, OptionsOf<typeof WEBHOOKS> {}

/** Webhooks with nothing missing. */
export interface ResolvedWebhooks {
  readonly secrets: readonly Secret[];
  readonly outbound: OutboundOptions;
  /** Undefined: connections that reach public addresses only. */
  readonly createTransport: GuardedTransportFactory | undefined;
}

/** Completes the options of batches with their defaults. */
export function resolveBatches(
  options: BatchesOptions = {},
  { wallClock, concurrentRequests }: { readonly wallClock: () => number; readonly concurrentRequests: number },
): ResolvedBatches {
  const { storage, queue, accountOf, worker } = fill(BATCHES, options);
  const limits = fill(BATCH_LIMITS, options.limits);
  let inMemory: Promise<BatchStore> | undefined;
  return {
    openStorage: () =>
      storage ??
      (inMemory ??= import('../storage/memory-storage.ts').then(({ memoryStorage }) =>
        memoryStorage({ now: wallClock }),
      )),
    resumes: worker && storage?.durable === true,
    queue,
    worker,
    accountOf,
    limits: { ...FIXED_BATCH_LIMITS, ...limits, keepFree: Math.floor(concurrentRequests / 2) },
    failPoint: NO_FAIL_POINT,
  };
}

/** Hides the secrets of webhooks. */
export function resolveWebhooks(options: WebhooksOptions = {}): ResolvedWebhooks {
  const { secrets = [], ports, allowedHosts } = options;
  return {
    secrets: secrets.map((secret) => new Secret(secret)),
    outbound: { ports, allowedHosts },
    createTransport: undefined,
  };
}

/** What is wrong with the options of webhooks. */
export function* webhookProblems({ secrets }: ResolvedWebhooks): Generator<ConfigProblem> {
  for (const [index, secret] of secrets.entries()) {
    const path = `webhooks.secrets[${index}]`;
    try {
      bytesOfSecret(secret.reveal());
    } catch (error) {
      yield { path, problem: error instanceof RangeError ? error.message : 'is not a secret' };
    }
  }
}
