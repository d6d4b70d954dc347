import type { Annotation } from '../../protocol/chat-result.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';

/** What a source's address may stand under. */
const SOURCES = ['web', 'retrievedContext', 'maps'] as const;

/** Where a part of an answer begins in its text, in UTF-16 units; undefined for a part that is not text. */
export type PartStart = (part: number) => number | undefined;

/** Queries that Google's own search answered for a candidate. */
export function searchesOf(metadata: unknown): number {
  return isJsonObject(metadata) ? listOf(metadata['webSearchQueries']).length : 0;
}

/**
 * Reads `groundingMetadata` as citations: one for each passage and each source that supports it, and one for each
 * source that supports no passage in particular.
 *
 * @param text - The text that passages are counted in; empty when nobody kept it, and then they have no places.
 */
export function decodeGrounding(metadata: unknown, text: string, partStart: PartStart): readonly Annotation[] {
  if (!isJsonObject(metadata)) return [];
  const sources = listOf(metadata['groundingChunks']).map(readSource);
  const cited = new Set<number>();
  const annotations: Annotation[] = [];
  for (const support of listOf(metadata['groundingSupports'])) {
    if (!isJsonObject(support)) continue;
    const passage = readPassage(support['segment'], text, partStart);
    for (const index of listOf(support['groundingChunkIndices'])) {
      const source = typeof index === 'number' ? sources[index] : undefined;
      if (source === undefined) continue;
      cited.add(Number(index));
      annotations.push({ type: 'url_citation', url_citation: { ...source, ...passage } });
    }
  }
  for (const [index, source] of sources.entries()) {
    if (source !== undefined && !cited.has(index)) annotations.push({ type: 'url_citation', url_citation: source });
  }
  return annotations;
}

function readSource(chunk: unknown): { readonly url: string; readonly title?: string } | undefined {
  if (!isJsonObject(chunk)) return undefined;
  const source = SOURCES.map((name) => chunk[name]).find(isJsonObject);
  const url = source?.['uri'];
  if (typeof url !== 'string' || url === '') return undefined;
  const title = source?.['title'];
  return typeof title === 'string' ? { url, title } : { url };
}

function readPassage(segment: unknown, text: string, partStart: PartStart): object {
  if (!isJsonObject(segment)) return {};
  const content = typeof segment['text'] === 'string' ? { content: segment['text'] } : {};
  const begin = partStart(numberOf(segment, 'partIndex'));
  if (text === '' || begin === undefined || typeof segment['endIndex'] !== 'number') return content;
  const bytes = new TextEncoder().encode(text.slice(begin));
  return {
    ...content,
    start_index: begin + lengthOf(bytes, numberOf(segment, 'startIndex')),
    end_index: begin + lengthOf(bytes, segment['endIndex']),
  };
}

/** Google counts in bytes; callers count in UTF-16 units. */
function lengthOf(bytes: Uint8Array, count: number): number {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, Math.max(0, count))).length;
}

function numberOf(object: JsonObject, name: string): number {
  const value = object[name];
  return typeof value === 'number' ? value : 0;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
