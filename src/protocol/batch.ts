/** Batches and their results, as the API shows them. */
import type { ErrorType } from './error.ts';
import type { JsonValue } from './json.ts';
import type { Usage } from './usage.ts';

/** Operations that a batch may run its requests against (contract: create a batch). */
export const BATCH_ENDPOINTS = ['/v1/chat/completions', '/v1/responses', '/v1/messages', '/v1/embeddings'] as const;

/** Operation of a batch. */
export type BatchEndpoint = (typeof BATCH_ENDPOINTS)[number];

/** States of a batch (contract: states and transitions). */
export const BATCH_STATUSES = [
  'validating',
  'in_progress',
  'finalizing',
  'completed',
  'failed',
  'expired',
  'cancelling',
  'cancelled',
] as const;

/** State of a batch. */
export type BatchStatus = (typeof BATCH_STATUSES)[number];

/** How many requests a batch has and how they came out so far. */
export interface BatchRequestCounts {
  readonly total: number;
  readonly completed: number;
  readonly failed: number;
}

/** One request to run (contract: create a batch). */
export interface BatchRequest {
  /** Unique in the batch; names the result. */
  readonly custom_id: string;
  /** In the request format of the batch's endpoint. */
  readonly body: Readonly<Record<string, JsonValue>>;
}

/** Why one request of a batch has no answer. */
export interface BatchItemError {
  readonly message: string;
  readonly param: string | null;
  readonly type: string | null;
  readonly error_type?: ErrorType | 'batch_expired' | 'batch_cancelled';
  /** The answer that did not fit its schema, and where: as in the error of a request by itself. */
  readonly metadata?: { readonly schema_mismatch: JsonValue };
}

/** Outcome of one request (contract: batch result item; gaps 8.5). Exactly one of `response` and `error` is not null. */
export interface BatchResultItem {
  /** `batch_req_…` */
  readonly id: string;
  readonly custom_id: string;
  readonly response: { readonly status_code: number; readonly request_id: string; readonly body: JsonValue } | null;
  readonly error: BatchItemError | null;
}

/** Something that is wrong with a batch, as OpenAI's packages read it. */
export interface BatchErrors {
  readonly object: 'list';
  readonly data: readonly {
    readonly code: string;
    readonly message: string;
    readonly param: string | null;
    /** Line of the input file, counted from 1; null where the batch has none. */
    readonly line: number | null;
  }[];
}

/** State of the delivery of a webhook. */
export interface BatchWebhook {
  /** `given_up`: the receiver answered 410 (Gone), or ten tries failed. */
  readonly status: 'pending' | 'delivered' | 'given_up';
  /** Tries so far, those that were requested by hand included. */
  readonly tries: number;
  /** The last five, the oldest first. */
  readonly attempts: readonly {
    /** Unix seconds. */
    readonly at: number;
    /** Null where nobody answered. */
    readonly status_code: number | null;
  }[];
  /** Unix seconds; null where none follows. */
  readonly next_attempt_at: number | null;
}

/** A batch as callers see it (contract: batch resource; gaps 8.3). Every member is always there. */
export interface Batch {
  /** `batch_…` */
  readonly id: string;
  readonly object: 'batch';
  readonly endpoint: BatchEndpoint;
  readonly model: string;
  readonly completion_window: '24h';
  readonly status: BatchStatus;
  /** Unix seconds. */
  readonly created_at: number;
  /** Unix seconds; null until the status is terminal. */
  readonly finalized_at: number | null;
  /** Unix seconds; null when there is no hard expiry. */
  readonly expires_at: number | null;
  /** Display name of the provider that runs the batch; null until one is assigned, or where each request has its own. */
  readonly provider: string | null;
  readonly request_counts: BatchRequestCounts;
  /** Sum over the requests; null until the batch is completed. */
  readonly usage: Usage | null;
  /** Null unless the batch is completed, and in lists. */
  readonly results: readonly BatchResultItem[] | null;
  readonly error: { readonly message: string } | null;
  /** The same as `error`, in the form of OpenAI's batches. */
  readonly errors: BatchErrors | null;
  /** File that the requests came in; null where they came in the body. */
  readonly input_file_id: string | null;
  /** Lines of the requests that were answered, once the batch has ended; null where there is none. */
  readonly output_file_id: string | null;
  /** Lines of the requests that were not answered, once the batch has ended; null where there is none. */
  readonly error_file_id: string | null;
  /** Unix seconds; null in any other state. Three more for the other ends. */
  readonly completed_at: number | null;
  readonly failed_at: number | null;
  readonly expired_at: number | null;
  readonly cancelled_at: number | null;
  /** State of the webhook to `callback_url`; null where there is no such URL, or none was sent yet. */
  readonly webhook: BatchWebhook | null;
  /** As it was sent. */
  readonly metadata: Readonly<Record<string, string>> | null;
  /** What keeps the batch from running; null where nothing does. */
  readonly warnings: readonly BatchWarning[] | null;
}

