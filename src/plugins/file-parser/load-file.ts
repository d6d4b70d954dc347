/** Loads the bytes of a file part from its data URL or address. */
import { OutboundError } from '../../net/outbound-error.ts';
import { parseDataUrl, percentDecoded } from '../../platform/data-url.ts';
import type { FileStore } from '../../contracts/plugin-services.ts';
import { fileProblem, type FoundFile } from './file-parts.ts';
import type { Outbound } from '../../net/outbound-request.ts';

/** A file in hand. */
export interface LoadedFile {
  readonly data: Uint8Array;
  readonly name: string | undefined;
  /** In lower case, without parameters, as its source says; it may be wrong. */
  readonly mediaType: string | undefined;
}

/** Where files come from. */
export interface FileSources {
  readonly outbound: () => Outbound;
  readonly store: FileStore | undefined;
  /** Bytes of one file. */
  readonly maxBytes: number;
}

/** Milliseconds that fetching a file may take. */
const FETCH_TIMEOUT_MS = 20_000;
const MAX_REDIRECTS = 3;

/**
 * Gets the bytes of a file part: from its data URL, from its address through the guarded entry point, or from the store
 * of uploads.
 *
 * @throws {@link RouterError} 400 or 413, with the path of what is wrong.
 */
export async function loadFile(
  { part: { file }, path }: FoundFile,
  { outbound, store, maxBytes }: FileSources,
  asking: { readonly account: string; readonly signal: AbortSignal },
): Promise<LoadedFile> {
  const { file_data: address, file_id: id, filename } = file;
  const tooLarge = (where: string): Error => fileProblem(where, `is larger than ${maxBytes / 1_000_000} MB`, 413);
  if (address === undefined) {
    const where = `${path}.file_id`;
    if (store === undefined) {
      throw fileProblem(where, 'names an upload, but this router keeps none; send the file in file_data');
    }
    const found = await store.find({ id: id ?? '', ...asking });
    if (found === undefined) throw fileProblem(where, 'must be the id of an uploaded file');
    if (found.data.byteLength > maxBytes) throw tooLarge(where);
    return { data: found.data, name: filename ?? found.name, mediaType: typeOf(found.mediaType) };
  }
  const where = `${path}.file_data`;
  if (!/^data:/i.test(address))
    return fetched({ url: address, filename, where }, outbound(), asking.signal, { maxBytes, tooLarge });
  const parsed = parseDataUrl(address);
  if (parsed === undefined) throw fileProblem(where, 'must be a whole data URL');
  if (parsed.data.length * (parsed.isBase64 ? 0.75 : 1) > maxBytes + 3) throw tooLarge(where);
  const data = parsed.isBase64 ? fromBase64(parsed.data) : new TextEncoder().encode(parsed.data);
  if (data === undefined) throw fileProblem(where, 'must hold base64');
  if (data.byteLength > maxBytes) throw tooLarge(where);
  return { data, name: filename, mediaType: parsed.mediaType };
}

/** A file of a request behind an address. */
interface AddressedFile {
  readonly url: string;
  readonly filename: string | undefined;
  /** Where in the request the address is. */
  readonly where: string;
}

async function fetched(
  { url, filename, where }: AddressedFile,
  outbound: Outbound,
  signal: AbortSignal,
  { maxBytes, tooLarge }: { readonly maxBytes: number; readonly tooLarge: (where: string) => Error },
): Promise<LoadedFile> {
  try {
    const response = await outbound.fetch({
      url,
      signal,
      maxBytes,
      timeoutMs: FETCH_TIMEOUT_MS,
      maxRedirects: MAX_REDIRECTS,
    });
    if (response.status !== 200) throw fileProblem(where, `leads to an answer of ${response.status}, not to a file`);
    if (response.truncated) throw tooLarge(where);
    const name = filename ?? nameIn(response.url);
    return { data: response.body, name, mediaType: typeOf(response.header('content-type')) };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof OutboundError) throw fileProblem(where, `cannot be fetched: ${error.message}`);
    throw error;
  }
}

function typeOf(header: string | undefined): string | undefined {
  return header?.split(';')[0]?.trim().toLowerCase();
}

/** The last part of an address, if it looks like the name of a file. */
function nameIn({ pathname }: URL): string | undefined {
  const last = pathname.slice(pathname.lastIndexOf('/') + 1);
  return /^[\w%.~-]{1,200}\.\w{1,8}$/.test(last) ? (percentDecoded(last) ?? last) : undefined;
}

function fromBase64(text: string): Uint8Array | undefined {
  try {
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let index = 0; index < binary.length; index += 1) bytes[index] = binary.charCodeAt(index);
    return bytes;
  } catch {
    return undefined;
  }
}
