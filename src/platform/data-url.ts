/** Reads and writes data URLs and base64. */

/** Bytes that are spelled at once: a call with more arguments would overflow the stack. A multiple of three. */
const SLICE = 24_576;

/** What Node gives, and what is like it. */
interface Base64OfNode {
  readonly Buffer?: {
    from(bytes: ArrayBufferLike, offset: number, length: number): { toString(encoding: 'base64'): string };
  };
}

/** Writes bytes as base64, in any runtime. */
export function toBase64(bytes: Uint8Array): string {
  const { Buffer: native } = globalThis as Base64OfNode;
  if (native !== undefined) return native.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64');
  let text = '';
  for (let start = 0; start < bytes.length; start += SLICE) {
    const slice = bytes.subarray(start, start + SLICE);
    text += btoa(String.fromCharCode.apply(undefined, slice as unknown as number[]));
  }
  return text;
}

/** What a data URL holds. */
export interface DataUrl {
  /** In lower case, without parameters; `text/plain` where none is named. */
  readonly mediaType: string;
  readonly isBase64: boolean;
  /** Base64 as it was there, or the text with its percent signs resolved. */
  readonly data: string;
}

/** Reads a data URL; undefined for one that is cut off. Large ones are not looked through, only cut. */
export function parseDataUrl(url: string): DataUrl | undefined {
  const comma = url.indexOf(',');
  if (comma < 0 || comma > MAX_HEAD) return undefined;
  const [type = '', ...parameters] = url.slice('data:'.length, comma).split(';');
  const isBase64 = parameters.some((parameter) => parameter.trim().toLowerCase() === 'base64');
  const data = url.slice(comma + 1);
  const mediaType = type.trim().toLowerCase() || 'text/plain';
  if (isBase64) return { mediaType, isBase64, data };
  const text = percentDecoded(data);
  return text === undefined ? undefined : { mediaType, isBase64, data: text };
}

/** Longest part before the data. */
const MAX_HEAD = 1_024;

/** A text with its percent signs resolved; undefined when one of them is none. */
export function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** The text behind base64; undefined when it is not base64, or not UTF-8. */
export function decodeBase64Text(base64: string): string | undefined {
  try {
    const binary = atob(base64);
    const bytes = new Uint8Array(binary.length);
    for (let index = 0; index < binary.length; index += 1) bytes[index] = binary.charCodeAt(index);
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Media types by the ending of a file's name, as they are registered. */
const BY_ENDING: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  bmp: 'image/bmp',
  heic: 'image/heic',
  heif: 'image/heif',
  mp4: 'video/mp4',
  mpeg: 'video/mpeg',
  mpg: 'video/mpeg',
  mov: 'video/quicktime',
  avi: 'video/x-msvideo',
  flv: 'video/x-flv',
  webm: 'video/webm',
  wmv: 'video/x-ms-wmv',
  '3gp': 'video/3gpp',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  ogg: 'audio/ogg',
  flac: 'audio/flac',
  aac: 'audio/aac',
  aiff: 'audio/aiff',
  m4a: 'audio/mp4',
  pdf: 'application/pdf',
  json: 'application/json',
  html: 'text/html',
  htm: 'text/html',
  css: 'text/css',
  csv: 'text/csv',
  xml: 'text/xml',
  rtf: 'text/rtf',
  md: 'text/markdown',
  txt: 'text/plain',
};

/** The media type of an address or a file's name, or undefined when its ending says nothing. */
export function typeOfName(name: string | undefined): string | undefined {
  const path = (name ?? '').split(/[?#]/, 1)[0] ?? '';
  const ending = /\.([a-z0-9]{2,4})$/i.exec(path)?.[1]?.toLowerCase() ?? '';
  return Object.hasOwn(BY_ENDING, ending) ? BY_ENDING[ending] : undefined;
}
