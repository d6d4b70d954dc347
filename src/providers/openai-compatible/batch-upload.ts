import { failure } from '../../core/fallback/failure.ts';
import type { BatchCodecs } from '../batch-codecs.ts';
import { MAX_BATCH_BYTES, writeParts } from '../batch-parts.ts';
import type { NativeReply, NativeSubmission } from '../native-batches.ts';
import { serialize } from '../serialize.ts';
import type { BatchWire } from './batch-wire.ts';

/** What servers of this family take in one file. */
const BOUNDS = { requests: 50_000, bytes: MAX_BATCH_BYTES };
/** Inputs of all requests for embeddings in one file together. */
const MAX_INPUTS = 50_000;

/** A file of requests. */
export interface BatchFile {
  /** The endpoint that all of them are for. */
  readonly url: string;
  /** Model of its requests, as the provider knows it. */
  readonly model: unknown;
  readonly lines: readonly string[];
}

/** Writes the file of a batch: one request on each line, all for the same endpoint. */
export async function writeFile(
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
export function uploadOf(lines: readonly string[]): { readonly body: string; readonly contentType: string } {
  // So random that it stands in no file.
  const boundary = `batch-${crypto.randomUUID()}`;
  const part = `--${boundary}\r\ncontent-disposition: form-data; name=`;
  const body = [
    `${part}"purpose"\r\n\r\nbatch\r\n`,
    `${part}"file"; filename="batch.jsonl"\r\ncontent-type: application/jsonl\r\n\r\n${lines.join('\n')}\n\r\n`,
    `--${boundary}--\r\n`,
  ].join('');
  return { body, contentType: `multipart/form-data; boundary=${boundary}` };
}
