/** The batch mode of the Gemini API. */
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import type {
  NativeCall,
  NativeJob,
  NativeJobCall,
  NativeLookup,
  NativeReply,
  NativeResult,
  NativeState,
} from '../../contracts/native-batches.ts';
import { BatchApi, unreadable } from '../batch-api.ts';
import { batchedReader, MAX_BATCH_BYTES, writeParts } from '../batch-codecs.ts';
import type { LoadedBatches, BatchCodecs } from '../codec.ts';
import type { ProviderApi } from '../provider-api.ts';
import { serialize } from '../serialize.ts';
import { modelPath } from './wire.ts';
import { type ErrorContext, failureOfResponse } from '../upstream-failure.ts';
import * as read from '../../platform/json.ts';
import { failure } from '../../contracts/failure.ts';

/** Milliseconds after its creation at which a batch ends by itself, and everything in it is lost. */
const WINDOW_MS = 172_800_000;
/** Names that are in addresses as they are. */
const BATCH_NAME = /^batches\/[\w-]+$/;
const FILE_NAME = /^files\/[\w-]+$/;

/**
 * What is remembered of a batch; undefined for one without a name.
 *
 * @param file - Name of the file with its requests, where the batch does not tell.
 */
function jobOf(operation: JsonObject, file: string | undefined): NativeJob | undefined {
  const { name } = operation;
  if (typeof name !== 'string' || !BATCH_NAME.test(name)) return undefined;
  const { inputConfig: input } = metadataOf(operation);
  return {
    job: { name, file: file ?? fileOf(isJsonObject(input) ? input['fileName'] : undefined) ?? null },
    expiresAt: expiryOf(operation),
  };
}

/** Whether a batch was made under a key of ours. */
function isSameJob(operation: JsonObject, key: string): boolean {
  return metadataOf(operation)['displayName'] === key;
}

/**
 * State of a batch (upstreams 5.5). States have one prefix on the wire and another one in client libraries; those that
 * are unknown are no reason to give the batch up.
 *
 * @param present - Makes a text of the provider's fit to be shown.
 */
function stateOf(operation: JsonObject, present: (text: string) => string | undefined): NativeState {
  const { state } = metadataOf(operation);
  switch (typeof state === 'string' ? state.replace(/^(BATCH|JOB)_STATE_/, '') : '') {
    case 'SUCCEEDED':
    case 'PARTIALLY_SUCCEEDED':
      return { status: 'ended', outcome: 'completed' };
    case 'EXPIRED':
      return { status: 'ended', outcome: 'expired' };
    case 'CANCELLED':
      return { status: 'ended', outcome: 'cancelled' };
    case 'FAILED': {
      const { error } = operation;
      const message = isJsonObject(error) ? error['message'] : undefined;
      return {
        status: 'ended',
        outcome: 'failed',
        message: typeof message === 'string' && message !== '' ? present(message) : undefined,
      };
    }
    default:
      return { status: 'running', expiresAt: expiryOf(operation) };
  }
}

/** Name of the file with the results; it is in the answer of the operation, or in what is told about it. */
function answersOf(operation: JsonObject): string | undefined {
  const { response } = operation;
  const { output } = metadataOf(operation);
  return [response, output]
    .map((place) => fileOf(isJsonObject(place) ? place['responsesFile'] : undefined))
    .find((file) => file !== undefined);
}

function fileOf(name: unknown): string | undefined {
  return typeof name === 'string' && FILE_NAME.test(name) ? name : undefined;
}

function expiryOf(operation: JsonObject): number | undefined {
  const { createTime } = metadataOf(operation);
  const time = typeof createTime === 'string' ? Date.parse(createTime) : Number.NaN;
  return Number.isNaN(time) ? undefined : time + WINDOW_MS;
}

function metadataOf({ metadata }: JsonObject): JsonObject {
  return read.object(metadata);
}

