import type { JsonObject } from '../../protocol/json.ts';
import type { OptionsCheck } from '../../protocol/options.ts';
import { parseWebFetchOptions } from '../../protocol/web-options.ts';
import { type DomainFilter, parseDomainFilter } from '../domains/domain-filter.ts';

/** What a request says about fetching pages. */
export interface WebFetchOptions {
  /** Pages that the model may fetch; at most 50 (gaps 2.2). */
  readonly maxUses: number;
  /** Tokens of one page that the model gets; estimated, and the rest is cut off. Default 25,000. */
  readonly maxContentTokens: number;
  readonly domains: DomainFilter;
}

const MOST_USES = 50;
const DEFAULT_CONTENT_TOKENS = 25_000;

/** Checks and completes the options of `web-fetch`, the plugin and the tool. */
export function parseFetchOptions(value: JsonObject): OptionsCheck<WebFetchOptions> {
  const parsed = parseWebFetchOptions(value);
  if (!parsed.ok) return parsed;
  const {
    max_uses: uses,
    max_content_tokens: tokens,
    allowed_domains: allowed,
    blocked_domains: blocked,
  } = parsed.options;
  const checked = parseDomainFilter(
    { name: 'allowed_domains', rules: allowed },
    { name: 'blocked_domains', rules: blocked },
  );
  if (!checked.ok) return checked;
  const maxUses = Math.min(uses ?? MOST_USES, MOST_USES);
  return {
    ok: true,
    options: { maxUses, maxContentTokens: tokens ?? DEFAULT_CONTENT_TOKENS, domains: checked.filter },
  };
}
