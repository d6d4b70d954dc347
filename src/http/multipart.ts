import { invalid } from './body.ts';

/** What a form may hold besides its file. */
export interface FormLimits {
  readonly fields: number;
  /** Bytes of one of them. */
  readonly fieldBytes: number;
}

/** A form with one file, read as far as the beginning of the file. */
export interface Form {
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