/** Something that keeps a batch from running. */
export interface BatchWarning {
  /** `batch_unclaimed`: it was accepted, and for 30 seconds no process has begun to run batches. */
  readonly code: 'batch_unclaimed';
  readonly message: string;
}

/** A page of batches, newest first (gaps 8.6). */
export interface BatchList {
  readonly object: 'list';
  /** Their `results` are always null. */
  readonly data: readonly Batch[];
  readonly first_id: string | null;
  /** For `after` of the next page. */
  readonly last_id: string | null;
  readonly has_more: boolean;
}

/** What became of a deleted batch (gaps 8.7). */
export interface DeletedBatch {
  readonly id: string;
  readonly object: 'batch';
  readonly deletion: {
    readonly router: 'deleted';
    /** Present when a provider was assigned. */
    readonly upstream?: {
      readonly provider: string;
      /**
       * `unsupported`: the provider deletes files only, and did. `not_applicable`: its batch API never had the batch,
       * whose requests ran one by one. `failed`: it could not be asked, and deletes everything itself in its own time.
       */
      readonly status: 'deleted' | 'unsupported' | 'not_applicable' | 'failed';
    };
  };
}

/** States in which a batch ends, each with an event of its own. */
export type BatchEnd = Extract<BatchStatus, 'completed' | 'failed' | 'expired' | 'cancelled'>;

/** All of them. */
export const BATCH_ENDS: readonly BatchEnd[] = ['completed', 'failed', 'expired', 'cancelled'];

/** What is sent to `callback_url` when a batch has ended (contract: events; gaps 8.8). */
export interface BatchWebhookEvent {
  /** The same for every delivery of the event; also in the header `webhook-id`. */
  readonly id: string;
  readonly object: 'event';
  readonly type: `batch.${BatchEnd}`;
  /** When the batch ended, as ISO 8601 with milliseconds and `Z`. */
  readonly created_at: string;
  /** The batch without its results: those are to be fetched. */
  readonly data: Pick<
    Batch,
    'id' | 'status' | 'endpoint' | 'model' | 'provider' | 'request_counts' | 'usage' | 'error'
  >;
}

/** A file as callers see it: the shape of OpenAI's files. */
export interface FileObject {
  /** `file-…` */
  readonly id: string;
  readonly object: 'file';
  readonly bytes: number;
  /** Unix seconds. */
  readonly created_at: number;
  /** Unix seconds. */
  readonly expires_at: number;
  readonly filename: string;
  /** `batch`: requests that were uploaded. `batch_output`: what became of the requests of a batch. */
  readonly purpose: 'batch' | 'batch_output';
  /** Uploaded files are checked when a batch is made of them. */
  readonly status: 'processed';
}

/** A page of files, newest first. */
export interface FileList {
  readonly object: 'list';
  readonly data: readonly FileObject[];
  readonly first_id: string | null;
  /** For `after` of the next page. */
  readonly last_id: string | null;
  readonly has_more: boolean;
}

/** A file that was deleted. */
export interface DeletedFile {
  readonly id: string;
  readonly object: 'file';
  readonly deleted: true;
}
