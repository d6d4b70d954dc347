/** The contract of batch APIs that providers have themselves. */
import type { ProviderKey } from '../options/accounts.ts';
import type { Endpoint } from '../catalog/endpoint.ts';
import type { NormalizedRequest, NormalizedEmbeddingRequest } from './request.ts';
import type { BatchEndpoint } from '../protocol/batch.ts';
import type { JsonObject } from '../protocol/json.ts';
import type { EmbeddingReply, ProviderReply } from './provider-reply.ts';
import type { AttemptFailure } from './failure.ts';

/** A request of a batch, as a provider's batch API gets it. */
export interface NativeItem {
  /** Stands for the caller's `custom_id`: at most 64 letters, digits, `-` and `_`, unique in the batch. */
  readonly id: string;
  readonly request: NormalizedRequest | NormalizedEmbeddingRequest;
}

/** What every call of a provider's batch API comes with. */
export interface NativeCall {
  readonly operation: BatchEndpoint;
  /** Where all requests of the batch go. */
  readonly endpoint: Endpoint;
  /** The account's own key, to be used instead of the provider's. */
  readonly apiKey?: ProviderKey | undefined;
  readonly signal: AbortSignal;
}

/** A batch that may have been handed over. */
export interface NativeLookup extends NativeCall {
  /** The same whenever the same batch is submitted, so that a provider that takes such a key does not run it twice. */
  readonly key: string;
  /** Epoch milliseconds before which it cannot have been submitted. */
  readonly createdAt: number;
  /** Requests in it. */
  readonly total: number;
  /** Jobs that are other parts of the same batch, and not the one that is looked for. */
  readonly known?: readonly JsonObject[] | undefined;
}

/** A batch that is to be handed over. */
export interface NativeSubmission extends NativeLookup {
  /** The requests, in order. May be requested again; the iterator rejects when one cannot go this way. */
  readonly items: () => AsyncIterable<NativeItem>;
}

/** A batch that a provider has. */
export interface NativeJobCall extends NativeCall {
  /** What {@link NativeBatches.submit} gave. */
  readonly job: JsonObject;
}

/** What a call came to. */
export type NativeReply<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly failure: AttemptFailure };

/** A batch that a provider took. */
export interface NativeJob {
  /** Whatever is needed to find it again: ids of jobs and files. Plain JSON; it is stored and given back. */
  readonly job: JsonObject;
  /** Epoch milliseconds at which the provider gives up what is unfinished. Left out when it never does, or later. */
  readonly expiresAt?: number | undefined;
}

/** State of a batch at a provider (upstreams 5.5). A word that is not known means `running`. */
export type NativeState =
  | { readonly status: 'running'; readonly expiresAt?: number | undefined }
  | {
      readonly status: 'ended';
      readonly outcome: 'completed' | 'failed' | 'expired' | 'cancelled';
      /** Why it failed as a whole; may be shown to the owner of the batch. */
      readonly message?: string | undefined;
    };

/** The outcome of one request (upstreams 5.6). */
export type NativeResult = { readonly id: string } & (
  | {
      readonly type: 'answered';
      /** The body of the answer, to be read by {@link NativeBatches.read}. */
      readonly body: string;
    }
  | { readonly type: 'failed'; readonly failure: AttemptFailure }
  | { readonly type: 'expired' | 'cancelled' }
);

/**
 * A provider's own batch API. Never retries and never waits: the router does both. Failures come back as data; a
 * rejection counts as a fault of the adapter.
 */
export interface NativeBatches {
  /** Whether batches of this operation may go to this endpoint. */
  accepts(operation: BatchEndpoint, endpoint: Endpoint): boolean;
  /**
   * What the token prices of an endpoint are multiplied with for a batch, where its declaration says nothing about
   * batches. Left out: then the cost is unknown.
   */
  readonly priceFactor?: number | undefined;
  /**
   * Looks for a batch that was submitted, but whose answer was lost; undefined when there is none. Left out: the
   * provider's batches carry nothing to know them by, so that a batch may be submitted twice.
   */
  find?(lookup: NativeLookup): Promise<NativeReply<NativeJob | undefined>>;
  /**
   * Hands a batch over. One that is more than the provider takes at a time is refused with `too_large`; then it comes in
   * parts, each a batch of its own, under a key of its own.
   */
  submit(submission: NativeSubmission): Promise<NativeReply<NativeJob>>;
  /** Requests the state of a batch. */
  poll(call: NativeJobCall): Promise<NativeReply<NativeState>>;
  /** The outcomes of a batch that has ended, in any order. Rejects when they cannot be read to the end. */
  results(call: NativeJobCall): AsyncIterable<NativeResult>;
  /** Reads the body of an answer that `results` gave, as the provider's codec reads those to single requests. */
  read(
    body: string,
    request: NativeItem['request'],
    endpoint: Endpoint,
  ): Extract<ProviderReply, { readonly type: 'failed' | 'whole' }> | EmbeddingReply;
  /** Sends the provider a cancellation. What is finished stays. */
  cancel(call: NativeJobCall): Promise<NativeReply<undefined>>;
  /** Deletes what the provider stored: `unsupported` when it can only delete the files around its batch. */
  remove(call: NativeJobCall): Promise<NativeReply<'deleted' | 'unsupported'>>;
}
