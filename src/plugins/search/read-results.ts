import { type JsonObject, type JsonValue, isJsonObject } from '../../protocol/json.ts';
import type { SearchResult } from '../ports/search-engine.ts';

/** What stands between two excerpts of one page. */
export const EXCERPT_GAP = '\n[...]\n';

/** The objects of a list that a service sent; whatever else is in it is left out. */
export function objectsOf(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** A text that a service sent, if it is one and says something. */
export function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}

/** The texts of a list. */
export function textsOf(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.flatMap((one: JsonValue) => textOf(one) ?? []) : [];
}

/** A result, or nothing when it has no address. */
export function resultOf(
  url: JsonValue | undefined,
  title: JsonValue | undefined,
  content: string,
  publishedAt?: JsonValue,
): readonly SearchResult[] {
  const address = textOf(url);
  if (address === undefined) return [];
  return [{ url: address, title: textOf(title), content, publishedAt: textOf(publishedAt) }];
}
