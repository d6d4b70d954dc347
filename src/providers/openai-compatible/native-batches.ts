import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { BatchApi, jobId } from '../batch-api.ts';
import { type BatchCodecs, batchedReader } from '../batch-codecs.ts';
import type { NativeBatches, NativeCall, NativeJob, NativeJobCall, NativeReply } from '../native-batches.ts';
import type { ProviderApi } from '../provider-api.ts';
import { BatchFiles } from './batch-files.ts';
import { badAnswer, expiryOf, stateOf, textOf } from './batch-object.ts';
import { writeFile } from './batch-upload.ts';

/** Endpoints of a server's own, below its base URL, that its batches may be for. */
export type BatchPath = '/chat/completions' | '/responses' | '/embeddings';

/** Where a batch is marked as ours, so that it is found again when the answer to its creation was lost. */
export const KEY_FIELD = 'router_batch';
/** Batches of the provider that are looked at together, for one that is there already. */
const PAGE = 100;
/** Pages of them that are looked at. */
const MAX_PAGES = 50;
/** Seconds that the provider's clock may be behind ours. */
const CLOCK_SKEW_SECONDS = 3_600;
/** States of a batch that will give no more answers: one that will is preferred. */
const OVER = /^(failed|expired|timeout_exceeded|cancelling|cancellation_requested|cancelled)$/i;
/** Fields of a batch with the ids of its files of results. */
const RESULT_FILES = ['output_file_id', 'error_file_id'];

/**
 * The batch API of OpenAI and of servers like it: a file of requests, a batch over it, and two files of results
 * (upstreams 5.1, 5.4).
 *
 * @param paths - Endpoints that batches may be for.
 * @param priceFactor - What batches cost of the price of single requests, where that is known.
 */
export function fileBatches(
  api: ProviderApi,
  codecs: BatchCodecs,
  paths: ReadonlySet<BatchPath>,
  priceFactor: number | undefined,
): NativeBatches {
  const calls = new BatchApi(api);
  const files = new BatchFiles(calls);

  /** The batches of the provider, the newest first, page after page. */
  async function page(call: NativeCall, after: string | undefined): Promise<NativeReply<JsonObject>> {
    const from = after === undefined ? '' : `&after=${encodeURIComponent(after)}`;
    return calls.json(call, { method: 'GET', path: `/batches?limit=${PAGE}${from}` });
  }

  function retrieve(call: NativeJobCall): Promise<NativeReply<JsonObject>> {
    return calls.json(call, { method: 'GET', path: pathOf(call) });
  }

  return {
    accepts(operation) {
      if (operation === '/v1/embeddings') return codecs.embeddings !== undefined && paths.has('/embeddings');
      return paths.has('/chat/completions');
    },
    priceFactor,
    async find(lookup) {
      const oldest = lookup.createdAt / 1_000 - CLOCK_SKEW_SECONDS;
      for (let pages = 0, after: string | undefined; pages < MAX_PAGES; pages += 1) {
        const reply = await page(lookup, after);
        if (!reply.ok) return reply;
        const { data, has_more: more } = reply.value;
        const listed = (Array.isArray(data) ? data : []).filter(isJsonObject);
        const twin = twinIn(listed, lookup.key);
        if (twin !== undefined) return { ok: true, value: jobOf(twin) };
        const last = listed.at(-1);
        after = textOf(last?.['id']);
        if (more !== true || after === undefined || Number(last?.['created_at']) < oldest) break;
      }
      return { ok: true, value: undefined };
    },
    async submit(submission) {
      const file = await writeFile(submission, codecs, paths, (id, url, body) => {
        return { custom_id: id, method: 'POST', url, body };
      });
      if (!file.ok) return file;
      const { url, lines } = file.value;
      const input = await files.upload(submission, lines);
      if (!input.ok) return input;
      const body = JSON.stringify({
        input_file_id: input.value,
        endpoint: url,
        completion_window: '24h',
        metadata: { [KEY_FIELD]: submission.key },
      });
      const created = await calls.json(submission, { method: 'POST', path: '/batches', body });
      // The file of a batch that was refused is of no use to anybody. When nobody knows, it stays.
      if (!created.ok && created.failure.status !== undefined) await files.delete(submission, input.value);
      if (!created.ok) return created;
      const job = jobOf({ input_file_id: input.value, ...created.value });
      return job === undefined ? badAnswer('a batch without an id') : { ok: true, value: job };
    },
    async poll(call) {
      const reply = await retrieve(call);
      return reply.ok ? { ok: true, value: stateOf(reply.value, (text) => calls.present(call, text)) } : reply;
    },
    async *results(call) {
      yield* files.results(call, await retrieve(call), RESULT_FILES);
    },
    read: batchedReader(api, codecs),
    async cancel(call) {
      const reply = await calls.json(call, { method: 'POST', path: `${pathOf(call)}/cancel` });
      return reply.ok ? { ok: true, value: undefined } : reply;
    },
    remove: async (call) => files.deleteAll(call, await retrieve(call), call.job['file'], RESULT_FILES),
  };
}

function pathOf(call: NativeJobCall): string {
  return `/batches/${jobId(call)}`;
}

/** The batch that was made under a key. */
export function twinIn(listed: readonly JsonObject[], key: string): JsonObject | undefined {
  const twins = listed.filter(({ metadata }) => isJsonObject(metadata) && metadata[KEY_FIELD] === key);
  return twins.find(({ status }) => typeof status === 'string' && !OVER.test(status)) ?? twins[0];
}

function jobOf(batch: JsonObject): NativeJob | undefined {
  const id = textOf(batch['id']);
  if (id === undefined) return undefined;
  return { job: { id, file: textOf(batch['input_file_id']) ?? null }, expiresAt: expiryOf(batch) };
}
