import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { BatchApi, jobId } from '../batch-api.ts';
import { type BatchCodecs, batchedReader } from '../batch-codecs.ts';
import type { NativeBatches, NativeJob, NativeJobCall, NativeReply } from '../native-batches.ts';
import type { ProviderApi } from '../provider-api.ts';
import { BatchFiles } from './batch-files.ts';
import { badAnswer, textOf } from './batch-object.ts';
import { writeFile } from './batch-upload.ts';
import type { BatchWire } from './batch-wire.ts';

/** Endpoints of a server's own, below its base URL, that its batches may be for. */
export type BatchPath = '/chat/completions' | '/responses' | '/embeddings';

/** Options of {@link fileBatches}. */
export interface FileBatchOptions {
  readonly wire: BatchWire;
  /** Endpoints that batches may be for. */
  readonly paths: ReadonlySet<BatchPath>;
  /** What batches cost of the price of single requests, where that is known. */
  readonly priceFactor: number | undefined;
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
export function fileBatches(
  api: ProviderApi,
  codecs: BatchCodecs,
  { wire, paths, priceFactor }: FileBatchOptions,
): NativeBatches {
  const calls = new BatchApi(api);
  const files = new BatchFiles(calls);

  const pathOf = (call: NativeJobCall): string => `${wire.path}/${jobId(call)}`;

  function retrieve(call: NativeJobCall): Promise<NativeReply<JsonObject>> {
    return calls.json(call, { method: 'GET', path: pathOf(call) });
  }

  /** What is remembered of a batch; undefined for one without an id. */
  function jobOf(batch: JsonObject, input?: string): NativeJob | undefined {
    const id = textOf(batch['id']);
    if (id === undefined) return undefined;
    return { job: { id, file: textOf(wire.inputOf(batch)) ?? input ?? null }, expiresAt: wire.expiryOf(batch) };
  }

  return {
    accepts(operation) {
      if (operation === '/v1/embeddings') return codecs.embeddings !== undefined && paths.has('/embeddings');
      return paths.has('/chat/completions');
    },
    priceFactor,
    async find(lookup) {
      const oldest = lookup.createdAt / 1_000 - CLOCK_SKEW_SECONDS;
      for (let page = 0, after: string | undefined; page < MAX_PAGES; page += 1) {
        const path = `${wire.path}?${wire.listQuery(page, after)}`;
        const reply = await calls.json(lookup, { method: 'GET', path });
        if (!reply.ok) return reply;
        const { data } = reply.value;
        const listed = (Array.isArray(data) ? data : []).filter(isJsonObject);
        const twin = twinIn(listed, lookup.key);
        if (twin !== undefined) return { ok: true, value: jobOf(twin) };
        const last = listed.at(-1);
        after = textOf(last?.['id']);
        if (!wire.hasMore(reply.value, listed) || Number(last?.['created_at']) < oldest) break;
      }
      return { ok: true, value: undefined };
    },
    async submit(submission) {
      const written = await writeFile(submission, codecs, paths, wire);
      if (!written.ok) return written;
      const { url, model, lines } = written.value;
      const input = await files.upload(submission, lines);
      if (!input.ok) return input;
      const file = input.value;
      const body = JSON.stringify(wire.creationOf({ file, url, model, metadata: { [KEY_FIELD]: submission.key } }));
      const created = await calls.json(submission, { method: 'POST', path: wire.path, body });
      // The file of a batch that was refused is of no use to anybody. When nobody knows, it stays.
      if (!created.ok && created.failure.status !== undefined) await files.delete(submission, file);
      if (!created.ok) return created;
      const job = jobOf(created.value, file);
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

/** The batch that was made under a key. */
function twinIn(listed: readonly JsonObject[], key: string): JsonObject | undefined {
  const twins = listed.filter(({ metadata }) => isJsonObject(metadata) && metadata[KEY_FIELD] === key);
  return twins.find(({ status }) => typeof status === 'string' && !OVER.test(status)) ?? twins[0];
}
