import { matchesWildcard } from '../../catalog/wildcard.ts';

/**
 * A rule about sites, as requests write them: `example.com` (with its subdomains), `*.example.com` (its subdomains
 * only), `example.com/blog` (what lies below a path), `example.com:8443`.
 */
export interface DomainRule {
  /** As it was written, without a scheme. */
  readonly text: string;
  /** Lower-case host, in which `*` stands for any characters. */
  readonly host: string;
  readonly port?: string | undefined;
  /** Path below which a page must lie, without a slash at its end; undefined for whole sites. */
  readonly path?: string | undefined;
}

/** Reads a rule; undefined when it cannot be one. */
export function parseDomainRule(written: string): DomainRule | undefined {
  const text = written.trim().replace(/^https?:\/\//i, '');
  const slash = text.indexOf('/');
  const authority = (slash < 0 ? text : text.slice(0, slash)).toLowerCase();
  const [, name = '', port] = /^([^:]+?)\.?(?::(\d{1,5}))?$/.exec(authority) ?? [];
  const host = hostOf(name);
  if (host === undefined) return undefined;
  const path = slash < 0 ? '' : decoded(text.slice(slash).replace(/[?#].*$/s, '')).replace(/\/+$/, '');
  return { text: text.replace(/\/+$/, ''), host, port, path: path === '' ? undefined : path };
}

/** True for an address that a rule is about. */
export function matchesDomain(rule: DomainRule, url: URL): boolean {
  const host = url.hostname.replace(/\.$/, '').toLowerCase();
  if (rule.port !== undefined && rule.port !== portOf(url)) return false;
  return matchesHost(rule.host, host) && matchesPath(rule.path, decoded(url.pathname));
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
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function portOf({ port, protocol }: URL): string {
  return port === '' ? (protocol === 'https:' ? '443' : '80') : port;
}
