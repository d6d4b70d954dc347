import type { CacheReport, CacheWish } from '../core/limits/cache-rule.ts';
import type { Spelling } from './brand.ts';
import type { HttpCall, HttpHeaders } from './exchange.ts';

/** What a call says about the response cache, in either spelling (gaps 9.3). */
export function cacheWish({ header }: Pick<HttpCall, 'header'>): CacheWish {
  const said = (name: string): string | undefined => header(`x-router-${name}`) ?? header(`x-openrouter-${name}`);
  const seconds = Number.parseInt(said('cache-ttl') ?? '', 10);
  return {
    enabled: truthOf(said('cache')),
    ttlSeconds: Number.isNaN(seconds) ? undefined : seconds,
    clear: truthOf(said('cache-clear')),
  };
}

/** What an answer tells about the response cache (gaps 9.4). */
export function cacheHeaders(
  report: CacheReport | undefined,
  { header }: Pick<HttpCall, 'header'>,
  spelling: Spelling,
): HttpHeaders {
  if (report === undefined) return {};
  const own = header('x-openrouter-cache') === undefined ? spelling.headers : 'x-openrouter';
  return {
    [`${own}-cache-status`]: report.status,
    [`${own}-cache-ttl`]: String(report.ttlSeconds),
    ...(report.status === 'MISS'
      ? {}
      : { [`${own}-cache-age`]: String(report.ageSeconds), [`${own}-cache-source-id`]: report.sourceId }),
  };
}

/** Only these two words mean something. */
function truthOf(value: string | undefined): boolean | undefined {
  const word = value?.trim().toLowerCase();
  return word === 'true' ? true : word === 'false' ? false : undefined;
}
