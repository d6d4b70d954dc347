/** Connects on Node to public addresses only, for URLs that users give. */
import { lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import type { HostOfTarget } from './proxy.ts';
import { type AddressGuard, TransportError } from './transport.ts';
import { failure } from '../contracts/failure.ts';

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
    const { hostname, host } = hostOf(target);
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

/**
 * The address that a proxy is to connect to: one that the guard lets through. The proxy would look a name up anew, and
 * might be led elsewhere. A name that cannot be looked up here is refused, unless the guard lets it through whatever its
 * address.
 */
export function guardedHost(guard: AddressGuard, lookup: Lookup = lookupAll): HostOfTarget {
  return (target) => {
    const { hostname, host } = hostOf(target);
    if (isIP(hostname) !== 0) return guard(host, hostname) ? Promise.resolve(hostname) : Promise.reject(notPublic());
    return new Promise((resolve, reject) => {
      lookup(hostname, (error, addresses) => {
        // With an error, the system gives no list.
        const [first] = error === null ? addresses : [];
        if (first === undefined) {
          if (guard(host, '')) resolve(hostname);
          else reject(new TransportError(failure('unreachable', UNKNOWN_NAME)));
        } else if (addresses.every(({ address }) => guard(host, address))) resolve(first.address);
        else reject(notPublic());
      });
    });
  };
}

const UNKNOWN_NAME =
  'The name cannot be looked up here, and behind a proxy only addresses that were checked are called; allow look-ups of public names on this machine, or name the host in allowedHosts';

/** A host without brackets, and with its port as it is in URLs: undici gives an IPv6 address without brackets. */
function hostOf(target: buildConnector.Options): { readonly hostname: string; readonly host: string } {
  const hostname = target.hostname.replace(/^\[(.*)\]$/, '$1');
  const name = isIP(hostname) === 6 ? `[${hostname}]` : hostname;
  return { hostname, host: `${name}:${target.port === '' ? defaultPort(target.protocol) : target.port}` };
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
