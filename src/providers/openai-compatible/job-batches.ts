import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { BatchApi, jobId } from '../batch-api.ts';
import { type BatchCodecs, batchedReader } from '../batch-codecs.ts';
import type { NativeBatches, NativeJobCall, NativeReply } from '../native-batches.ts';
import type { ProviderApi } from '../provider-api.ts';
import { BatchFiles } from './batch-files.ts';
import { badAnswer } from './batch-object.ts';
import { writeFile } from './batch-upload.ts';
import { jobOf, stateOfJob } from './job-object.ts';
import { type BatchPath, KEY_FIELD, twinIn } from './native-batches.ts';

const PATH = '/batch/jobs';
/** Jobs of the provider that are looked at together, for one that is there already. */
const PAGE = 100;
/** Pages of them that are looked at. */
const MAX_PAGES = 50;
/** Seconds that the provider's clock may be behind ours. */
const CLOCK_SKEW_SECONDS = 3_600;
/** Fields of a job with the ids of its files of results. */
const RESULT_FILES = ['output_file', 'error_file'];

/**
 * The batch jobs of Mistral: files as those of OpenAI, but the model is the job's and no field of the requests
 * (upstreams 5.4).
 *
 * @param paths - Endpoints that batches may be for.
 * @param priceFactor - What batches cost of the price of single requests, where that is known.
 */
export function jobBatches(
  api: ProviderApi,
  codecs: BatchCodecs,
  paths: ReadonlySet<BatchPath>,
  priceFactor: number | undefined,
): NativeBatches {
  const calls = new BatchApi(api);
  const files = new BatchFiles(calls);

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
      for (let page = 0; page < MAX_PAGES; page += 1) {
        const reply = await calls.json(lookup, { method: 'GET', path: `${PATH}?page=${page}&page_size=${PAGE}` });
        if (!reply.ok) return reply;
        const { data } = reply.value;
        const listed = (Array.isArray(data) ? data : []).filter(isJsonObject);
        const twin = twinIn(listed, lookup.key);
        if (twin !== undefined) return { ok: true, value: jobOf(twin) };
        if (listed.length < PAGE || Number(listed.at(-1)?.['created_at']) < oldest) break;
      }
      return { ok: true, value: undefined };
    },
    async submit(submission) {
      const models = new Set<unknown>();
      const file = await writeFile(submission, codecs, paths, (id, _url, { model, ...body }) => {
        models.add(model);
        return { custom_id: id, body };
      });
      if (!file.ok) return file;
      const input = await files.upload(submission, file.value.lines);
      if (!input.ok) return input;
      const body = JSON.stringify({
        input_files: [input.value],
        endpoint: file.value.url,
        model: [...models][0],
        metadata: { [KEY_FIELD]: submission.key },
        timeout_hours: WINDOW_HOURS,
      });
      const created = await calls.json(submission, { method: 'POST', path: PATH, body });
      // The file of a batch that was refused is of no use to anybody. When nobody knows, it stays.
      if (!created.ok && created.failure.status !== undefined) await files.delete(submission, input.value);
      if (!created.ok) return created;
      const job = jobOf({ input_files: [input.value], ...created.value });
      return job === undefined ? badAnswer('a batch without an id') : { ok: true, value: job };
    },
    async poll(call) {
      const reply = await retrieve(call);
      return reply.ok ? { ok: true, value: stateOfJob(reply.value, (text) => calls.present(call, text)) } : reply;
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

/** Hours that the provider gets. */
const WINDOW_HOURS = 24;

function pathOf(call: NativeJobCall): string {
  return `${PATH}/${jobId(call)}`;
}