const BOUNDS = { requests: 100_000, bytes: MAX_BATCH_BYTES };
/** Batches that are looked at together: those of others may carry their answers. */
const PAGE = 20;
/** Pages of them that are looked at. */
const MAX_PAGES = 50;
/** Statuses of deletions after which a batch is gone. */
const GONE_BATCH = new Set([404]);
/** Statuses of deletions after which a file is gone: one that is not there is one of somebody else. */
const GONE_FILE = new Set([403, 404]);

/**
 * The batch mode of the Gemini API: a file of requests, a batch of one model over it, and a file of results
 * (upstreams 5.3). Files go up and come down beside the version of the API, not below it.
 *
 * @param version - Last part of the base URL.
 */
export function geminiBatches(api: ProviderApi, codecs: BatchCodecs, version: string): LoadedBatches {
  const calls = new BatchApi(api);
  const files = new GeminiFiles(calls, version);

  function retrieve(call: NativeJobCall): Promise<NativeReply<JsonObject>> {
    return calls.json(call, { method: 'GET', path: pathOf(call) });
  }

  return {
    find: async (lookup) => findJob(calls, lookup),
    async submit(submission) {
      const parts = await writeParts(submission, codecs, BOUNDS, (id, { body }) =>
        serialize({ key: id, request: body }),
      );
      if (!parts.ok) return parts;
      const file = await files.upload(submission, submission.key, `${parts.value.join('\n')}\n`);
      if (!file.ok) return file;
      const path = `/${modelPath(submission.endpoint.upstreamModel)}:batchGenerateContent`;
      const batch = { displayName: submission.key, inputConfig: { fileName: file.value } };
      const created = await calls.json(submission, { method: 'POST', path, body: JSON.stringify({ batch }) });
      // The file of a batch that was refused is of no use to anybody. When that is unknown, it stays.
      if (!created.ok && created.failure.status !== undefined) await files.delete(submission, file.value);
      if (!created.ok) return created;
      const job = jobOf(created.value, file.value);
      return job === undefined ? badAnswer('a batch without a name') : { ok: true, value: job };
    },
    async poll(call) {
      const reply = await retrieve(call);
      return reply.ok ? { ok: true, value: stateOf(reply.value, (text) => calls.present(call, text)) } : reply;
    },
    async *results(call) {
      const reply = await retrieve(call);
      if (!reply.ok) throw unreadable(reply.failure);
      const answers = answersOf(reply.value);
      if (answers === undefined) return;
      yield* calls.lines(call, `/../download/${version}/${answers}:download?alt=media`, resultOfLine);
    },
    read: batchedReader(api, codecs),
    async cancel(call) {
      const reply = await calls.json(call, { method: 'POST', path: `${pathOf(call)}:cancel`, body: '{}' });
      return reply.ok ? { ok: true, value: undefined } : reply;
    },
    async remove(call) {
      const retrieved = await retrieve(call);
      const answers = retrieved.ok ? answersOf(retrieved.value) : undefined;
      for (const file of [call.job['file'], answers]) {
        const removed = typeof file === 'string' ? await files.delete(call, file) : undefined;
        if (removed?.ok === false) return removed;
      }
      return remove(calls, call, pathOf(call), GONE_BATCH);
    },
  };
}

/** Finds a batch again when the answer to its creation was lost. */
async function findJob(calls: BatchApi, lookup: NativeLookup): Promise<NativeReply<NativeJob | undefined>> {
  for (let pages = 0, token = ''; pages < MAX_PAGES; pages += 1) {
    const from = token === '' ? '' : `&pageToken=${encodeURIComponent(token)}`;
    const reply = await calls.json(lookup, { method: 'GET', path: `/batches?pageSize=${PAGE}${from}` });
    if (!reply.ok) return reply;
    const { operations, nextPageToken: next } = reply.value;
    const listed = read.objects(operations);
    const existingJob = listed.find((operation) => isSameJob(operation, lookup.key));
    if (existingJob !== undefined) return { ok: true, value: jobOf(existingJob, undefined) };
    if (typeof next !== 'string' || next === '') break;
    token = next;
  }
  return { ok: true, value: undefined };
}

