import type { Message } from '../../protocol/message.ts';
import { toBase64 } from '../../platform/base64.ts';
import { type DownloadFile, type Media, mediaTypeFor, problemOfDownload, readMedia, typeOfData } from './media.ts';
import type { AiSdkFamily } from './families.ts';
import { EncodeError } from '../codec.ts';
import type { AiSdkModel } from './model.ts';

/** A file of a prompt that is named by its address. */
interface Addressed {
  readonly media: Extract<Media, { readonly kind: 'url' }>;
  readonly where: string;
}

/**
 * Fetches the files that a model would not fetch, by address.
 *
 * @throws {@link EncodeError} when there is nobody to fetch them, or it failed.
 */
export async function fetchFiles(
  messages: readonly Message[],
  model: AiSdkModel,
  family: AiSdkFamily,
  { download, signal }: { readonly download: DownloadFile | undefined; readonly signal: AbortSignal },
): Promise<ReadonlyMap<string, Media>> {
  const addressed = messages.flatMap(addressesOf);
  if (addressed.length === 0) return NONE;
  const supported = await patternsOf(model);
  const fetched = new Map<string, Media>();
  for (const { media, where } of addressed) {
    if (fetched.has(media.url) || isFetchedByModel(media, model, family, supported)) continue;
    if (download === undefined) {
      throw new EncodeError(`${where} is an address, and this model does not fetch any: send the file as a data URL`);
    }
    fetched.set(media.url, await bring(media, where, download, signal));
  }
  return fetched;
}

const NONE: ReadonlyMap<string, Media> = new Map();

function addressesOf(message: Message, index: number): Addressed[] {
  if (message.role !== 'user' && message.role !== 'tool') return [];
  if (typeof message.content === 'string') return [];
  return message.content.flatMap((part, position): Addressed[] => {
    if (part.type === 'text') return [];
    const where = `messages[${index}].content[${position}]`;
    const media = readMedia(part, where);
    return media.kind === 'url'
      ? [{ media, where: `${where}.${part.type === 'file' ? 'file.file_data' : 'image_url.url'}` }]
      : [];
  });
}

type Patterns = readonly (readonly [string, readonly unknown[]])[];

/** The model's own list; a getter that throws and a promise that rejects mean that there is none. */
async function patternsOf(model: AiSdkModel): Promise<Patterns> {
  try {
    const supported: unknown = await model.supportedUrls;
    if (typeof supported !== 'object' || supported === null) return [];
    return Object.entries(supported).map(([type, patterns]) => [
      type.toLowerCase(),
      Array.isArray(patterns) ? (patterns as unknown[]) : [],
    ]);
  } catch {
    return [];
  }
}

function isFetchedByModel(
  media: Addressed['media'],
  { specificationVersion: version }: AiSdkModel,
  family: AiSdkFamily,
  supported: Patterns,
): boolean {
  const type = mediaTypeFor(media, version).toLowerCase();
  if (family.passesImageUrls === true && type.startsWith('image')) return true;
  const sort = type.split('/')[0] ?? type;
  return supported.some(
    ([pattern, addresses]) =>
      (pattern === '*' || pattern === '*/*' || pattern === type || pattern === `${sort}/*`) &&
      addresses.some((address) => matches(address, media.url)),
  );
}

/** Patterns may belong to another realm, and may remember where they last matched. */
function matches(pattern: unknown, url: string): boolean {
  return typeof pattern === 'object' && pattern !== null && new RegExp(pattern as RegExp).test(url);
}

async function bring(
  { url, mediaType, filename }: Addressed['media'],
  where: string,
  download: DownloadFile,
  signal: AbortSignal,
): Promise<Media> {
  try {
    const file = await download(new URL(url), signal);
    const base64 = toBase64(file.data);
    const told = file.mediaType?.split(';')[0]?.trim().toLowerCase() ?? '';
    // Stores of files often say no more than that it is bytes.
    const type = told === '' || told === 'application/octet-stream' ? mediaType : told;
    const named = filename === undefined ? {} : { filename };
    return { kind: 'data', base64, mediaType: typeOfData(type, base64), ...named };
  } catch (error) {
    if (signal.aborted) throw error;
    throw new EncodeError(`${where} is no use to this model. ${problemOfDownload(error)}; send a data URL instead`);
  }
}
