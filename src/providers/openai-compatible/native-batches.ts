/** Batch APIs over files, as OpenAI has them. */
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { BatchApi, jobId, unreadable } from '../batch-api.ts';
import { batchedReader, MAX_BATCH_BYTES, writeParts } from '../batch-codecs.ts';
import type {
  NativeCall,
  NativeJob,
  NativeJobCall,
  NativeLookup,
  NativeReply,
  NativeResult,
  NativeSubmission,
} from '../../contracts/native-batches.ts';
import type { BatchWire } from './batch-wires.ts';
import type { LoadedBatches, BatchCodecs } from '../codec.ts';
import type { ProviderApi } from '../provider-api.ts';
import { serialize } from '../serialize.ts';
import { isError } from '../error-shape.ts';
import { type ErrorContext, failureInBand, failureOfResponse } from '../upstream-failure.ts';
import * as read from '../../platform/json.ts';
import { type AttemptFailure, failure } from '../../contracts/failure.ts';

/** Endpoints of a server's own, below its base URL, that its batches may be for. */
export type BatchPath = '/chat/completions' | '/responses' | '/embeddings';

/** Options of {@link fileBatches}. */
interface FileBatchOptions {
  readonly wire: BatchWire;
  /** Endpoints that batches may be for. */
  readonly paths: ReadonlySet<BatchPath>;
}

/** Where a batch is marked as ours, so that it is found again when the answer to its creation was lost. */
const KEY_FIELD = 'router_batch';
/** Pages of the provider's batches that are looked at. */
const MAX_PAGES = 50;
/** Seconds that the provider's clock may be behind ours. */
const CLOCK_SKEW_SECONDS = 3_600;
/** States of a batch that will give no more answers: one that will is preferred. */
const OVER = /^(failed|expired|timeout_exceeded|cancelling|cancellation_requested|cancelled)$/i;

/** A batch API over files: one of requests goes up, a batch is made over it, and files of results come down. */
export function fileBatches(api: ProviderApi, codecs: BatchCodecs, { wire, paths }: FileBatchOptions): LoadedBatches {
  const calls = new BatchApi(api);
  const files = new BatchFiles(calls);

  const pathOf = (call: NativeJobCall): string => `${wire.path}/${jobId(call)}`;

  function retrieve(call: NativeJobCall): Promise<NativeReply<JsonObject>> {
    return calls.json(call, { method: 'GET', path: pathOf(call) });
  }

  return {
    find: async (lookup) => findJob(calls, wire, lookup),
    async submit(submission) {
      const written = await writeFile(submission, codecs, paths, wire);
      if (!written.ok) return written;
      const { url, model, lines } = written.value;
      const input = await files.upload(submission, lines);
      if (!input.ok) return input;
      const file = input.value;
      const body = JSON.stringify(wire.creationOf({ file, url, model, metadata: { [KEY_FIELD]: submission.key } }));
      const created = await calls.json(submission, { method: 'POST', path: wire.path, body });
      // The file of a batch that was refused is of no use to anybody. When that is unknown, it stays.
      if (!created.ok && created.failure.status !== undefined) await files.delete(submission, file);
      if (!created.ok) return created;
      const job = jobOf(wire, created.value, file);
      return job === undefined ? badAnswer('a batch without an id') : { ok: true, value: job };
    },
    async poll(call) {
      const reply = await retrieve(call);
      return reply.ok ? { ok: true, value: wire.stateOf(reply.value, (text) => calls.present(call, text)) } : reply;
    },
    async *results(call) {
      yield* files.results(call, await retrieve(call), wire.resultFiles);
    },
    read: batchedReader(api, codecs),
    async cancel(call) {
      const reply = await calls.json(call, { method: 'POST', path: `${pathOf(call)}/cancel` });
      return reply.ok ? { ok: true, value: undefined } : reply;
    },
    remove: async (call) => files.deleteAll(call, await retrieve(call), call.job['file'], wire.resultFiles),
  };
}

/** What is remembered of a batch; undefined for one without an id. */
function jobOf(wire: BatchWire, batch: JsonObject, input?: string): NativeJob | undefined {
  const id = read.text(batch['id']);
  if (id === undefined) return undefined;
  return { job: { id, file: read.text(wire.inputOf(batch)) ?? input ?? null }, expiresAt: wire.expiryOf(batch) };
}

