import ipaddr from 'ipaddr.js';

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
