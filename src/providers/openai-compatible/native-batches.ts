import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { BatchApi, jobId, unreadable } from '../batch-api.ts';
import { type BatchCodecs, batchedReader } from '../batch-codecs.ts';
import type { NativeBatches, NativeCall, NativeJob, NativeJobCall, NativeReply } from '../native-batches.ts';
import type { ProviderApi } from '../provider-api.ts';
import { badAnswer, expiryOf, stateOf, textOf } from './batch-object.ts';
import { resultOfLine } from './batch-results.ts';
import { uploadOf, writeFile } from './batch-upload.ts';

/** Endpoints of a server's own, below its base URL, that its batches may be for. */
export type BatchPath = '/chat/completions' | '/responses' | '/embeddings';

/** Where a batch is marked as ours, so that it is found again when the answer to its creation was lost. */
const KEY_FIELD = 'router_batch';
/** Batches of the provider that are looked at together, for one that is there already. */
const PAGE = 100;
/** Pages of them that are looked at. */
const MAX_PAGES = 50;
/** Seconds that the provider's clock may be behind ours. */
const CLOCK_SKEW_SECONDS = 3_600;
/** States of a batch that will give no more answers: one that will is preferred. */
const OVER = new Set(['failed', 'expired', 'cancelling', 'cancelled']);
/** Statuses of deletions after which a file is gone. */
const GONE = new Set([404, 410]);

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

  /** The batches of the provider, the newest first, page after page. */
  async function page(call: NativeCall, after: string | undefined): Promise<NativeReply<JsonObject>> {
    const from = after === undefined ? '' : `&after=${encodeURIComponent(after)}`;
    return calls.json(call, { method: 'GET', path: `/batches?limit=${PAGE}${from}` });
  }

  async function deleteFile(call: NativeCall, file: string): Promise<NativeReply<undefined>> {
    const reply = await calls.json(call, { method: 'DELETE', path: `/files/${encodeURIComponent(file)}` });
    return reply.ok || GONE.has(reply.failure.status ?? 0) ? { ok: true, value: undefined } : reply;
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
      const file = await writeFile(submission, codecs, paths);
      if (!file.ok) return file;
      const { url, lines } = file.value;
      const uploaded = await calls.json(submission, { method: 'POST', path: '/files', ...uploadOf(lines) });
      if (!uploaded.ok) return uploaded;
      const input = textOf(uploaded.value['id']);
      if (input === undefined) return badAnswer('a file without an id');
      const body = JSON.stringify({
        input_file_id: input,
        endpoint: url,
        completion_window: '24h',
        metadata: { [KEY_FIELD]: submission.key },
      });
      const created = await calls.json(submission, { method: 'POST', path: '/batches', body });
      // The file of a batch that was refused is of no use to anybody. When nobody knows, it stays.
      if (!created.ok && created.failure.status !== undefined) await deleteFile(submission, input);
      if (!created.ok) return created;
      const job = jobOf({ input_file_id: input, ...created.value });
      return job === undefined ? badAnswer('a batch without an id') : { ok: true, value: job };
    },
    async poll(call) {
      const reply = await retrieve(call);
      return reply.ok ? { ok: true, value: stateOf(reply.value, (text) => calls.present(call, text)) } : reply;
    },
    async *results(call) {
      const reply = await retrieve(call);
      if (!reply.ok) throw unreadable(reply.failure);
      // Answers are in one, failures in the other, and either may be missing.
      for (const file of [reply.value['output_file_id'], reply.value['error_file_id']].map(textOf)) {
        if (file !== undefined) yield* calls.lines(call, `/files/${encodeURIComponent(file)}/content`, resultOfLine);
      }
    },
    read: batchedReader(api, codecs),
    async cancel(call) {
      const reply = await calls.json(call, { method: 'POST', path: `${pathOf(call)}/cancel` });
      return reply.ok ? { ok: true, value: undefined } : reply;
    },
    async remove(call) {
      const reply = await retrieve(call);
      if (!reply.ok && !GONE.has(reply.failure.status ?? 0)) return reply;
      const { output_file_id: output, error_file_id: errors } = reply.ok ? reply.value : {};
      for (const file of [call.job['file'], output, errors].map(textOf)) {
        const deleted = file === undefined ? undefined : await deleteFile(call, file);
        if (deleted?.ok === false) return deleted;
      }
      return { ok: true, value: 'unsupported' };
    },
  };
}

function pathOf(call: NativeJobCall): string {
  return `/batches/${jobId(call)}`;
}

/** The batch that was made under a key. */
function twinIn(listed: readonly JsonObject[], key: string): JsonObject | undefined {
  const twins = listed.filter(({ metadata }) => isJsonObject(metadata) && metadata[KEY_FIELD] === key);
  return twins.find(({ status }) => typeof status === 'string' && !OVER.has(status)) ?? twins[0];
}

function jobOf(batch: JsonObject): NativeJob | undefined {
  const id = textOf(batch['id']);
  if (id === undefined) return undefined;
  return { job: { id, file: textOf(batch['input_file_id']) ?? null }, expiresAt: expiryOf(batch) };
}
