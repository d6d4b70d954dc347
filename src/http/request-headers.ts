/** Reads the request headers that change what the router does. */
import type { Brand } from '../config/router.ts';
import type { HttpCall, HttpHeaders } from '../contracts/exchange.ts';
import { type Spelling, SPELLINGS } from './spelling.ts';
import type { CacheReport, RequestedCache } from '../contracts/state-store.ts';

/** Names of the header that requires metadata, current and legacy, in both spellings. */
const METADATA_HEADERS: readonly (readonly [string, Brand])[] = [
  ['x-router-metadata', 'router'],
  ['x-router-experimental-metadata', 'router'],
  ['x-openrouter-metadata', 'openrouter'],
  ['x-openrouter-experimental-metadata', 'openrouter'],
];

/** Names of all headers that are looked up by {@link askingHeaders}. */
const ASKING: ReadonlySet<string> = new Set([
  ...METADATA_HEADERS.map(([name]) => name),
  'x-session-id',
  'x-claude-code-session-id',
  'x-anthropic-beta',
  'x-router-cache',
  'x-openrouter-cache',
  'x-router-cache-ttl',
  'x-openrouter-cache-ttl',
  'x-router-cache-clear',
  'x-openrouter-cache-clear',
]);

/** Looks up a header by its lower-case name. */
export type HeaderLookup = HttpCall['header'];

/**
 * The look-up of headers that request something; undefined where none does, as in nearly every request. Where
 * the host tells which headers there are, one look at their names shows it.
 */
export function askingHeaders({
  header,
  headerNames,
}: Pick<HttpCall, 'header' | 'headerNames'>): HeaderLookup | undefined {
  if (headerNames === undefined) return header;
  for (const name of headerNames()) if (ASKING.has(name)) return header;
  return undefined;
}

/** Whether a call wants `router_metadata`, and how its answer is spelled (gaps 0.2, 6.5). */
export function negotiate(
  asking: HeaderLookup | undefined,
  configured: Brand,
): { readonly wantsMetadata: boolean; readonly spelling: Spelling } {
  const requested = asking && metadataRequested(asking);
  if (requested === undefined) return { wantsMetadata: false, spelling: SPELLINGS[configured] };
  return {
    wantsMetadata: requested.value.trim().toLowerCase() === 'enabled',
    spelling: SPELLINGS[requested.brand === 'openrouter' ? 'openrouter' : configured],
  };
}

function metadataRequested(asking: HeaderLookup): { readonly value: string; readonly brand: Brand } | undefined {
  for (const [name, brand] of METADATA_HEADERS) {
    const value = asking(name);
    if (value !== undefined) return { value, brand };
  }
  return undefined;
}

/** The session that a call names: by our header, or by that of Claude Code. */
export function sessionRequested(asking: HeaderLookup | undefined): string | undefined {
  return asking?.('x-session-id') ?? asking?.('x-claude-code-session-id');
}

/** What a call says about the response cache, in either spelling (gaps 9.3). */
export function requestedCache(asking: HeaderLookup): RequestedCache {
  // Names in full: one that is put together for each request is looked up slowly.
  const ttl = asking('x-router-cache-ttl') ?? asking('x-openrouter-cache-ttl');
  const seconds = ttl === undefined ? undefined : Number.parseInt(ttl, 10);
  return {
    enabled: truthOf(asking('x-router-cache') ?? asking('x-openrouter-cache')),
    ttlSeconds: Number.isNaN(seconds) ? undefined : seconds,
    clear: truthOf(asking('x-router-cache-clear') ?? asking('x-openrouter-cache-clear')),
  };
}

/** Only these two words mean something. */
function truthOf(value: string | undefined): boolean | undefined {
  const word = value?.trim().toLowerCase();
  return word === 'true' ? true : word === 'false' ? false : undefined;
}

/** What an answer tells about the response cache (gaps 9.4). */
export function cacheHeaders(report: CacheReport, asking: HeaderLookup | undefined, spelling: Spelling): HttpHeaders {
  const own = asking?.('x-openrouter-cache') === undefined ? spelling.headers : 'x-openrouter';
  return {
    [`${own}-cache-status`]: report.status,
    [`${own}-cache-ttl`]: String(report.ttlSeconds),
    ...(report.status === 'MISS'
      ? {}
      : { [`${own}-cache-age`]: String(report.ageSeconds), [`${own}-cache-source-id`]: report.sourceId }),
  };
}
