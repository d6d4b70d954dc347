import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { failure } from '../../core/fallback/failure.ts';
import type { NativeReply, NativeState } from '../../contracts/native-batches.ts';
import type { BatchedBody } from '../batch-codecs.ts';
import * as read from '../../platform/json.ts';

/** Hours that the provider gets. */
const WINDOW_HOURS = 24;

/**
 * The batch jobs of Mistral: files as those of OpenAI, but the model is the job's and no field of the requests
 * (upstreams 5.4).
 */
export const JOB_WIRE: BatchWire = {
  path: '/batch/jobs',
  resultFiles: ['output_file', 'error_file'],
  lineOf: (id, _url, { model: _model, ...body }) => ({ custom_id: id, body }),
  creationOf: ({ file, url, model, metadata }) => ({
    input_files: [file],
    endpoint: url,
    model,
    metadata,
    timeout_hours: WINDOW_HOURS,
  }),
  listQuery: (page) => `page=${page}&page_size=${BATCH_PAGE}`,
  hasMore: (_answer, listed) => listed.length >= BATCH_PAGE,
  inputOf: ({ input_files: files }) => (Array.isArray(files) ? files[0] : undefined),
  expiryOf,
  stateOf(batch, present) {
    switch (batch['status']) {
      case 'SUCCESS':
        return { status: 'ended', outcome: 'completed' };
      case 'TIMEOUT_EXCEEDED':
        return { status: 'ended', outcome: 'expired' };
      case 'CANCELLED':
        return { status: 'ended', outcome: 'cancelled' };
      case 'FAILED': {
        const { errors } = batch;
        const first = read.list(errors).find(isJsonObject);
        const message = read.text(first?.['message']);
        return { status: 'ended', outcome: 'failed', message: message && present(message) };
      }
      default:
        return { status: 'running', expiresAt: expiryOf(batch) };
    }
  },
};

/** Jobs do not say when they end by themselves: after the time that was asked for. */
function expiryOf({ created_at: seconds }: JsonObject): number | undefined {
  return typeof seconds === 'number' && seconds > 0 ? (seconds + WINDOW_HOURS * 3_600) * 1_000 : undefined;
}

/** An answer of the batch API that is not what it should be. */
export function badAnswer(what: string): NativeReply<never> {
  return { ok: false, failure: failure('bad_response', `The provider sent ${what}`) };
}

/** What a batch is made over. */
interface BatchInput {
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
   * How a batch stands (upstreams 5.5). States that are unknown are no reason to give it up.
   *
   * @param present - Makes a text of the provider's fit to be shown.
   */
  stateOf(batch: JsonObject, present: (text: string) => string | undefined): NativeState;
}

/** Batches of a provider that are looked at together, for one that is there already. */
export const BATCH_PAGE = 100;
