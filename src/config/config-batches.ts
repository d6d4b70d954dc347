import { BATCHES, type BatchesOptions, type ResolvedBatches, type WebhooksOptions } from './batches.ts';
import { fill } from './option.ts';
import { BATCH_LIMITS } from './tables/batch-limits.ts';
import type { ConfigProblem } from '../protocol/router-error.ts';
import type { GuardedTransportFactory, OutboundOptions } from '../net/outbound.ts';
import { localQueue } from '../queue/local.ts';
import { NO_FAIL_POINT } from '../runtime/batches/ports.ts';
import { Secret } from '../platform/secret.ts';
import { bytesOfSecret } from '../runtime/batches/verify-webhook.ts';
import { memoryStorage } from '../storage/memory-storage.ts';

export type { BatchesOptions, ResolvedBatches, WebhooksOptions } from './batches.ts';

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
  const { storage, queue, accountOf, failPoint } = fill(BATCHES, options);
  const limits = fill(BATCH_LIMITS, options.limits);
  return {
    storage: storage ?? memoryStorage({ now: wallClock }),
    queue: queue ?? localQueue(),
    accountOf,
    limits: { ...limits, keepFree: limits.keepFree ?? Math.floor(concurrentRequests / 2) },
    failPoint: failPoint ?? NO_FAIL_POINT,
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
