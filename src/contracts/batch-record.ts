/** The batch as stores keep it. */
import type { BatchEndpoint, BatchRequestCounts, BatchStatus } from '../protocol/batch.ts';
import type { JsonObject } from '../protocol/json.ts';
import type { Account } from './account.ts';
import type { Usage } from '../protocol/usage.ts';

/** Routing of a whole batch (contract: create a batch, `provider`). */
export interface BatchPreferences {
  readonly only?: readonly string[] | undefined;
  readonly allowFallbacks?: boolean | undefined;
}

/** A batch as it is stored. Times are epoch milliseconds of the store's own clock. */
export interface BatchRecord {
  readonly id: string;
  /** Account that owns it. */
  readonly account: string;
  readonly endpoint: BatchEndpoint;
  /** As it was sent. */
  readonly model: string;
  readonly status: BatchStatus;
  readonly createdAt: number;
  readonly finalizedAt?: number | undefined;
  /** When unfinished requests are given up. */
  readonly expiresAt?: number | undefined;
  /** When the batch and everything in it is deleted. */
  readonly deleteAt: number;
  /** Milliseconds after its end at which it is deleted, where that comes before. */
  readonly outputKeptMs?: number | undefined;
  /** True once its requests are run one by one: then any worker may take some that nobody has claimed. */
  readonly shared?: boolean | undefined;
  /** Display name of the provider that runs all of it. */
  readonly provider?: string | undefined;
  readonly preferences?: BatchPreferences | undefined;
  /** Rules of the account when it created the batch: the batch runs long after its client disconnected. */
  readonly rules?:
    | Pick<
        Account,
        'policy' | 'defaultModel' | 'pluginDefaults' | 'rateLimits' | 'budget' | 'batchWeight' | 'keyId' | 'keyBudget'
      >
    | undefined;
  /** Address that gets the webhook. */
  readonly callbackUrl?: string | undefined;
  /** State of the webhook. */
  readonly webhook?: WebhookState | undefined;
  readonly counts: BatchRequestCounts;
  readonly usage?: Usage | undefined;
  /** Why it failed. Already there while it is validated, when it was found before. */
  readonly error?: BatchFault | undefined;
  /** File that its requests came in. */
  readonly inputFileId?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Bytes of its files, once it is completed. */
  readonly fileBytes?: Readonly<Record<OutputKind, number>> | undefined;
  /** What must be remembered of the job at a provider's own batch API. */
  readonly upstream?: JsonObject | undefined;
  /** Grows by one with every change of this record, so that two writers notice each other. */
  readonly revision: number;
}

/**
 * What is to be done after a change, saved together with it. Each is done at least once, by whoever comes first, and
 * doing it twice changes nothing.
 */
export type BatchEffect = 'validate' | 'run' | 'finalize' | 'stop' | 'notify';

/** How a try ended: with a status, or without any answer. */
export interface WebhookTry {
  readonly status?: number | undefined;
  /** Milliseconds that the receiver requested. */
  readonly retryAfterMs?: number | undefined;
}

/** State of the delivery of the end of a batch. Times are epoch milliseconds of the store's clock. */
export interface WebhookState {
  readonly status: 'pending' | 'delivered' | 'given_up';
  /** All tries, of which the last are remembered, the oldest first. */
  readonly tries: number;
  readonly attempts: readonly {
    readonly at: number;
    /** Left out where nobody answered. */
    readonly status?: number | undefined;
  }[];
  /** When it is tried again. */
  readonly nextAt?: number | undefined;
}

/** Which of the two files of a batch that has ended: what was answered, or what was not. */
export type OutputKind = 'output' | 'errors';

/** What is wrong with a batch: a sentence, and for requests that came in a file the line. */
export interface BatchFault {
  readonly message: string;
  /** Counted from 1. */
  readonly line?: number | undefined;
  /** Where in the line. */
  readonly param?: string | undefined;
}
