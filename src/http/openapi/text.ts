import type { Spelling } from '../brand.ts';
import { openApiDocument } from './document.ts';

const TEXTS = new Map<string, string>();

/** The document as JSON, with the member for metadata under the name that it has in answers. Made once per name. */
export function openApiText({ metadataField }: Pick<Spelling, 'metadataField'>): string {
  let text = TEXTS.get(metadataField);
  if (text === undefined) {
    text = JSON.stringify(openApiDocument()).replaceAll('"router_metadata":', `"${metadataField}":`);
    TEXTS.set(metadataField, text);
  }
  return text;
}
