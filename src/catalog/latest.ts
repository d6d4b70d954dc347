import type { Catalog } from './catalog.ts';
import type { Model } from './model.ts';
import { authorOf, foldSlug } from './slug.ts';

/**
 * The newest model that `~author/family-latest` means: of all models of that author and family, the one with the
 * latest `created` that somebody serves. Undefined when there is none.
 */
export function latestOfFamily(catalog: Catalog, slug: string): string | undefined {
  const match = /^~([^/]+)\/(.+)-latest$/.exec(slug);
  const [, author = '', family = ''] = match ?? [];
  if (match === null) return undefined;
  let newest: Model | undefined;
  for (const model of catalog.models.values()) {
    if (!belongsTo(model, author, family) || catalog.endpoints(model.id).length === 0) continue;
    if (newest === undefined || (model.created ?? 0) > (newest.created ?? 0)) newest = model;
  }
  return newest?.id;
}

/** Static variants such as `:free`, and models on their way out, are never the latest model. */
function belongsTo(model: Model, author: string, family: string): boolean {
  if (authorOf(model.id) !== author || model.id.includes(':') || model.status === 'deprecated') return false;
  if (model.family !== undefined) return model.family === family;
  return foldSlug(model.id).startsWith(`${foldSlug(author)}/${foldSlug(family)}`);
}
