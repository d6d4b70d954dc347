import type { Account } from '../core/account.ts';
import { read } from '../protocol/accept/schema.ts';
import { expiresAfterSchema } from '../protocol/create-batch.ts';
import { faultAt } from '../protocol/fault.ts';
import type { FileList, FileObject } from '../protocol/file.ts';
import { errorOf } from '../protocol/router-error.ts';
import type { Router } from '../router/router.ts';
import { errorOfFault } from '../runtime/chat/router-errors.ts';
import { type UploadLimits, uploadedBytes } from './batch-upload.ts';
import { invalid, tooLarge } from './body.ts';
import type { HttpCall, HttpHeaders, HttpReply } from './exchange.ts';
import { type Form, type FormLimits, readForm } from './multipart.ts';
import { type Pieces, replyInPieces } from './piece-frames.ts';

type Files = Router['batches']['files'];

/** Fields of a form are short; one that is not is none of ours. */
const FORM: FormLimits = { fields: 8, fieldBytes: 4_096 };
/** Bytes of a form around its file: names of fields, and what separates them. */
const FRAME_BYTES = 65_536;
const MAX_FILENAME = 512;

/**
 * Stores the file of a form (`POST /files`). It goes to the store while it comes; fields may come before it or behind
 * it, so they are judged at the end.
 *
 * @throws {@link RouterError} 400, 403, 408, 413 or 415; then nothing is left of it.
 */
export async function uploadFile(
  files: Files,
  call: HttpCall,
  account: Account,
  limits: UploadLimits,
  fileBytes: number,
): Promise<FileObject> {
  const bytes = fileBytes + FRAME_BYTES;
  if (Number(call.header('content-length') ?? 0) > bytes) throw tooLarge(fileBytes);
  refuseForeignForms(call);
  const boundary = boundaryOf(call.header('content-type'));
  if (call.body.type === 'parsed') throw errorOf(415, 'The host has read the form; it has to leave it to the router');
  const source = uploadedBytes(call, call.body, { ...limits, batches: { ...limits.batches, bytes } });
  try {
    const form = await readForm(source, boundary, FORM);
    const file = {
      filename: form.filename.slice(0, MAX_FILENAME),
      content: judged(form),
      get expiresAfterSeconds() {
        return expiryOf(form.fields);
      },
    };
    return await files.create(file, { account });
  } finally {
    await source.return(undefined);
  }
}

/**
 * Pages of other sites can send forms with the cookies of their reader, and without asking first. A request with a key
 * had to ask.
 */
function refuseForeignForms({ header }: HttpCall): void {
  if (header('origin') === undefined || header('authorization') !== undefined) return;
  if (header('sec-fetch-site') === 'same-origin') return;
  throw errorOf(403, 'Forms from pages of other sites need the header Authorization');
}

function boundaryOf(contentType: string | undefined): string {
  const found = /^multipart\/form-data\s*;(?:.*;)?\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i;
  const [, quoted, plain] = found.exec(contentType ?? '') ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) throw errorOf(415, 'The content type must be multipart/form-data with a boundary');
  return boundary;
}

/** The content of the file, and at its end what the fields say. */
async function* judged({ file, fields }: Form): AsyncGenerator<Uint8Array, void, undefined> {
  yield* file;
  if (fields.get('purpose') !== 'batch') {
    throw errorOfFault(faultAt('purpose', 'must be "batch": files are taken for batches only'));
  }
  const unknown = [...fields.keys()].find((name) => !KNOWN.has(name));
  if (unknown !== undefined) {
    throw errorOfFault(faultAt('', `has a field that is not known here; known are file, ${[...KNOWN].join(', ')}`));
  }
  expiryOf(fields);
}

const KNOWN: ReadonlySet<string> = new Set(['purpose', 'expires_after[anchor]', 'expires_after[seconds]']);

function expiryOf(fields: Form['fields']): number | undefined {
  const anchor = fields.get('expires_after[anchor]');
  const seconds = fields.get('expires_after[seconds]');
  if (anchor === undefined && seconds === undefined) return undefined;
  const parsed = read(expiresAfterSchema, { anchor, seconds: Number(seconds) });
  if (parsed.ok) return parsed.value.seconds;
  throw errorOfFault(faultAt(`expires_after.${parsed.path}`, parsed.problem));
}

/** Reads the query of `GET /files`. */
export async function listFiles(files: Files, call: HttpCall, account: Account): Promise<FileList> {
  const query = new URLSearchParams(call.query);
  const limit = query.get('limit');
  if (limit !== null && !/^\d{1,6}$/.test(limit)) throw invalid('limit must be an integer from 1 to 10,000');
  const purpose = query.get('purpose');
  if (purpose !== null && purpose !== 'batch') {
    throw invalid('purpose must be "batch": the files that batches end in are named by their batches');
  }
  if ((query.get('order') ?? 'desc') !== 'desc') throw invalid('order must be "desc": the newest files come first');
  const page = { limit: limit === null ? undefined : Number(limit), after: query.get('after') ?? undefined };
  return files.list({ account, ...page });
}

/** The content of a file. One that is not there is a 404. */
export function contentReply(
  content: AsyncIterable<Uint8Array>,
  headers: HttpHeaders,
  stallMs: number,
): Promise<HttpReply> {
  return replyInPieces(textsOf(content), { ...headers, 'content-type': 'application/octet-stream' }, stallMs);
}

/** Content in UTF-8 as texts, marks and all, so that the bytes stay the same. */
async function* textsOf(content: AsyncIterable<Uint8Array>): Pieces {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  for await (const bytes of content) yield decoder.decode(bytes, { stream: true });
  return decoder.decode();
}
