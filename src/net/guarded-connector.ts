import { lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import type { AddressGuard } from './transport.ts';

/** One address of a name. */
export interface LookupAddress {
  readonly address: string;
  readonly family: number;
}

/** Resolves a name to all its addresses. */
export type Lookup = (
  hostname: string,
  callback: (error: Error | null, addresses: readonly LookupAddress[]) => void,
) => void;

/**
 * A connector that dials public addresses only. A name with one address that is not public is refused altogether:
 * which of them would be taken is not ours to guess.
 */
export function guardedConnector(
  guard: AddressGuard,
  options: buildConnector.BuildOptions,
  lookup: Lookup = lookupAll,
): buildConnector.connector {
  return (target, callback) => {
    const hostname = target.hostname.replace(/^\[(.*)\]$/, '$1');
    // As URLs have it: undici gives an IPv6 address without its brackets.
    const name = isIP(hostname) === 6 ? `[${hostname}]` : hostname;
    const host = `${name}:${target.port === '' ? defaultPort(target.protocol) : target.port}`;
    if (isIP(hostname) !== 0) {
      if (!guard(host, hostname)) return callback(notPublic(), null);
      return buildConnector(options)(target, callback);
    }
    const guarded = { ...options, lookup: lookupFor(host) };
    buildConnector(guarded)(target, callback);
  };

  function lookupFor(host: string): LookupFunction {
    return (hostname, { all = false }, callback) => {
      lookup(hostname, (error, addresses) => {
        if (error !== null) return callback(error, []);
        const [first] = addresses;
        if (first === undefined || !addresses.every(({ address }) => guard(host, address))) {
          return callback(notPublic(), []);
        }
        if (all) callback(null, [...addresses]);
        else callback(null, first.address, first.family);
      });
    };
  }
}

function lookupAll(hostname: string, callback: Parameters<Lookup>[1]): void {
  systemLookup(hostname, { all: true }, callback);
}

function defaultPort(protocol: string): string {
  return protocol === 'https:' ? '443' : '80';
}

function notPublic(): Error {
  return Object.assign(new Error('The address is not public'), { code: 'ENOTFOUND' });
}
