/** Answers the operations on files. */
import type { Account } from '../contracts/account.ts';
import { read } from '../protocol/issues.ts';
import { expiresAfterSchema } from '../protocol/create-batch.ts';
import { faultAt } from '../protocol/fault.ts';
import type { FileList, FileObject } from '../protocol/batch.ts';
import { errorOf } from '../protocol/router-error.ts';
import type { Router } from '../router/router.ts';
import { errorOfFault } from '../runtime/chat/router-errors.ts';
import { errorOfUpload, type UploadLimits, uploadedBytes } from './batch-upload.ts';
import { bodyIsTaken, invalid, tooLarge } from './body.ts';
import type { HttpCall, HttpHeaders, HttpReply } from '../contracts/exchange.ts';
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
 * @throws {@link RouterError} 400, 403, 408, 413 or 415, and 500 where the host has read the form; then nothing is left of it.
 */
export async function uploadFile(
  files: Files,
  call: HttpCall,
  account: Account,
  { limits, fileBytes }: { readonly limits: UploadLimits; readonly fileBytes: number },
): Promise<FileObject> {
  const bytes = fileBytes + FRAME_BYTES;
  if (Number(call.header('content-length') ?? 0) > bytes) throw tooLarge(fileBytes);
  refuseForeignForms(call);
  const boundary = boundaryOf(call.header('content-type'));
  if (call.body.type === 'parsed') throw bodyIsTaken();
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
  } catch (error) {
    throw errorOfUpload(error, fileBytes);
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

/** What a form may hold besides its file. */
interface FormLimits {
  readonly fields: number;
  /** Bytes of one of them. */
  readonly fieldBytes: number;
}

/** A form with one file, read as far as the beginning of the file. */
interface Form {
  readonly filename: string;
  /** Ends when the whole form was read. */
  readonly file: AsyncGenerator<Uint8Array, void, undefined>;
  /** Fields by name: those before the file at once, those behind it once the file was read. */
  readonly fields: ReadonlyMap<string, string>;
}

/** The name of the part that holds the file. */
const FILE = 'file';
const MAX_HEADER_BYTES = 8_192;
const CARRIAGE_RETURN = 0x0d;
const DASHES = '--';
const ENCODER = new TextEncoder();

/**
 * Reads a form (RFC 7578) while it comes. Libraries keep a part in memory until it is complete, and a file may be of any
 * size: so where a part ends is found here, and what its headers say is read by the library.
 *
 * @throws {@link RouterError} 400 for what is no such form, here or while the file is read.
 */
export async function readForm(bytes: AsyncIterable<Uint8Array>, boundary: string, limits: FormLimits): Promise<Form> {
  const { MultipartPart } = await import('@remix-run/multipart-parser');
  const parts = new Parts(bytes, boundary);
  const fields = new Map<string, string>();
  /** Reads fields up to the file, and gives its name; undefined at the end of the form. */
  const nextFile = async (): Promise<string | undefined> => {
    for (let headers = await parts.next(); headers !== undefined; headers = await parts.next()) {
      const { name, filename } = new MultipartPart(headers, []);
      if (name === FILE) return filename ?? FILE;
      if (name === undefined || fields.has(name)) throw invalid('The form must have every field once, with a name');
      if (fields.size >= limits.fields) throw invalid(`The form must have at most ${limits.fields} fields`);
      fields.set(name, await fieldText(parts, name, limits.fieldBytes));
    }
    return undefined;
  };
  async function* content(): AsyncGenerator<Uint8Array, void, undefined> {
    yield* parts.content();
    if ((await nextFile()) !== undefined) throw invalid('The form must have one file');
  }

  const filename = await nextFile();
  if (filename === undefined) throw invalid('The form must have a part named "file" with the content of the file');
  return { filename, file: content(), fields };
}

async function fieldText(parts: Parts, name: string, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let length = 0;
  for await (const piece of parts.content()) {
    length += piece.byteLength;
    if (length > maxBytes) throw invalid(`The field ${JSON.stringify(name.slice(0, 64))} of the form is too long`);
    text += decoder.decode(piece, { stream: true });
  }
  return text + decoder.decode();
}

/** The parts of a form, one after the other. */
class Parts {
  readonly #source: AsyncIterator<Uint8Array>;
  readonly #delimiter: Uint8Array;
  /** What has come and was not used. The first delimiter has no line end before it, so one is put there. */
  #buffer: Uint8Array = ENCODER.encode('\r\n');
  #begun = false;

  constructor(bytes: AsyncIterable<Uint8Array>, boundary: string) {
    this.#source = bytes[Symbol.asyncIterator]();
    this.#delimiter = ENCODER.encode(`\r\n${DASHES}${boundary}`);
  }

  /** The headers of the next part; undefined at the end. What is left of the part before is passed over. */
  async next(): Promise<Uint8Array | undefined> {
    if (!this.#begun) {
      this.#begun = true;
      for await (const _ of this.content());
    }
    while (this.#buffer.byteLength < 2) await this.#more();
    const text = (): string => new TextDecoder('latin1').decode(this.#buffer.subarray(0, MAX_HEADER_BYTES));
    if (text().startsWith(DASHES)) return undefined;
    for (;;) {
      const end = text().indexOf('\r\n\r\n');
      if (end >= 0) {
        const headers = this.#buffer.subarray(text().indexOf('\r\n') + 2, Math.max(end, 2));
        this.#buffer = this.#buffer.subarray(end + 4);
        return headers;
      }
      if (this.#buffer.byteLength >= MAX_HEADER_BYTES) throw invalid('A part of the form has too long headers');
      await this.#more();
    }
  }

  /** The content of a part, up to the next delimiter. */
  async *content(): AsyncGenerator<Uint8Array, void, undefined> {
    for (;;) {
      const at = this.#find();
      if (at > 0) yield this.#buffer.subarray(0, at);
      const isWhole = this.#buffer.byteLength - at >= this.#delimiter.byteLength;
      this.#buffer = this.#buffer.subarray(isWhole ? at + this.#delimiter.byteLength : at);
      if (isWhole) return;
      await this.#more();
    }
  }

  /** Where the delimiter begins, or as much of it as has come; the end where there is nothing of it. */
  #find(): number {
    const [bytes, delimiter] = [this.#buffer, this.#delimiter];
    for (let at = bytes.indexOf(CARRIAGE_RETURN); at >= 0; at = bytes.indexOf(CARRIAGE_RETURN, at + 1)) {
      const length = Math.min(delimiter.byteLength, bytes.byteLength - at);
      let same = 1;
      while (same < length && bytes[at + same] === delimiter[same]) same += 1;
      if (same === length) return at;
    }
    return bytes.byteLength;
  }

  async #more(): Promise<void> {
    const { done, value } = await this.#source.next();
    if (done === true) throw invalid('The form ended before it was complete');
    if (this.#buffer.byteLength === 0) {
      this.#buffer = value;
      return;
    }
    const joined = new Uint8Array(this.#buffer.byteLength + value.byteLength);
    joined.set(this.#buffer);
    joined.set(value, this.#buffer.byteLength);
    this.#buffer = joined;
  }
}
