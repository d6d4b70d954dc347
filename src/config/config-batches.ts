import type { Account } from '../core/account.ts';
import type { ConfigProblem } from '../protocol/router-error.ts';
import type { GuardedTransportFactory, OutboundOptions } from '../net/outbound.ts';
import { localQueue } from '../queue/local.ts';
import type { TaskQueueFactory } from '../contracts/task-queue.ts';
import { NO_FAIL_POINT, type ReachFailPoint } from '../runtime/batches/ports.ts';
import { type BatchLimits, DEFAULT_BATCH_LIMITS } from '../runtime/batches/limits.ts';
import { Secret } from '../platform/secret.ts';
import { bytesOfSecret } from '../runtime/batches/verify-webhook.ts';
import type { BatchStore } from '../contracts/batch-store.ts';
import { memoryStorage } from '../storage/memory-storage.ts';
import type { MaybePromise } from '../platform/wait.ts';

/** Options of batches. */
export interface BatchesOptions {
  /** Where batches live. Default: the memory of this process, which is only good for tests and demonstrations. */
  readonly storage?: BatchStore | undefined;
  /** What decides when and where they run. Default: `localQueue()`. */
  readonly queue?: TaskQueueFactory | undefined;
  /**
   * Finds an account by its id when a batch of it runs, with its policy and its own provider keys. Default: an account
   * with the policy that it had when it created the batch. Keys are never stored, so without this accounts that have any
   * cannot create batches.
   */
  readonly accountOf?: ((accountId: string) => MaybePromise<Account | undefined>) | undefined;
  readonly limits?: { readonly [Name in keyof BatchLimits]?: BatchLimits[Name] | undefined } | undefined;
  /** Called at every named place in the life of a batch where a process might die. For crash tests. */
  readonly failPoint?: ReachFailPoint | undefined;
}

/** Options of webhooks. */
export interface WebhooksOptions extends OutboundOptions {
  /**
   * Secrets that sign, each `whsec_` and the base64 of 24 to 64 random bytes. Two while receivers are moved from one to
   * the other. Default: none, and webhooks are not signed.
   */
  readonly secrets?: readonly string[] | undefined;
  /** Makes the connections. For tests. */
  readonly createTransport?: GuardedTransportFactory | undefined;
}

/** Batches with nothing missing. */
export interface ResolvedBatches {
  readonly storage: BatchStore;
  readonly queue: TaskQueueFactory;
  readonly accountOf: BatchesOptions['accountOf'];
  readonly limits: BatchLimits;
  readonly failPoint: ReachFailPoint;
}

/** Webhooks with nothing missing. */
export interface ResolvedWebhooks {
  readonly secrets: readonly Secret[];
  readonly outbound: OutboundOptions;
  readonly createTransport: GuardedTransportFactory | undefined;
}

/** Completes the options of batches with their defaults. */
export function resolveBatches(
  options: BatchesOptions = {},
  { wallClock, concurrentRequests }: { readonly wallClock: () => number; readonly concurrentRequests: number },
): ResolvedBatches {
  const { storage, queue, accountOf, failPoint = NO_FAIL_POINT } = options;
  const set = Object.entries(options.limits ?? {}).filter(([, value]) => value !== undefined);
  const defaults = { ...DEFAULT_BATCH_LIMITS, keepFree: Math.floor(concurrentRequests / 2) };
  return {
    storage: storage ?? memoryStorage({ now: wallClock }),
    queue: queue ?? localQueue(),
    accountOf,
    limits: { ...defaults, ...(Object.fromEntries(set) as Partial<BatchLimits>) },
    failPoint,
  };
}

/** Hides the secrets of webhooks. */
export function resolveWebhooks(options: WebhooksOptions = {}): ResolvedWebhooks {
  const { secrets = [], ports, allowedHosts, createTransport } = options;
  return { secrets: secrets.map((secret) => new Secret(secret)), outbound: { ports, allowedHosts }, createTransport };
}

/** What is wrong with the options of batches and webhooks. */
export function* batchProblems(
  { limits }: ResolvedBatches,
  { secrets }: ResolvedWebhooks,
  concurrentRequests: number,
): Generator<ConfigProblem> {
  if (limits.keepFree >= concurrentRequests) {
    yield { path: 'batches.limits.keepFree', problem: 'must be less than limits.concurrentRequests' };
  }
  for (const [index, secret] of secrets.entries()) {
    const path = `webhooks.secrets[${index}]`;
    try {
      bytesOfSecret(secret.reveal());
    } catch (error) {
      yield { path, problem: error instanceof RangeError ? error.message : 'is not a secret' };
    }
  }
}