/** Finds a batch again when the answer to its creation was lost. */
async function findJob(
  calls: BatchApi,
  wire: BatchWire,
  lookup: NativeLookup,
): Promise<NativeReply<NativeJob | undefined>> {
  const oldest = lookup.createdAt / 1_000 - CLOCK_SKEW_SECONDS;
  for (let page = 0, after: string | undefined; page < MAX_PAGES; page += 1) {
    const path = `${wire.path}?${wire.listQuery(page, after)}`;
    const reply = await calls.json(lookup, { method: 'GET', path });
    if (!reply.ok) return reply;
    const { data } = reply.value;
    const listed = read.objects(data);
    const existingJob = existingJobIn(listed, lookup.key);
    if (existingJob !== undefined) return { ok: true, value: jobOf(wire, existingJob) };
    const last = listed.at(-1);
    after = read.text(last?.['id']);
    if (!wire.hasMore(reply.value, listed) || Number(last?.['created_at']) < oldest) break;
  }
  return { ok: true, value: undefined };
}

/** The batch that was made under a key. */
function existingJobIn(listed: readonly JsonObject[], key: string): JsonObject | undefined {
  const twins = listed.filter(({ metadata }) => isJsonObject(metadata) && metadata[KEY_FIELD] === key);
  return twins.find(({ status }) => typeof status === 'string' && !OVER.test(status)) ?? twins[0];
}

/** Statuses of deletions after which a file is gone. */
const GONE = new Set([404, 410]);

/** The files around batches: one with the requests goes up, those with answers and failures come down. */
class BatchFiles {
  readonly #calls: BatchApi;

  constructor(calls: BatchApi) {
    this.#calls = calls;
  }

  /** Uploads the lines of a file, and gives its id. */
  async upload(call: NativeCall, lines: readonly string[]): Promise<NativeReply<string>> {
    const reply = await this.#calls.json(call, { method: 'POST', path: '/files', ...uploadOf(lines) });
    if (!reply.ok) return reply;
    const id = read.text(reply.value['id']);
    return id === undefined ? badAnswer('a file without an id') : { ok: true, value: id };
  }

  /**
   * The results in the files of a batch. Answers are in one of them, failures in the other, and either may be missing.
   *
   * @param retrieved - The batch.
   * @param fields - Names of the fields with the ids of the files.
   */
  async *results(
    call: NativeCall,
    retrieved: NativeReply<JsonObject>,
    fields: readonly string[],
  ): AsyncGenerator<NativeResult, void, undefined> {
    if (!retrieved.ok) throw unreadable(retrieved.failure);
    for (const field of fields) {
      const file = read.text(retrieved.value[field]);
      if (file !== undefined)
        yield* this.#calls.lines(call, `/files/${encodeURIComponent(file)}/content`, resultOfLine);
    }
  }

  /** Deletes a file. One that is gone already is no failure. */
  async delete(call: NativeCall, file: string): Promise<NativeReply<undefined>> {
    const reply = await this.#calls.json(call, { method: 'DELETE', path: `/files/${encodeURIComponent(file)}` });
    return reply.ok || isGone(reply) ? { ok: true, value: undefined } : reply;
  }

  /** Deletes all files around a batch, which itself stays. */
  async deleteAll(
    call: NativeCall,
    retrieved: NativeReply<JsonObject>,
    input: unknown,
    fields: readonly string[],
  ): Promise<NativeReply<'unsupported'>> {
    if (!retrieved.ok && !isGone(retrieved)) return retrieved;
    const others = retrieved.ok ? fields.map((field) => retrieved.value[field]) : [];
    for (const file of [input, ...others].map(read.text)) {
      const deleted = file === undefined ? undefined : await this.delete(call, file);
      if (deleted?.ok === false) return deleted;
    }
    return { ok: true, value: 'unsupported' };
  }
}

function isGone(reply: NativeReply<unknown>): boolean {
  return !reply.ok && GONE.has(reply.failure.status ?? 0);
}

