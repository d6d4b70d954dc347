import type { ContentPart } from '../../protocol/content-part.ts';
import { parseDataUrl, toBase64, typeOfName } from '../../platform/data-url.ts';
import { EncodeError } from '../codec.ts';
import type { AiSdkModel, PromptFileData, SpecVersion } from './model.ts';
import { type DownloadFile, problemOfDownload } from '../guarded-download.ts';
import type { Message } from '../../protocol/message.ts';
import type { AiSdkFamily } from './families.ts';

/** A file of a prompt, however it came. */
export type Media =
  | { readonly kind: 'data'; readonly base64: string; readonly mediaType: string; readonly filename?: string }
  | { readonly kind: 'url'; readonly url: string; readonly mediaType: string; readonly filename?: string }
  | { readonly kind: 'reference'; readonly id: string; readonly mediaType: string; readonly filename?: string };

/** A part that is no text. */
export type MediaPart = Exclude<ContentPart, { readonly type: 'text' }>;

/**
 * Reads the file behind a content part. The media type of an address is told by its ending, and where that says
 * nothing by the sort of part: `image`, which version 4 understands, and which is `image/*` to the others.
 *
 * @param where - Path of the part, for errors.
 */
export function readMedia(part: MediaPart, where: string): Media {
  switch (part.type) {
    case 'image_url':
      return fromAddress(part.image_url.url, 'image', `${where}.image_url.url`);
    case 'video_url':
    case 'input_video':
      return fromAddress(part.video_url.url, 'video', `${where}.video_url.url`);
    case 'input_audio': {
      const { data, format } = part.input_audio;
      const subtype = AUDIO_SUBTYPES[format.toLowerCase()] ?? format.toLowerCase();
      return { kind: 'data', base64: data, mediaType: `audio/${subtype}` };
    }
    case 'file': {
      const { filename, file_data: address, file_id: id } = part.file;
      const named = filename === undefined ? {} : { filename };
      const guessed = typeOfName(filename) ?? 'application';
      if (address !== undefined) return { ...fromAddress(address, guessed, `${where}.file.file_data`), ...named };
      return { kind: 'reference', id: id ?? '', mediaType: guessed, ...named };
    }
  }
}

/** Media of an answer or of history, from an address: a data URL or an http(s) address. */
export function fromAddress(address: string, fallbackType: string, where: string): Media {
  if (!/^data:/i.test(address)) {
    if (!URL.canParse(address)) throw new EncodeError(`${where} is neither a data URL nor an http(s) address`);
    return { kind: 'url', url: address, mediaType: typeOfName(new URL(address).pathname) ?? fallbackType };
  }
  const parsed = parseDataUrl(address);
  if (parsed === undefined) throw new EncodeError(`${where} is not a complete data URL`);
  const base64 = parsed.isBase64 ? parsed.data : toBase64(new TextEncoder().encode(parsed.data));
  const named = /^data:[^;,]/i.test(address);
  return { kind: 'data', mediaType: typeOfData(named ? parsed.mediaType : fallbackType, base64), base64 };
}

/** The whole media type of data of which only the sort is known, from how it begins. */
function typeOfData(mediaType: string, base64: string): string {
  if (mediaType.includes('/')) return mediaType;
  const known = BEGINNINGS.find(([type, start]) => type.startsWith(mediaType) && base64.startsWith(start));
  return known?.[0] ?? USUAL[mediaType] ?? 'application/octet-stream';
}

/** How files of a type begin, in base64. */
const BEGINNINGS = [
  ['image/png', 'iVBORw0KGgo'],
  ['image/jpeg', '/9j/'],
  ['image/gif', 'R0lGOD'],
  ['image/webp', 'UklGR'],
  ['application/pdf', 'JVBERi0'],
] as const;

const USUAL: Readonly<Record<string, string>> = { image: 'image/jpeg', video: 'video/mp4', application: 'text/plain' };

/** Writes the data of a file as a version of the interface has it. Handing one version the form of another fails deep inside. */
export function fileData(media: Media, version: SpecVersion, key: string): PromptFileData {
  switch (media.kind) {
    case 'data':
      return version === 'v4' ? { type: 'data', data: media.base64 } : media.base64;
    case 'url': {
      const url = new URL(media.url);
      return version === 'v4' ? { type: 'url', url } : url;
    }
    case 'reference':
      if (version !== 'v4') {
        throw new EncodeError('file.file_id cannot be passed to this model: send the file itself as file_data');
      }
      return { type: 'reference', reference: { [key]: media.id } };
  }
}

/** Media type as a version has it: only version 4 takes the first half alone. */
export function mediaTypeFor({ mediaType }: Media, version: SpecVersion): string {
  if (mediaType.includes('/')) return mediaType;
  if (mediaType === 'application') return 'application/pdf';
  return version === 'v4' ? mediaType : `${mediaType}/*`;
}

const AUDIO_SUBTYPES: Readonly<Record<string, string>> = { mp3: 'mpeg', m4a: 'mp4', pcm16: 'pcm', pcm24: 'pcm' };

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
    const stated = file.mediaType?.split(';')[0]?.trim().toLowerCase() ?? '';
    // Stores of files often say no more than that it is bytes.
    const type = stated === '' || stated === 'application/octet-stream' ? mediaType : stated;
    const named = filename === undefined ? {} : { filename };
    return { kind: 'data', base64, mediaType: typeOfData(type, base64), ...named };
  } catch (error) {
    if (signal.aborted) throw error;
    throw new EncodeError(
      `${where} cannot be used with this model. ${problemOfDownload(error)}; send a data URL instead`,
    );
  }
}
