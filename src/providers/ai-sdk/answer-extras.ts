import type { Annotation } from '../../protocol/chat-result.ts';
import type { Delta } from '../../protocol/chunk.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { toBase64 } from '../base64.ts';

/** A source of the answer: an address that it cites. Documents of the prompt have no form here. */
export function sourceDelta({ sourceType, url, title }: JsonObject): Delta | undefined {
  return sourceType === 'url' && typeof url === 'string' ? { annotations: [citation(url, title)] } : undefined;
}

/**
 * The citations of a text.
 *
 * @param offset - Characters of the answer before that text: positions count from its beginning.
 */
export function citationsDelta(citations: unknown, offset: number): Delta | undefined {
  const annotations = (Array.isArray(citations) ? citations : []).flatMap((value): Annotation[] => {
    if (!isJsonObject(value) || !isJsonObject(value['source'])) return [];
    const { source, startIndex, endIndex, citedText } = value;
    const { sourceType, url, title } = source;
    if (sourceType !== 'url' || typeof url !== 'string') return [];
    const place =
      typeof startIndex === 'number' && typeof endIndex === 'number'
        ? { start_index: offset + startIndex, end_index: offset + endIndex }
        : {};
    return [citation(url, title, { ...(typeof citedText === 'string' ? { content: citedText } : {}), ...place })];
  });
  return annotations.length === 0 ? undefined : { annotations };
}

/** A file that the model made: images and sounds; others have no form here. */
export function fileDelta({ mediaType, data }: JsonObject): Delta | undefined {
  if (typeof mediaType !== 'string') return undefined;
  if (mediaType.startsWith('image/')) {
    const url = addressOf(data, mediaType);
    return url === undefined ? undefined : { images: [{ type: 'image_url', image_url: { url } }] };
  }
  const sound = mediaType.startsWith('audio/') ? base64Of(data) : undefined;
  return sound === undefined ? undefined : { audio: { data: sound } };
}

function citation(url: string, title: unknown, more: object = {}): Annotation {
  const named = typeof title === 'string' && title !== '' ? { title } : {};
  return { type: 'url_citation', url_citation: { url, ...named, ...more } };
}

function addressOf(data: unknown, mediaType: string): string | undefined {
  const base64 = base64Of(data);
  if (base64 !== undefined) return `data:${mediaType};base64,${base64}`;
  const url: unknown = isJsonObject(data) ? (data as { url?: unknown }).url : undefined;
  return url instanceof URL ? url.href : typeof url === 'string' ? url : undefined;
}

/** Version 4 says of what sort data is; before, it was base64 or bytes as they are. */
function base64Of(data: unknown): string | undefined {
  if (typeof data === 'string') return data;
  if (data instanceof Uint8Array) return toBase64(data);
  return isJsonObject(data) && data['type'] === 'data' ? base64Of((data as { data?: unknown }).data) : undefined;
}