/** What servers of this family take in one file. */
const BOUNDS = { requests: 50_000, bytes: MAX_BATCH_BYTES };
/** Inputs of all requests for embeddings in one file together. */
const MAX_INPUTS = 50_000;

/** A file of requests. */
interface BatchFile {
  /** The endpoint that all of them are for. */
  readonly url: string;
  /** Model of its requests, as the provider names it. */
  readonly model: unknown;
  readonly lines: readonly string[];
}

/** Writes the file of a batch: one request on each line, all for the same endpoint. */
async function writeFile(
  submission: NativeSubmission,
  codecs: BatchCodecs,
  paths: ReadonlySet<string>,
  wire: BatchWire,
): Promise<NativeReply<BatchFile>> {
  const urls = new Set<string>();
  let model: unknown;
  let inputs = 0;
  const parts = await writeParts(submission, codecs, BOUNDS, (id, { path, body }) => {
    const url = `/v1${path}`;
    urls.add(paths.has(path) ? url : '');
    model ??= body['model'];
    if (Array.isArray(body['input'])) inputs += body['input'].length;
    return serialize(wire.lineOf(id, url, body));
  });
  if (!parts.ok) return parts;
  const [url = ''] = urls;
  if (urls.size !== 1 || url === '') {
    return { ok: false, failure: failure('invalid_request', 'The requests are for different endpoints') };
  }
  if (submission.operation === '/v1/embeddings' && inputs > MAX_INPUTS) {
    return { ok: false, failure: failure('too_large', `The provider takes ${MAX_INPUTS} inputs in a batch`) };
  }
  return { ok: true, value: { url, model, lines: parts.value } };
}

/** The multipart form in which a file is uploaded. */
function uploadOf(lines: readonly string[]): { readonly body: string; readonly contentType: string } {
  // So random that it is in no file.
  const boundary = `batch-${crypto.randomUUID()}`;
  const part = `--${boundary}\r\ncontent-disposition: form-data; name=`;
  const body = [
    `${part}"purpose"\r\n\r\nbatch\r\n`,
    `${part}"file"; filename="batch.jsonl"\r\ncontent-type: application/jsonl\r\n\r\n${lines.join('\n')}\n\r\n`,
    `--${boundary}--\r\n`,
  ].join('');
  return { body, contentType: `multipart/form-data; boundary=${boundary}` };
}

/** Codes of requests that a batch ended without. */
const ENDED_WITHOUT = { batch_expired: 'expired', batch_cancelled: 'cancelled' } as const;

/** Reads a line of a file of results (upstreams 5.6); undefined for one that names no request. */
function resultOfLine(line: JsonObject, context: ErrorContext): NativeResult | undefined {
  const { custom_id: id, error, response } = line;
  if (typeof id !== 'string') return undefined;
  const code = isJsonObject(error) ? error['code'] : undefined;
  if (code === 'batch_expired' || code === 'batch_cancelled') return { id, type: ENDED_WITHOUT[code] };
  if (isError(error)) return { id, type: 'failed', failure: failureInBand({ error }, context) };
  if (!isJsonObject(response)) return { id, type: 'failed', failure: UNANSWERED };
  const { status_code: status, body } = response;
  if (typeof status === 'number' && status >= 200 && status < 300) {
    return { id, type: 'answered', body: JSON.stringify(body ?? null) };
  }
  return { id, type: 'failed', failure: failureOf(Number(status), body, context) };
}

const UNANSWERED = failure('bad_response', 'The provider ended the batch without an answer to this request');

/** A status of 0 stands for a request that never came to an answer. */
function failureOf(status: number, body: unknown, context: ErrorContext): AttemptFailure {
  if (status >= 300 && status <= 599) {
    const text = typeof body === 'string' ? body : JSON.stringify(body ?? {});
    return failureOfResponse(status, () => undefined, text, context);
  }
  return isJsonObject(body) && isError(body['error']) ? failureInBand(body, context) : UNANSWERED;
}

/** An answer of the batch API that is not what it should be. */
function badAnswer(what: string): NativeReply<never> {
  return { ok: false, failure: failure('bad_response', `The provider sent ${what}`) };
}
