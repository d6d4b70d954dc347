/** The HTTP calls that batch APIs of providers are made of. */
import type { JsonObject } from '../protocol/json.ts';
import { type ErrorContext, readFailedStatus, readJsonAnswer } from './upstream-failure.ts';
import { readJsonLines } from './json-lines.ts';
import type { NativeCall, NativeJobCall, NativeReply } from '../contracts/native-batches.ts';
import type { ApiRequest, ProviderApi } from './provider-api.ts';
import { presentable } from './redact.ts';
import { readText, TransportError, type TransportResponse } from '../net/transport.ts';
import * as read from '../platform/json.ts';
import { type AttemptFailure, failure } from '../contracts/failure.ts';

/** Milliseconds for a call that moves little. */
const CALL_MS = 60_000;
/** Milliseconds for a call that moves a whole batch. */
const TRANSFER_MS = 1_800_000;
/** Most bytes of an answer that tells about batches. */
const MAX_ANSWER_BYTES = 16_000_000;
/** Most bytes of a file with results. */
const MAX_RESULTS_BYTES = 8_000_000_000;

/** A call of a batch API, besides what all of them have. */
type BatchRequest = Pick<ApiRequest, 'method' | 'path' | 'body' | 'contentType' | 'headers'>;

/** The calls that batch APIs are made of. */
export class BatchApi {
  readonly #api: ProviderApi;

  constructor(api: ProviderApi) {
    this.#api = api;
  }

  /** Makes a call that is answered with a JSON object. Rejects when the caller's signal is aborted. */
  json(call: NativeCall, request: BatchRequest): Promise<NativeReply<JsonObject>> {
    return this.#send(call, request, async (response) => readJsonAnswer(await readText(response), 'a batch'));
  }

  /** Makes a call of whose answer only a header counts. Rejects when the caller's signal is aborted. */
  header(call: NativeCall, request: BatchRequest, name: string): Promise<NativeReply<string>> {
    return this.#send(call, request, async (response) => {
      const value = response.header(name);
      await readText(response);
      return value === undefined ? NO_HEADER : { ok: true, value };
    });
  }

  async #send<Value>(
    call: NativeCall,
    request: BatchRequest,
    readReply: (response: TransportResponse) => Promise<NativeReply<Value>>,
  ): Promise<NativeReply<Value>> {
    const limit = AbortSignal.timeout(request.body === undefined ? CALL_MS : TRANSFER_MS);
    try {
      const { response, context } = await this.#api.send({
        ...request,
        endpoint: call.endpoint,
        apiKey: call.apiKey,
        accept: 'application/json',
        signal: AbortSignal.any([call.signal, limit]),
        maxBytes: MAX_ANSWER_BYTES,
      });
      const failed = await readFailedStatus(response, context);
      if (failed !== undefined) return { ok: false, failure: failed };
      return await readReply(response);
    } catch (error) {
      call.signal.throwIfAborted();
      return { ok: false, failure: limit.aborted ? TOO_SLOW : failureOf(error) };
    }
  }

  /**
   * Reads a file of results.
   *
   * @param onLine - Makes a result of a line; undefined for one that is none.
   */
  async *lines<Result>(
    call: NativeCall,
    path: string,
    onLine: (line: JsonObject, context: ErrorContext) => Result | undefined,
  ): AsyncGenerator<Result, void, undefined> {
    try {
      const { response, context } = await this.#api.send({
        method: 'GET',
        path,
        endpoint: call.endpoint,
        apiKey: call.apiKey,
        accept: '*/*',
        signal: AbortSignal.any([call.signal, AbortSignal.timeout(TRANSFER_MS)]),
        maxBytes: MAX_RESULTS_BYTES,
      });
      const failed = await readFailedStatus(response, context);
      if (failed !== undefined) throw new TransportError(failed);
      for await (const line of readJsonLines(response)) {
        const result = onLine(line, context);
        if (result !== undefined) yield result;
      }
    } catch (error) {
      call.signal.throwIfAborted();
      throw error instanceof TransportError ? unreadable(error.failure) : error;
    }
  }

  /** A text of the provider's, cut and without keys. */
  present({ apiKey }: NativeCall, text: string): string | undefined {
    const own = this.#api.secrets();
    return presentable(text, apiKey === undefined ? own : [...this.#api.secrets(apiKey), ...own]);
  }
}

/** The id of a job, as a part of a path. */
export function jobId({ job }: NativeJobCall): string {
  const { id } = job;
  return encodeURIComponent(read.text(id) ?? '');
}

const NO_HEADER = {
  ok: false,
  failure: failure('bad_response', 'The provider left out a header of its answer'),
} as const;

const TOO_SLOW = failure('timeout', 'The provider did not answer in time');

/** What results that cannot be read to their end are rejected with. */
export function unreadable({ message }: AttemptFailure): Error {
  return new Error(`The results of the batch cannot be read: ${message}`);
}

function failureOf(thrown: unknown): AttemptFailure {
  return thrown instanceof TransportError ? thrown.failure : failure('adapter', 'The request could not be made');
}
