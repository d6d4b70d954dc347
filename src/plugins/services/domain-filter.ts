/** Filters pages by their domains. */
import { percentDecoded } from '../../platform/data-url.ts';
import type { DomainRule, DomainFilter } from '../../contracts/plugin-services.ts';

import { echo } from '../../protocol/fault.ts';
import { matchesWildcard } from '../../catalog/model-patterns.ts';

/** A filter, or the one problem to report, as an options parser tells it. */
type FilterCheck =
  | { readonly ok: true; readonly filter: DomainFilter }
  | { readonly ok: false; readonly path: string; readonly problem: string };

/** A list of rules and the name of the option that holds it. */
interface NamedList {
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

/** Reads a rule; undefined when it cannot be one. */
export function parseDomainRule(written: string): DomainRule | undefined {
  const text = written.trim().replace(/^https?:\/\//i, '');
  const slash = text.indexOf('/');
  const authority = (slash < 0 ? text : text.slice(0, slash)).toLowerCase();
  const [, name = '', port] = /^([^:]+?)\.?(?::(\d{1,5}))?$/.exec(authority) ?? [];
  const host = hostOf(name);
  if (host === undefined) return undefined;
  const tail = slash < 0 ? '' : text.slice(slash).replace(/[?#].*$/s, '');
  const path = (percentDecoded(tail) ?? tail).replace(/\/+$/, '');
  return { text: text.replace(/\/+$/, ''), host, port, path: path === '' ? undefined : path };
}

/** True for an address that a rule is about. */
export function matchesDomain(rule: DomainRule, url: URL): boolean {
  const host = url.hostname.replace(/\.$/, '').toLowerCase();
  if (rule.port !== undefined && rule.port !== portOf(url)) return false;
  return matchesHost(rule.host, host) && matchesPath(rule.path, percentDecoded(url.pathname) ?? url.pathname);
}

function matchesHost(pattern: string, host: string): boolean {
  if (pattern.includes('*')) return matchesWildcard(pattern, host);
  return host === pattern || (host.endsWith(`.${pattern}`) && !isAddress(pattern));
}

function matchesPath(pattern: string | undefined, path: string): boolean {
  if (pattern === undefined) return true;
  return matchesWildcard(pattern, path.replace(/\/$/, '')) || matchesWildcard(`${pattern}/*`, path);
}

/** Names are compared in the form in which addresses carry them: `münchen.de` is `xn--mnchen-3ya.de`. */
function hostOf(name: string): string | undefined {
  if (name === '' || /[\s@\\?#%"'<>[\]{}|^`,;]/.test(name) || /^\.|\.\./.test(name) || name.includes(STAR))
    return undefined;
  const probe = `http://${name.replaceAll('*', STAR)}/`;
  if (!URL.canParse(probe)) return undefined;
  const host = new URL(probe).hostname.replaceAll(STAR, '*').replace(/\.$/, '');
  return host === '*' || host === '' ? undefined : host;
}

/** Letters that stand for `*` while a name is read, because a URL cannot have one. */
const STAR = 'wildcard-of-a-rule';

function isAddress(host: string): boolean {
  return /^[\d.]+$/.test(host);
}

/** `/%62log` is `/blog`, to the server and so to a rule. */
function portOf({ port, protocol }: URL): string {
  return port === '' ? (protocol === 'https:' ? '443' : '80') : port;
}
