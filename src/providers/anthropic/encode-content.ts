import type { CacheControl, ContentPart, FilePart, RefusalPart } from '../../protocol/content-part.ts';
import { EncodeError } from '../codec.ts';
import type { ContentBlock, RequestDocumentBlock, ImageBlock, RequestTextBlock } from './blocks.ts';
import { type DataUrl, decodeBase64Text, parseDataUrl } from '../../platform/data-url.ts';

/**
 * Writes content as blocks. Blank texts are left out, because the API refuses them.
 *
 * @param path - Where the content is in the request, for errors.
 */
export function encodeContent(content: string | readonly ContentPart[], path: string): ContentBlock[] {
  if (typeof content === 'string') return textBlocks(content);
  return content.flatMap((part, index) => withMark(encodePart(part, `${path}[${index}]`), part));
}

/** The text of content, as blocks: all that an assistant message or a system message may hold. */
export function encodeText(content: string | readonly (ContentPart | RefusalPart)[]): RequestTextBlock[] {
  if (typeof content === 'string') return textBlocks(content);
  return content.flatMap((part) => {
    if (part.type === 'refusal') return textBlocks(part.refusal);
    return part.type === 'text' ? withMark(textBlocks(part.text), part) : [];
  });
}

/** One text as a block, or none when it is blank. */
export function textBlocks(text: string): RequestTextBlock[] {
  return text.trim() === '' ? [] : [{ type: 'text', text }];
}

function encodePart(part: ContentPart, path: string): ContentBlock[] {
  switch (part.type) {
    case 'text':
      return textBlocks(part.text);
    case 'image_url':
      return [encodeImage(part.image_url.url, `${path}.image_url.url`)];
    case 'file':
      return [encodeFile(part, path)];
    case 'input_audio':
      throw new EncodeError(`${path} is audio, which this provider does not take`);
    case 'video_url':
    case 'input_video':
      throw new EncodeError(`${path} is a video, which this provider does not take`);
  }
}

function withMark<Marked extends ContentBlock>(blocks: Marked[], part: ContentPart): Marked[] {
  const mark = markOf(part);
  const last = blocks.at(-1);
  if (mark !== undefined && last !== undefined) last.cache_control = mark;
  return blocks;
}

/** A mark of either style; one without a lifetime gets the provider's default of five minutes. */
function markOf({ cache_control: mark, prompt_cache_breakpoint: breakpoint }: ContentPart): CacheControl | undefined {
  if (mark != null) return cacheMark(mark);
  return breakpoint == null ? undefined : { type: 'ephemeral' };
}

/** A mark with nothing in it but what the API knows. */
export function cacheMark({ ttl }: CacheControl): CacheControl {
  return ttl === undefined ? { type: 'ephemeral' } : { type: 'ephemeral', ttl };
}

/** Types of images that the API takes, and how the base64 text of each begins. */
const IMAGE_BEGINNINGS: readonly (readonly [mediaType: string, beginning: RegExp])[] = [
  ['image/jpeg', /^\/9j\//],
  ['image/png', /^iVBORw0KGgo/],
  ['image/gif', /^R0lGOD[dl]h/],
  ['image/webp', /^UklGR.{6}XRUJQ/],
];

/** Ids of Anthropic's own files; those of other providers look different. */
const OWN_FILE_ID = /^file_[a-zA-Z0-9_-]+$/;

/**
 * An image by address or by its bytes. The type is told by how the bytes begin: the API refuses an image whose declared
 * type is wrong.
 *
 * @param path - Where the address is in the request, for errors.
 */
function encodeImage(url: string, path: string): ImageBlock {
  if (!isDataUrl(url)) return { type: 'image', source: { type: 'url', url } };
  const data = parse(url, path);
  return { type: 'image', source: { type: 'base64', media_type: imageType(data, path), data: base64Of(data, path) } };
}

/**
 * A file: a PDF or a text as a document, an image as an image, a file of the provider's own by its id.
 *
 * @param path - Where the part is in the request, for errors.
 */
function encodeFile({ file }: FilePart, path: string): RequestDocumentBlock | ImageBlock {
  const { file_data: url, file_id: id, filename } = file;
  const title = filename === undefined || filename === '' ? {} : { title: filename };
  if (url === undefined)
    return { type: 'document', source: { type: 'file', file_id: ownFileId(id ?? '', path) }, ...title };
  const dataPath = `${path}.file.file_data`;
  if (!isDataUrl(url)) {
    if (IMAGE_NAME.test(filename ?? url)) return { type: 'image', source: { type: 'url', url } };
    return { type: 'document', source: { type: 'url', url }, ...title };
  }
  const data = parse(url, dataPath);
  if (data.mediaType.startsWith('image/')) return encodeImage(url, dataPath);
  if (data.mediaType === 'application/pdf' || base64Starts(data, PDF_BEGINNING)) {
    const source = { type: 'base64', media_type: 'application/pdf', data: base64Of(data, dataPath) } as const;
    return { type: 'document', source, ...title };
  }
  if (!isText(data.mediaType)) {
    throw new EncodeError(`${dataPath} is ${shownType(data)}, but this provider takes PDFs, plain texts and images`);
  }
  const text = data.isBase64 ? decodeBase64Text(data.data) : data.data;
  if (text === undefined) throw new EncodeError(`${dataPath} must hold UTF-8 text in base64`);
  return { type: 'document', source: { type: 'text', media_type: 'text/plain', data: text }, ...title };
}

/** True when a part names a file that was uploaded to the provider. */
export function namesUpload({ file }: FilePart): boolean {
  return file.file_data === undefined && file.file_id !== undefined;
}

const PDF_BEGINNING = /^JVBERi0/;
const IMAGE_NAME = /\.(?:jpe?g|png|gif|webp)(?:[?#].*)?$/i;

function isDataUrl(url: string): boolean {
  return url.slice(0, 5).toLowerCase() === 'data:';
}

function parse(url: string, path: string): DataUrl {
  const data = parseDataUrl(url);
  if (data === undefined) throw new EncodeError(`${path} must be an http(s) address or a complete data URL`);
  return data;
}

function imageType(data: DataUrl, path: string): string {
  const seen = IMAGE_BEGINNINGS.find(([, beginning]) => base64Starts(data, beginning))?.[0];
  if (seen !== undefined) return seen;
  const declared = data.mediaType === 'image/jpg' ? 'image/jpeg' : data.mediaType;
  if (IMAGE_BEGINNINGS.some(([type]) => type === declared)) return declared;
  throw new EncodeError(`${path} is ${shownType(data)}, but this provider takes JPEG, PNG, GIF and WebP`);
}

function base64Starts({ isBase64, data }: DataUrl, beginning: RegExp): boolean {
  return isBase64 && beginning.test(data.slice(0, 24));
}

function base64Of({ isBase64, data }: DataUrl, path: string): string {
  if (isBase64 && data !== '') return data;
  throw new EncodeError(`${path} must hold its bytes in base64`);
}

function isText(mediaType: string): boolean {
  return mediaType.startsWith('text/') || TEXTUAL.test(mediaType);
}

const TEXTUAL = /^application\/(?:json|xml|yaml|x-yaml|toml|javascript|x-sh|sql|csv)$|\+(?:json|xml)$/;

function ownFileId(id: string, path: string): string {
  if (OWN_FILE_ID.test(id)) return id;
  throw new EncodeError(`${path}.file.file_id must be the id of a file that was uploaded to this provider`);
}

function shownType({ mediaType }: DataUrl): string {
  return /^[\w.+/-]{1,100}$/.test(mediaType) ? mediaType : 'of an unknown type';
}
