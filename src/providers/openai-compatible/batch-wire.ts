import type { JsonObject } from '../../protocol/json.ts';
import type { BatchedBody } from '../batch-codecs.ts';
import type { NativeState } from '../native-batches.ts';

/** What a batch is made over. */
export interface BatchInput {
  /** Id of the file with its requests. */
  readonly file: string;
  /** The endpoint that all requests are for, with `/v1`. */
  readonly url: string;
  /** Model of the requests, as the provider knows it. */
  readonly model: unknown;
  /** How the batch is marked as ours. */
  readonly metadata: JsonObject;
}

/** How one family of servers writes batches over files. */
export interface BatchWire {
  /** Where batches are, below the base URL. */
  readonly path: string;
  /** Names of the fields of a batch with the ids of its files of results. */
  readonly resultFiles: readonly string[];
  /** The line of one request in the file. */
  lineOf(id: string, url: string, body: BatchedBody['body']): Readonly<Record<string, unknown>>;
  /** The body that makes a batch. */
  creationOf(input: BatchInput): Readonly<Record<string, unknown>>;
  /**
   * The query for a page of the list, the newest first.
   *
   * @param page - Counted from 0.
   * @param after - Id of the last batch of the page before.
   */
  listQuery(page: number, after: string | undefined): string;
  /** Whether another page follows one with these batches. */
  hasMore(answer: JsonObject, listed: readonly JsonObject[]): boolean;
  /** The id of the file with the requests of a batch. */
  inputOf(batch: JsonObject): unknown;
  /** When a batch ends by itself, in epoch milliseconds. */
  expiryOf(batch: JsonObject): number | undefined;
  /**
   * How a batch stands (upstreams 5.5). States that nobody knows yet are no reason to give it up.
   *
   * @param present - Makes a text of the provider's fit to be shown.
   */
  stateOf(batch: JsonObject, present: (text: string) => string | undefined): NativeState;
}

/** Batches of a provider that are looked at together, for one that is there already. */
export const BATCH_PAGE = 100;
