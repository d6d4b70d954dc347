import type { Endpoint } from '../../catalog/endpoint.ts';
import type { Account } from '../../core/account.ts';
import type { BatchRecord } from '../../core/batch/batch-record.ts';
import type { NativeBatches, NativeLookup } from '../../contracts/native-batches.ts';
import type { BatchedRequest } from './item-calls.ts';
import type { BatchPorts } from './ports.ts';

/** Where a batch can go as a whole. */
export interface NativeRoute {
  readonly native: NativeBatches;
  readonly endpoint: Endpoint;
}

/** The ways that a batch could go as a whole. */
export interface NativeRoutes {
  /** The one that it would go now: that of its first request, if there is a batch API for it. */
  readonly first?: NativeRoute | undefined;
  /** All of them, one for each provider and key. */
  readonly all: readonly NativeRoute[];
}

const NOWHERE: NativeRoutes = { all: [] };

/**
 * Finds the ways by the first request of a batch.
 *
 * @throws {@link RouterError} when that is bad, which it only is in a batch that was not validated yet.
 */
export async function nativeRoutes(ports: BatchPorts, batch: BatchRecord, account: Account): Promise<NativeRoutes> {
  if (![...ports.providers.values()].some(({ batches }) => batches !== undefined)) return NOWHERE;
  const [item] = await ports.store.items(batch.account, batch.id, -1, 1);
  if (item === undefined) return NOWHERE;
  const { request, plain } = await ports.calls.prepare(batch, item.body, account);
  if (!mayLeave(request, plain)) return NOWHERE;
  const all = new Map<string, NativeRoute>();
  let first: NativeRoute | undefined;
  for (const [place, endpoint] of ports.calls.route(request).entries()) {
    const native = ports.providers.get(endpoint.provider)?.batches;
    if (native === undefined || !native.accepts(batch.endpoint, endpoint)) continue;
    const route = { native, endpoint };
    const name = `${endpoint.provider} ${endpoint.byok === undefined ? '' : 'own key'}`;
    if (!all.has(name)) all.set(name, route);
    if (place === 0) first = route;
  }
  return { first, all: [...all.values()] };
}

/**
 * Whether a request may be part of a provider's batch: what that is given is stored there for weeks, and plugins and
 * tools of the router have no part in it.
 */
export function mayLeave({ preferences }: BatchedRequest, plain: boolean): boolean {
  return plain && !preferences.zeroDataRetention;
}

/** What a batch is looked for with at a provider, and handed over with. */
export function lookupOf(batch: BatchRecord, account: Account, endpoint: Endpoint, signal: AbortSignal): NativeLookup {
  const { endpoint: operation, id: key, createdAt, counts } = batch;
  const apiKey = endpoint.byok && account.providerKeys?.[endpoint.provider]?.apiKey;
  return { operation, endpoint, apiKey, signal, key, createdAt, total: counts.total };
}
