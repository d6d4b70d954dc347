/** The one entry point for requests to URLs that users give. */
import type { OutboundOptions } from '../options/http.ts';
import type { Environment } from '../platform/environment.ts';
import { onDemand } from '../platform/wait.ts';
import { allowedPrivateHosts, sharedNetwork } from './network.ts';
import type { AddressGuard, Transport } from './transport.ts';
import type { Outbound, GuardedTransportFactory } from './outbound-request.ts';

export type { OutboundOptions } from '../options/http.ts';

const door = onDemand(async () => (await import('./guarded-outbound.ts')).guardedOutbound);

/**
 * Opens the entry point, with the first request. Its connections are its own: nothing that users request travels on
 * those to providers.
 */
export function createOutbound(
  options: OutboundOptions,
  environment: Environment,
  createTransport: GuardedTransportFactory = loadGuardedTransport,
): Outbound {
  let opened: Promise<Outbound> | undefined;
  const open = (): Promise<Outbound> =>
    (opened ??= Promise.resolve(door()).then((guarded) => guarded(options, environment, createTransport)));
  return {
    fetch: async (request) => (await open()).fetch(request),
    open: async (request) => (await open()).open(request),
    check: async (url, schemes) => (await open()).check(url, schemes),
    close: async () => (await opened)?.close(),
  };
}

/** Options of an entry point to files that messages name: hosts of the own network that requests may name are open. */
export function outboundToFiles(options: OutboundOptions = {}): OutboundOptions {
  return { ...options, allowedHosts: [...(options.allowedHosts ?? []), ...allowedPrivateHosts()] };
}

async function loadGuardedTransport(guard: AddressGuard): Promise<Transport> {
  const { createGuardedTransport } = await import('#transport');
  return createGuardedTransport(guard, undefined, sharedNetwork());
}
