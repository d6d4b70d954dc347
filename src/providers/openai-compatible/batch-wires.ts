/** The differences between batch APIs over files. */
import type { NativeState } from '../../contracts/native-batches.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import type { BatchedBody } from '../batch-codecs.ts';
import * as read from '../../platform/json.ts';

/** What a batch is made over. */
interface BatchInput {
  /** Id of the file with its requests. */
  readonly file: string;
  /** The endpoint that all requests are for, with `/v1`. */
  readonly url: string;
  /** Model of the requests, as the provider names it. */
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
   * State of a batch (upstreams 5.5). States that are unknown are no reason to give it up.
   *
   * @param present - Makes a text of the provider's fit to be shown.
   */
  stateOf(batch: JsonObject, present: (text: string) => string | undefined): NativeState;
}

/** Batches of a provider that are looked at together, for one that is there already. */
const BATCH_PAGE = 100;

/** The batches of OpenAI and of servers like it (upstreams 5.1, 5.4). */
const FILE_WIRE: BatchWire = {
  path: '/batches',
  resultFiles: ['output_file_id', 'error_file_id'],
  lineOf: (id, url, body) => ({ custom_id: id, method: 'POST', url, body }),
  creationOf: ({ file, url, metadata }) => ({
    input_file_id: file,
    endpoint: url,
    completion_window: '24h',
    metadata,
  }),
  listQuery(_page, after) {
    return `limit=${BATCH_PAGE}${after === undefined ? '' : `&after=${encodeURIComponent(after)}`}`;
  },
  hasMore: ({ has_more: more }, listed) => more === true && read.text(listed.at(-1)?.['id']) !== undefined,
  inputOf: (batch) => batch['input_file_id'],
  expiryOf,
  stateOf(batch, present) {
    const { status } = batch;
    switch (status) {
      case 'completed':
      case 'expired':
      case 'cancelled':
        return { status: 'ended', outcome: status };
      case 'failed':
        return { status: 'ended', outcome: status, message: reasonOf(batch, present) };
      default:
        return { status: 'running', expiresAt: expiryOf(batch) };
    }
  },
};

function expiryOf({ expires_at: seconds }: JsonObject): number | undefined {
  return typeof seconds === 'number' && seconds > 0 ? seconds * 1_000 : undefined;
}

/** What a batch that failed as a whole failed for: the first of its errors. */
function reasonOf({ errors }: JsonObject, present: (text: string) => string | undefined): string | undefined {
  const data: unknown = isJsonObject(errors) ? errors['data'] : undefined;
  const first = read.list(data).find(isJsonObject);
  const message = read.text(first?.['message']) ?? read.text(first?.['code']);
  if (message === undefined) return undefined;
  const line = first?.['line'];
  return present(typeof line === 'number' ? `${message} (request ${line})` : message);
}

/** Hours that the provider gets. */
const WINDOW_HOURS = 24;

/**
 * The batch jobs of Mistral: files as those of OpenAI, but the model is the job's and no field of the requests
 * (upstreams 5.4).
 */
const JOB_WIRE: BatchWire = {
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
  expiryOf: jobExpiryOf,
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
        return { status: 'running', expiresAt: jobExpiryOf(batch) };
    }
  },
};

/** Jobs do not say when they end by themselves: after the time that was requested. */
function jobExpiryOf({ created_at: seconds }: JsonObject): number | undefined {
  return typeof seconds === 'number' && seconds > 0 ? (seconds + WINDOW_HOURS * 3_600) * 1_000 : undefined;
}

/** Batch APIs over files, by the name that presets have for them. */
export const BATCH_WIRES = { files: FILE_WIRE, jobs: JOB_WIRE };