const LINES = 'application/jsonl';

/** Files of requests, which go up beside the version of the API. */
class GeminiFiles {
  readonly #calls: BatchApi;
  readonly #uploads: string;

  constructor(calls: BatchApi, version: string) {
    this.#calls = calls;
    this.#uploads = `/../upload/${version}/files`;
  }

  /** Uploads a file, and gives its name. */
  async upload(call: NativeCall, name: string, text: string): Promise<NativeReply<string>> {
    const started = await this.#calls.header(
      call,
      {
        method: 'POST',
        path: this.#uploads,
        body: JSON.stringify({ file: { displayName: name } }),
        headers: Object.entries({
          'x-goog-upload-protocol': 'resumable',
          'x-goog-upload-command': 'start',
          'x-goog-upload-header-content-length': String(new TextEncoder().encode(text).byteLength),
          'x-goog-upload-header-content-type': LINES,
        }).flat(),
      },
      'x-goog-upload-url',
    );
    if (!started.ok) return started;
    // Never at the host that the answer names: the key goes to the configured one only.
    const session = URL.parse(started.value)?.search;
    if (session === undefined || session === '') return badAnswer('no address for a file');
    const uploaded = await this.#calls.json(call, {
      method: 'POST',
      path: `${this.#uploads}${session}`,
      body: text,
      contentType: LINES,
      headers: ['x-goog-upload-offset', '0', 'x-goog-upload-command', 'upload, finalize'],
    });
    if (!uploaded.ok) return uploaded;
    const { file } = uploaded.value;
    const id = isJsonObject(file) ? file['name'] : undefined;
    return typeof id === 'string' && FILE_NAME.test(id) ? { ok: true, value: id } : badAnswer('a file without a name');
  }

  async delete(call: NativeCall, name: string): Promise<NativeReply<'deleted'>> {
    return remove(this.#calls, call, `/${name}`, GONE_FILE);
  }
}

/** Deletes what is behind a path, unless it is gone already. */
async function remove(
  calls: BatchApi,
  call: NativeCall,
  path: string,
  gone: ReadonlySet<number>,
): Promise<NativeReply<'deleted'>> {
  const reply = await calls.json(call, { method: 'DELETE', path });
  return reply.ok || gone.has(reply.failure.status ?? 0) ? { ok: true, value: 'deleted' } : reply;
}

function badAnswer(what: string): NativeReply<never> {
  return { ok: false, failure: failure('bad_response', `The provider sent ${what}`) };
}

function pathOf({ job }: NativeJobCall): string {
  const { name } = job;
  return `/${read.text(name) ?? ''}`;
}

/** The code of a request that was not run because its batch was cancelled. */
const CANCELLED = 1;

/** Statuses of HTTP for the codes of Google's own errors (upstreams 5.6). Others are faults of the server. */
const STATUS_OF_CODE: Readonly<Record<number, number>> = {
  3: 400,
  4: 504,
  5: 404,
  7: 403,
  8: 429,
  9: 400,
  11: 400,
  14: 503,
  16: 401,
};

/** Reads a line of results; undefined for one that names no request. */
function resultOfLine(line: JsonObject, context: ErrorContext): NativeResult | undefined {
  const { key: id, response, error } = line;
  if (typeof id !== 'string') return undefined;
  if (isJsonObject(response)) return { id, type: 'answered', body: JSON.stringify(response) };
  if (!isJsonObject(error)) return { id, type: 'failed', failure: UNANSWERED };
  const { code } = error;
  if (code === CANCELLED) return { id, type: 'cancelled' };
  const status = (typeof code === 'number' ? STATUS_OF_CODE[code] : undefined) ?? 500;
  const body = JSON.stringify({ error: { ...error, code: status } });
  return { id, type: 'failed', failure: failureOfResponse(status, () => undefined, body, context) };
}

const UNANSWERED = failure('bad_response', 'The provider ended the batch without an answer to this request');
