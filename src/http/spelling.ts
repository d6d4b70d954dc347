import type { Brand } from '../config/router.ts';

/** How names are spelled in one answer. */
export interface Spelling {
  readonly metadataField: 'router_metadata' | 'openrouter_metadata';
  readonly processing: string;
  /** Beginning of the names of our headers. */
  readonly headers: 'x-router' | 'x-openrouter';
}

/** Spellings by the brand of a router. */
export const SPELLINGS: Readonly<Record<Brand, Spelling>> = {
  router: { metadataField: 'router_metadata', processing: 'ROUTER PROCESSING', headers: 'x-router' },
  openrouter: { metadataField: 'openrouter_metadata', processing: 'OPENROUTER PROCESSING', headers: 'x-openrouter' },
};

/** Gives the metadata member its name in this answer. */
export function spell<Body extends { readonly router_metadata?: unknown }>(
  body: Body,
  { metadataField }: Spelling,
): object {
  if (metadataField === 'router_metadata' || body.router_metadata === undefined) return body;
  const { router_metadata: metadata, ...rest } = body;
  return { ...rest, [metadataField]: metadata };
}
