import type { Brand } from '../router-config.ts';
import type { HttpCall } from './exchange.ts';

/** How names are spelled in one answer. */
export interface Spelling {
  readonly metadataField: 'router_metadata' | 'openrouter_metadata';
  readonly processing: string;
  /** Beginning of the names of our headers. */
  readonly headers: 'x-router' | 'x-openrouter';
}

const SPELLINGS: Readonly<Record<Brand, Spelling>> = {
  router: { metadataField: 'router_metadata', processing: 'ROUTER PROCESSING', headers: 'x-router' },
  openrouter: { metadataField: 'openrouter_metadata', processing: 'OPENROUTER PROCESSING', headers: 'x-openrouter' },
};

/** Names of the header that asks for metadata, current and legacy, in both spellings. */
const METADATA_HEADERS: readonly (readonly [string, Brand])[] = [
  ['x-router-metadata', 'router'],
  ['x-router-experimental-metadata', 'router'],
  ['x-openrouter-metadata', 'openrouter'],
  ['x-openrouter-experimental-metadata', 'openrouter'],
];

/** Whether a call wants `router_metadata`, and how its answer is spelled (gaps 0.2, 6.5). */
export function negotiate(
  call: HttpCall,
  configured: Brand,
): { readonly wantsMetadata: boolean; readonly spelling: Spelling } {
  for (const [name, brand] of METADATA_HEADERS) {
    const value = call.header(name);
    if (value === undefined) continue;
    return {
      wantsMetadata: value.trim().toLowerCase() === 'enabled',
      spelling: SPELLINGS[brand === 'openrouter' ? brand : configured],
    };
  }
  return { wantsMetadata: false, spelling: SPELLINGS[configured] };
}

/** Gives the metadata member its name in this answer. */
export function spell<Body extends { readonly router_metadata?: unknown }>(
  body: Body,
  { metadataField }: Spelling,
): object {
  if (metadataField === 'router_metadata' || body.router_metadata === undefined) return body;
  const { router_metadata: metadata, ...rest } = body;
  return { ...rest, [metadataField]: metadata };
}
