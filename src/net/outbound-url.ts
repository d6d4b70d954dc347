/** Decides which URLs that users give may be requested. */
import ipaddr from 'ipaddr.js';
import { OutboundError } from './outbound-error.ts';

/** Which URLs may be called. */
export interface OutboundRules {
  /** `https` for webhooks; `any` also takes plain HTTP. */
  readonly schemes: 'https' | 'any';
  readonly ports: ReadonlySet<number>;
  /** Hosts, each with or without its port, that the embedding program vouches for, whatever their address and scheme. */
  readonly allowedHosts: ReadonlySet<string>;
}

/**
 * Reads a URL and refuses it when it must not be called. Names are not looked up here; what they lead to is checked
 * when the connection is made, so that nothing can change in between.
 *
 * @throws {@link OutboundError} with the problem `refused`.
 */
export function checkOutboundUrl(text: string, rules: OutboundRules): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) throw refused('is not a complete URL such as https://example.com/page');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw refused('must begin with https://');
  if (url.username !== '' || url.password !== '') throw refused('must not hold a user name or a password');
  if (isAllowedHost(hostAndPort(url), rules.allowedHosts)) return url;
  if (rules.schemes === 'https' && url.protocol !== 'https:') throw refused('must begin with https://');
  if (!rules.ports.has(portOf(url))) throw refused(`must use one of the ports ${[...rules.ports].join(', ')}`);
  if (!leadsToPublicHost(url)) throw refused('must lead to a host on the public internet');
  return url;
}

/** Whether the host of a URL may be public, as far as its name says: what a name leads to is known once it is called. */
export function leadsToPublicHost({ hostname }: URL): boolean {
  const literal = literalAddress(hostname);
  return hostname !== '' && !isLocalName(hostname) && (literal === undefined || isPublicAddress(literal));
}

/** Whether a host with its port is among those that an operator vouches for, each with or without its port. */
export function isAllowedHost(host: string, allowed: ReadonlySet<string>): boolean {
  return allowed.has(host) || allowed.has(host.replace(/:\d+$/, ''));
}

/** Host and port of a URL, the way they are in {@link OutboundRules.allowedHosts}. */
export function hostAndPort(url: URL): string {
  return `${url.hostname}:${portOf(url)}`;
}

function portOf({ port, protocol }: URL): number {
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
}

/** Names that never belong to the public, with or without the dot at the end. */
function isLocalName(hostname: string): boolean {
  return /(?:^|\.)(?:localhost|local|internal|home\.arpa)\.?$/i.test(hostname);
}

function refused(problem: string): OutboundError {
  return new OutboundError('refused', `The URL ${problem}`);
}

/** Public by their block, but answered by the cloud that the process runs in. */
const CLOUD_INTERNAL = new Set(['168.63.129.16']);

/** The part of IPv6 that is given out to the public at all. */
const GLOBAL_UNICAST = ipaddr.IPv6.parse('2000::');

/**
 * True for an address of the public internet. Every block with a special purpose is refused: loopback, private, link
 * local (where clouds keep their metadata), shared, documentation, benchmarks, multicast, and all forms that carry an
 * IPv4 address inside an IPv6 one, because what they reach is decided somewhere else.
 *
 * @param address - As a resolver gives it, without brackets.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address) || CLOUD_INTERNAL.has(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  return parsed instanceof ipaddr.IPv4 || parsed.match(GLOBAL_UNICAST, 3);
}

/** The address that a URL's host name is, or undefined for a name that must be looked up. */
export function literalAddress(hostname: string): string | undefined {
  const bare = hostname.startsWith('[') && hostname.endsWith(']') ? hostname.slice(1, -1) : hostname;
  return ipaddr.isValid(bare) ? bare : undefined;
}
