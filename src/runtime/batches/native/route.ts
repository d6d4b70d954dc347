/** Finds the providers to which a batch can go as a whole. */
import type { Endpoint } from '../../../catalog/endpoint.ts';
import type { Account } from '../../../contracts/account.ts';
import type {
  NativeBatches,
  NativeItem,
  NativeJob,
  NativeLookup,
  NativeReply,
} from '../../../contracts/native-batches.ts';
import type { BatchedRequest } from '../item-calls.ts';
import type { BatchPorts, OwnedBatch } from '../ports.ts';
import { aliasOf, type NativePart } from './job.ts';
import type { BatchRecord } from '../../../contracts/batch-record.ts';
import type { AttemptFailure, FailureKind } from '../../../contracts/failure.ts';

/** Where a batch can go as a whole. */
export interface NativeRoute {
  readonly native: NativeBatches;
  readonly endpoint: Endpoint;
}

/** The ways that a batch could go as a whole. */
interface NativeRoutes {
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
  const call = await ports.calls.prepare(batch, item.body, account);
  if (!mayLeave(call)) return NOWHERE;
  const { request } = call;
  const all = new Map<string, NativeRoute>();
  let first: NativeRoute | undefined;
  for (const [place, endpoint] of ports.calls.route(request).entries()) {
    const native = ports.providers.get(endpoint.provider)?.batches;
    if (native === undefined || !native.accepts(batch.endpoint, endpoint)) continue;
    const route = { native, endpoint };
    const name = `${endpoint.provider} ${endpoint.byok === undefined ? (endpoint.key ?? '') : 'own key'}`;
    if (!all.has(name)) all.set(name, route);
    if (place === 0) first = route;
  }
  return { first, all: [...all.values()] };
}

/**
 * Whether a request may be part of a provider's batch: what that is given is stored there for weeks, and plugins and
 * tools of the router have no part in it.
 */
function mayLeave({ request, plain }: { readonly request: BatchedRequest; readonly plain: boolean }): boolean {
  return plain && !request.preferences.zeroDataRetention;
}

/** What a batch is looked for with at a provider, and handed over with. */
export function lookupOf(batch: BatchRecord, account: Account, endpoint: Endpoint, signal: AbortSignal): NativeLookup {
  const { endpoint: operation, id: key, createdAt, counts } = batch;
  const apiKey = endpoint.byok && account.providerKeys?.[endpoint.provider]?.apiKey;
  return { operation, endpoint, apiKey, signal, key, createdAt, total: counts.total };
}

/** A batch at a provider that nobody remembered. */
interface FoundJob {
  readonly route: NativeRoute;
  readonly job: NativeJob;
}

const NOT_FOUND = { ok: true, value: undefined } as const;

/**
 * Looks for a batch that may have been handed over by a process that died before it could write that down, or whose
 * answer was lost.
 *
 * @returns Undefined where it is not, and where a provider has no way to tell; a failure while a provider that has one
 * is silent.
 */
export async function findLost(
  { all }: NativeRoutes,
  batch: BatchRecord,
  account: Account,
  signal: AbortSignal,
): Promise<NativeReply<FoundJob | undefined>> {
  for (const route of all) {
    const reply = (await route.native.find?.(lookupOf(batch, account, route.endpoint, signal))) ?? NOT_FOUND;
    if (!reply.ok && isSilence(reply.failure)) return reply;
    if (reply.ok && reply.value !== undefined) return { ok: true, value: { route, job: reply.value } };
  }
  return NOT_FOUND;
}

/**
 * Whether asking again may help: a provider that does not list batches, or not for this key, or not in a way that can be
 * read, never will.
 */
export function isSilence({ kind, status }: AttemptFailure): boolean {
  return HANG_DETECTION.has(kind) && status !== 501;
}

const HANG_DETECTION: ReadonlySet<FailureKind> = new Set([
  'connection',
  'unreachable',
  'timeout',
  'rate_limited',
  'overloaded',
  'server',
]);

/** Requests that are read at a time. */
const PAGE = 16;

/** A request that would go another way than the first one. */
export class SeparateWays extends Error {}

/** The requests of a batch, or of a part of it, on their way to an endpoint. @throws {@link SeparateWays} */
export async function* readItems(
  { store, calls }: BatchPorts,
  { batch, account }: OwnedBatch,
  endpoint: Endpoint,
  { from, to }: NativePart = { from: 0, to: Infinity },
): AsyncGenerator<NativeItem, void, undefined> {
  for (let after = from - 1, items; ; after = items.at(-1)?.index ?? after) {
    items = await store.items(batch.account, batch.id, after, PAGE);
    if (items.length === 0) return;
    for (const { index, body } of items) {
      if (index >= to) return;
      const call = await calls.prepare(batch, body, account);
      const { request } = call;
      if (!mayLeave(call) || !calls.route(request).some(({ id }) => id === endpoint.id)) {
        throw new SeparateWays(`request ${index} goes another way`);
      }
      yield { id: aliasOf(index), request };
    }
  }
}
