import { sameOption } from '../options/option.ts';
import type { RouterNetworkOptions } from '../options/http.ts';
import { ConfigError } from '../protocol/router-error.ts';

/**
 * How connections leave the process: a proxy and certificate authorities. Plugins and services that several routers may
 * share connect by themselves, so routers of a process have one network; a provider may have another.
 */

let shared: RouterNetworkOptions | undefined;
let users = 0;

/**
 * Makes the network of a router that of everything that has none of its own.
 *
 * @returns What ends that.
 * @throws {@link ConfigError} while another router has another one.
 */
export function shareNetwork(network: RouterNetworkOptions | undefined): () => void {
  if (network === undefined) return () => {};
  if (users > 0 && !sameOption(shared, network)) {
    const problem =
      'must be the same for all routers of a process; one that differs belongs to a provider, as its `net`';
    throw new ConfigError([{ path: 'net', problem }]);
  }
  shared = network;
  users += 1;
  return () => {
    users -= 1;
    if (users === 0) shared = undefined;
  };
}

/** The network of whoever has none of its own. */
export function sharedNetwork(): RouterNetworkOptions | undefined {
  return shared;
}

/** Hosts of the own network that addresses in requests may name, each with or without its port. */
export function allowedPrivateHosts(): readonly string[] {
  return shared?.allowPrivate ?? NO_HOSTS;
}

const NO_HOSTS: readonly string[] = Object.freeze([]);
