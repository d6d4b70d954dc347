import type { Endpoint } from '../../catalog/endpoint.ts';
import type { BatchRecord } from '../../core/batch/batch-record.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import type { NativeJobCall } from '../../contracts/native-batches.ts';
import { type NativeJobs, partsOf, together } from './native-parts.ts';
import type { BatchPorts } from './ports.ts';

/** What is remembered of a batch at a provider, in `BatchRecord.upstream`. */
export interface StoredJob {
  readonly provider: string;
  /** Id of the endpoint. */
  readonly endpoint: string;
  readonly job: JsonObject;
}

/** A batch at a provider that is still there to be asked. */
export interface LiveJob extends StoredJob {
  readonly native: NativeJobs;
  /** What a call about it is made with. */
  readonly call: (signal: AbortSignal) => NativeJobCall;
  readonly upstream: Endpoint;
}

/** How a batch remembers where it is. */
export function upstreamOf({ provider, id }: Endpoint, job: JsonObject): JsonObject {
  return { provider, endpoint: id, job };
}

/** What a batch remembers of its provider, if it is at one. */
export function storedJob({ upstream }: BatchRecord): StoredJob | undefined {
  const { provider, endpoint, job } = upstream ?? {};
  return typeof provider === 'string' && typeof endpoint === 'string' && isJsonObject(job)
    ? { provider, endpoint, job }
    : undefined;
}

/** Finds the provider and the endpoint of a batch again; undefined while they are not configured. */
export async function findJob(ports: BatchPorts, batch: BatchRecord): Promise<LiveJob | undefined> {
  const stored = storedJob(batch);
  const native = stored && ports.providers.get(stored.provider)?.batches;
  if (stored === undefined || native === undefined) return undefined;
  const [first] = await ports.store.items(batch.account, batch.id, -1, 1);
  if (first === undefined) return undefined;
  const account = await ports.accountOf(batch);
  const { request } = await ports.calls.prepare(batch, first.body, account);
  const upstream = request.targets.flatMap(({ endpoints }) => endpoints).find(({ id }) => id === stored.endpoint);
  if (upstream === undefined) return undefined;
  const apiKey = upstream.byok && account.providerKeys?.[upstream.provider]?.apiKey;
  const { endpoint: operation } = batch;
  return {
    ...stored,
    native: partsOf(stored.job) === undefined ? native : together(native),
    upstream,
    call: (signal) => ({ operation, endpoint: upstream, apiKey, job: stored.job, signal }),
  };
}

/** The name under which a request goes to a provider: callers' names may be longer than providers take. */
export function aliasOf(index: number): string {
  return `r${index}`;
}

/** The request behind a name, or undefined for one that was not given by us. */
export function indexOf(alias: string): number | undefined {
  return /^r\d{1,15}$/.test(alias) ? Number(alias.slice(1)) : undefined;
}
