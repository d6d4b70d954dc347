/** Reads model slugs: author, variants, and spellings that mean the same. */
import type { SortKey } from '../protocol/provider-preferences.ts';
import type { EndpointTier } from './endpoint.ts';

/** What the variants at the end of a slug require. */
interface SlugVariants {
  /** The slug without the variants that only change routing; static variants stay. */
  readonly slug: string;
  readonly sort?: SortKey | undefined;
  /** Tier that competes beside the default one. */
  readonly admitTier?: EndpointTier | undefined;
  /** `:online` requires the web plugin. */
  readonly online: boolean;
}

/** Variants that change how endpoints are chosen (gaps 3.6). */
const ROUTING_VARIANTS: ReadonlyMap<string, Omit<SlugVariants, 'slug'>> = new Map<string, Omit<SlugVariants, 'slug'>>([
  ['nitro', { sort: 'throughput', admitTier: 'priority', online: false }],
  ['floor', { sort: 'price', admitTier: 'flex', online: false }],
  ['exacto', { sort: 'exacto', online: false }],
  ['online', { online: true }],
]);

/**
 * Splits the routing variants off the end of a slug: `a/b:free:nitro` is `a/b:free`, sorted by throughput.
 * An ending that is not a variant stays part of the slug, as in `ollama/llama3:8b`.
 */
export function splitVariants(slug: string): SlugVariants {
  let rest = slug;
  let found: Omit<SlugVariants, 'slug'> = { online: false };
  for (;;) {
    const colon = rest.lastIndexOf(':');
    const variant = colon < 0 ? undefined : ROUTING_VARIANTS.get(rest.slice(colon + 1));
    if (variant === undefined) return { ...found, slug: rest };
    found = { ...found, ...variant, online: found.online || variant.online };
    rest = rest.slice(0, colon);
  }
}

/** The author in front of the first slash, or an empty string. */
export function authorOf(slug: string): string {
  const slash = slug.indexOf('/');
  return slash < 0 ? '' : slug.slice(0, slash);
}

/** Spelling under which dotted and dashed version numbers, and capitals, are the same. */
export function foldSlug(slug: string): string {
  return slug.toLowerCase().replaceAll('.', '-');
}
