import { echo } from '../../protocol/echo.ts';
import { type DomainRule, matchesDomain, parseDomainRule } from './domain-rule.ts';

/** Which sites a request wants, and which it does not want. The latter win. */
export interface DomainFilter {
  /** Empty: all sites. */
  readonly allowed: readonly DomainRule[];
  readonly blocked: readonly DomainRule[];
}

/** A filter, or the one problem worth telling, as an options parser tells it. */
export type FilterCheck =
  | { readonly ok: true; readonly filter: DomainFilter }
  | { readonly ok: false; readonly path: string; readonly problem: string };

/** A list of rules and the name of the option that holds it. */
export interface NamedList {
  readonly name: string;
  readonly rules: readonly string[] | undefined;
}

/** Reads the lists of a request. */
export function parseDomainFilter(allowed: NamedList, blocked: NamedList): FilterCheck {
  const lists: DomainRule[][] = [];
  for (const { name, rules = [] } of [allowed, blocked]) {
    const parsed: DomainRule[] = [];
    for (const [index, written] of rules.entries()) {
      const rule = parseDomainRule(written);
      if (rule === undefined) return { ok: false, path: `${name}[${index}]`, problem: problemOf(written) };
      parsed.push(rule);
    }
    lists.push(parsed);
  }
  const [first = [], second = []] = lists;
  return { ok: true, filter: { allowed: first, blocked: second } };
}

/** True when a filter lets every page through. */
export function isOpen({ allowed, blocked }: DomainFilter): boolean {
  return allowed.length === 0 && blocked.length === 0;
}

/** True when a page may be used. */
export function isAdmitted({ allowed, blocked }: DomainFilter, url: URL): boolean {
  if (blocked.some((rule) => matchesDomain(rule, url))) return false;
  return allowed.length === 0 || allowed.some((rule) => matchesDomain(rule, url));
}

function problemOf(written: string): string {
  return `must be a domain such as "example.com", "*.example.com" or "example.com/blog", not ${echo(written)}`;
}
