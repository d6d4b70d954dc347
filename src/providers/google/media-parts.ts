/** Writes images, audio, video and files for Gemini. */
import type { AudioPart, ContentPart, FilePart } from '../../protocol/content-part.ts';
import { EncodeError } from '../codec.ts';
import type { Accepts } from '../../core/accepts.ts';
import type { GoogleSurface, InlineData, Part } from './wire.ts';
import { parseDataUrl, toBase64, typeOfName as registeredTypeOfName } from '../../platform/data-url.ts';

/** Where media go, which decides how they may be named. */
export interface MediaContext {
  /** The record of the endpoint. */
  readonly accepts: Accepts;
  readonly surface: GoogleSurface;
}

/** Videos that Google takes by their address. */
const YOUTUBE = /^https:\/\/(?:(?:www\.|m\.)?youtube\.com\/|youtu\.be\/)/;

/**
 * Writes a part that is not text.
 *
 * @param path - Where it is in the caller's body.
 * @throws {@link EncodeError} for an address that this model's family does not fetch.
 */
export function encodeMedia(
  part: Exclude<ContentPart, { readonly type: 'text' }>,
  path: string,
  context: MediaContext,
): Part {
  switch (part.type) {
    case 'image_url':
      return encodeAddress({ url: part.image_url.url, kind: 'image' }, `${path}.image_url.url`, context);
    case 'video_url':
    case 'input_video':
      return encodeAddress({ url: part.video_url.url, kind: 'video' }, `${path}.video_url.url`, context);
    case 'input_audio':
      return encodeAudio(part);
    case 'file':
      return encodeFile(part, path, context);
  }
}

function encodeAudio({ input_audio: { data, format } }: AudioPart): Part {
  return { inlineData: { mimeType: typeOfAudio(format), data } };
}

/** Media behind a data URL or an address. */
interface AddressedMedia {
  readonly url: string;
  readonly kind: MediaKind;
  readonly filename?: string | undefined;
}

/** Writes a data URL as its bytes, and an address that Google fetches as that address. */
export function encodeAddress(
  { url, kind, filename }: AddressedMedia,
  path: string,
  { accepts: { conversation }, surface }: MediaContext,
): Part {
  if (/^data:/i.test(url.slice(0, 5))) {
    const inlineData = readInlineData(url, typeOfName(filename) ?? defaultType(kind));
    if (inlineData === undefined) throw new EncodeError(`${path} is a data URL without a comma before its data`);
    return { inlineData };
  }
  if (isStored(url, surface)) return stored(url, typeOfName(filename));
  if (YOUTUBE.test(url)) return { fileData: { mimeType: 'video/mp4', fileUri: url } };
  if ((conversation.fileAddresses || surface.vertex) && url.startsWith('https:')) {
    const mimeType = typeOfName(url) ?? typeOfName(filename) ?? defaultType(kind);
    return { fileData: { mimeType, fileUri: url } };
  }
  throw new EncodeError(
    `${path} must be a data URL for this model: Google does not fetch ${conversation.fileAddresses ? 'http' : 'web'} addresses for it`,
  );
}

function encodeFile({ file }: FilePart, path: string, context: MediaContext): Part {
  const { filename, file_data: data, file_id: id } = file;
  if (data !== undefined)
    return encodeAddress({ url: data, kind: 'file', filename }, `${path}.file.file_data`, context);
  const { surface } = context;
  if (/^(?:https|gs):\/\//.test(id ?? '')) return stored(id ?? '', typeOfName(filename) ?? typeOfName(id));
  if (surface.vertex) throw new EncodeError(`${path}.file.file_id must be a gs:// address for models on Vertex AI`);
  return stored(`${surface.baseURL}/${id?.startsWith('files/') === true ? '' : 'files/'}${id}`, typeOfName(filename));
}

/** An uploaded file, whose media type Google knows. */
function stored(fileUri: string, mimeType: string | undefined): Part {
  return { fileData: { ...(mimeType === undefined ? {} : { mimeType }), fileUri } };
}

function isStored(url: string, { baseURL }: GoogleSurface): boolean {
  return url.startsWith(FILES) || url.startsWith(`${baseURL}/files/`);
}

const FILES = 'https://generativelanguage.googleapis.com/v1beta/files/';

/**
 * The bytes of a data URL as Google takes them; undefined for one that is truncated.
 *
 * @param fallback - Media type when the URL names none.
 */
function readInlineData(url: string, fallback: string): InlineData | undefined {
  const read = parseDataUrl(url);
  if (read === undefined) return undefined;
  const { isBase64, data } = read;
  const mimeType = /^data:[;,]/i.test(url) ? fallback : spelledAsGoogleDoes(read.mediaType);
  if (!isBase64) return { mimeType, data: toBase64(new TextEncoder().encode(data)) };
  return { mimeType, data: data.includes('%') ? data.replace(/%(?:2B|2F|3D)/gi, decodeURIComponent) : data };
}

/** A common misspelling that Google does not know. */
function spelledAsGoogleDoes(type: string): string {
  return type === 'image/jpg' ? 'image/jpeg' : type;
}

/** Media types that Google has names of its own for. */
const GOOGLE_NAMES: Readonly<Record<string, string>> = {
  'video/quicktime': 'video/mov',
  'video/x-msvideo': 'video/avi',
  'video/x-ms-wmv': 'video/wmv',
  'audio/mpeg': 'audio/mp3',
  'audio/mp4': 'audio/m4a',
  'text/markdown': 'text/md',
};

/** Formats of `input_audio` whose media type has another name; 24,000 samples a second is what they are elsewhere. */
const AUDIO_FORMATS: Readonly<Record<string, string>> = {
  mpeg: 'audio/mp3',
  aif: 'audio/aiff',
  pcm16: 'audio/L16;rate=24000',
  pcm24: 'audio/L24;rate=24000',
};

/** What a part is when nothing says more. */
const DEFAULTS = { image: 'image/jpeg', video: 'video/mp4', file: 'application/pdf' } as const;

/** Kinds of media that a part may announce. */
type MediaKind = keyof typeof DEFAULTS;

/** The media type of an address or a file's name in Google's words, or undefined when its ending says nothing. */
function typeOfName(name: string | undefined): string | undefined {
  const registered = registeredTypeOfName(name);
  return registered === undefined ? undefined : (GOOGLE_NAMES[registered] ?? registered);
}

/** The media type of a part of this kind that says nothing of its own. */
function defaultType(kind: MediaKind): string {
  return DEFAULTS[kind];
}

/** The media type of `input_audio` in a format. */
function typeOfAudio(format: string): string {
  const name = format.toLowerCase();
  if (Object.hasOwn(AUDIO_FORMATS, name)) return AUDIO_FORMATS[name] ?? `audio/${name}`;
  return `audio/${name.replace(/[^\w.+-]/g, '')}`;
}
