import type { AudioPart, ContentPart, FilePart } from '../../protocol/content-part.ts';
import { EncodeError } from '../encode-error.ts';
import type { ModelFamily } from './families.ts';
import { readInlineData } from './inline-data.ts';
import { type MediaKind, defaultType, typeOfAudio, typeOfName } from './media-types.ts';
import type { GoogleSurface, Part } from './wire.ts';

/** Where media go, which decides how they may be named. */
export interface MediaContext {
  readonly family: ModelFamily;
  readonly surface: GoogleSurface;
}

/** Videos that Google takes by their address. */
const YOUTUBE = /^https:\/\/(?:(?:www\.|m\.)?youtube\.com\/|youtu\.be\/)/;

/**
 * Writes a part that is not text.
 *
 * @param path - Where it stands in the caller's body.
 * @throws {@link EncodeError} for an address that this model's family does not fetch.
 */
export function encodeMedia(
  part: Exclude<ContentPart, { readonly type: 'text' }>,
  path: string,
  context: MediaContext,
): Part {
  switch (part.type) {
    case 'image_url':
      return encodeAddress(part.image_url.url, 'image', `${path}.image_url.url`, context);
    case 'video_url':
    case 'input_video':
      return encodeAddress(part.video_url.url, 'video', `${path}.video_url.url`, context);
    case 'input_audio':
      return encodeAudio(part);
    case 'file':
      return encodeFile(part, path, context);
  }
}

function encodeAudio({ input_audio: { data, format } }: AudioPart): Part {
  return { inlineData: { mimeType: typeOfAudio(format), data } };
}

/** Writes a data URL as its bytes, and an address that Google fetches as that address. */
export function encodeAddress(
  url: string,
  kind: MediaKind,
  path: string,
  { family, surface }: MediaContext,
  filename?: string,
): Part {
  if (/^data:/i.test(url.slice(0, 5))) {
    const inlineData = readInlineData(url, typeOfName(filename) ?? defaultType(kind));
    if (inlineData === undefined) throw new EncodeError(`${path} is a data URL without a comma before its data`);
    return { inlineData };
  }
  if (isStored(url, surface)) return stored(url, typeOfName(filename));
  if (YOUTUBE.test(url)) return { fileData: { mimeType: 'video/mp4', fileUri: url } };
  if ((family.fetchesUrls || surface.vertex) && url.startsWith('https:')) {
    const mimeType = typeOfName(url) ?? typeOfName(filename) ?? defaultType(kind);
    return { fileData: { mimeType, fileUri: url } };
  }
  throw new EncodeError(
    `${path} must be a data URL for this model: Google does not fetch ${family.fetchesUrls ? 'http' : 'web'} addresses for it`,
  );
}

function encodeFile({ file }: FilePart, path: string, context: MediaContext): Part {
  const { filename, file_data: data, file_id: id } = file;
  if (data !== undefined) return encodeAddress(data, 'file', `${path}.file.file_data`, context, filename);
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
