import { isPublicAddress, literalAddress } from './address.ts';
import { OutboundError } from './outbound-error.ts';

/** Which URLs may be asked. */
export interface OutboundRules {
  /** `https` for webhooks; `any` also takes plain HTTP. */
  readonly schemes: 'https' | 'any';
  readonly ports: ReadonlySet<number>;
  /** `host:port` pairs that the embedding program vouches for, whatever their address and scheme. */
  readonly allowedHosts: ReadonlySet<string>;
}

/**
 * Reads a URL and refuses it when it must not be asked. Names are not looked up here; what they lead to is checked when
 * the connection is made, so that nothing can change in between.
 *
 * @throws {@link OutboundError} with the problem `refused`.
 */
export function checkOutboundUrl(text: string, rules: OutboundRules): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) throw refused('is not a complete URL such as https://example.com/page');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw refused('must begin with https://');
  if (url.username !== '' || url.password !== '') throw refused('must not hold a user name or a password');
  if (rules.allowedHosts.has(hostAndPort(url))) return url;
  if (rules.schemes === 'https' && url.protocol !== 'https:') throw refused('must begin with https://');
  if (!rules.ports.has(portOf(url))) throw refused(`must use one of the ports ${[...rules.ports].join(', ')}`);
  const literal = literalAddress(url.hostname);
  if (isLocalName(url.hostname) || (literal !== undefined && !isPublicAddress(literal))) {
    throw refused('must lead to a host on the public internet');
  }
  return url;
}

/** Host and port of a URL, the way they stand in {@link OutboundRules.allowedHosts}. */
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
