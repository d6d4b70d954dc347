import type { NormalizedRequest } from '../contracts/request.ts';
import type { FilePart } from '../protocol/content-part.ts';
import type { Message } from '../protocol/message.ts';
import { toBase64, typeOfName } from '../platform/data-url.ts';
import { EncodeError } from './codec.ts';
import { type DownloadFile, type GuardedDownload, guardedDownload, problemOfDownload } from './guarded-download.ts';

/** Fetches the files that requests name by their addresses, for servers that take files as data only. */
export class FileAddresses {
  readonly #guarded: GuardedDownload | undefined;
  readonly #download: DownloadFile;

  /** @param download - Takes the place of the guarded fetcher, in tests. */
  constructor(download?: DownloadFile) {
    this.#guarded = download === undefined ? guardedDownload() : undefined;
    this.#download = download ?? (this.#guarded?.download as DownloadFile);
  }

  /**
   * A request whose files are all data. The same request where they are already.
   *
   * @throws {@link EncodeError} when one cannot be fetched, so that another endpoint may be called.
   */
  async withData(request: NormalizedRequest, signal: AbortSignal): Promise<NormalizedRequest> {
    const fetched = new Map<string, string>();
    for (const [index, { content }] of request.messages.entries()) {
      if (!Array.isArray(content)) continue;
      for (const [position, part] of content.entries()) {
        const address = addressOf(part as { readonly type: string });
        if (address === undefined || fetched.has(address)) continue;
        fetched.set(address, await this.#fetch(address, `messages[${index}].content[${position}]`, signal));
      }
    }
    if (fetched.size === 0) return request;
    return { ...request, messages: request.messages.map((message) => withFetched(message, fetched)) };
  }

  /** Frees connections. */
  async close(): Promise<void> {
    await this.#guarded?.close();
  }

  async #fetch(address: string, where: string, signal: AbortSignal): Promise<string> {
    try {
      const { data, mediaType: stated = '' } = await this.#download(new URL(address), signal);
      const type = stated.split(';')[0]?.trim().toLowerCase() ?? '';
      // Stores of files often say no more than that it is bytes.
      const isStated = type !== '' && type !== 'application/octet-stream';
      const mediaType = isStated ? type : (typeOfName(new URL(address).pathname) ?? 'application/pdf');
      return `data:${mediaType};base64,${toBase64(data)}`;
    } catch (error) {
      if (signal.aborted) throw error;
      const problem = problemOfDownload(error);
      throw new EncodeError(
        `${where}.file.file_data cannot be used with this provider. ${problem}; send a data URL instead`,
      );
    }
  }
}

function addressOf(part: { readonly type: string }): string | undefined {
  if (part.type !== 'file') return undefined;
  const { file_data: data } = (part as FilePart).file;
  return data !== undefined && /^https?:/i.test(data.slice(0, 6)) ? data : undefined;
}

function withFetched(message: Message, fetched: ReadonlyMap<string, string>): Message {
  const { content } = message;
  if (typeof content === 'string' || !content?.some((part) => addressOf(part) !== undefined)) return message;
  const parts = content.map((part) => {
    const address = addressOf(part);
    if (address === undefined || part.type !== 'file') return part;
    const name = part.file.filename ?? /\/([^/?#]+\.\w{1,8})(?:[?#]|$)/.exec(address)?.[1];
    const named = name === undefined ? {} : { filename: name };
    return { ...part, file: { ...part.file, ...named, file_data: fetched.get(address) ?? address } };
  });
  return { ...message, content: parts } as Message;
}
