/** Reads and writes what a batch remembers of its job at a provider. */
import * as read from '../../../platform/json.ts';
import type { Endpoint } from '../../../catalog/endpoint.ts';
import { isJsonObject, type JsonObject } from '../../../protocol/json.ts';
import type { NativeBatches, NativeJobCall, NativeReply, NativeState } from '../../../contracts/native-batches.ts';
import type { BatchPorts } from '../ports.ts';
import type { BatchRecord } from '../../../contracts/batch-record.ts';

/** What is remembered of a batch at a provider, in `BatchRecord.upstream`. */
interface StoredJob {
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

/** A part of a batch that is more than a provider takes at a time: its requests from one index up to another. */
export interface NativePart {
  readonly from: number;
  /** Index behind the last one. */
  readonly to: number;
  /** What the provider calls it, once it has it. */
  readonly job?: JsonObject | undefined;
  /** True where the provider does not take it: its requests are run one by one when the others have their outcomes. */
  readonly own?: boolean | undefined;
}

/** A batch in two parts that nobody has yet. */
export function halves({ from, to }: NativePart): readonly NativePart[] {
  const middle = Math.ceil((from + to) / 2);
  return [
    { from, to: middle },
    { from: middle, to },
  ];
}

/** How a batch in parts is remembered, in place of a job. */
export function jobOfParts(parts: readonly NativePart[]): JsonObject {
  return { parts: parts.map(({ from, to, job = null, own = false }) => ({ from, to, job, own })) };
}

/** The parts of a batch; undefined for one that its provider has as a whole. */
export function partsOf(job: JsonObject): readonly NativePart[] | undefined {
  const { parts } = job;
  if (!Array.isArray(parts)) return undefined;
  return read.objects(parts).map(({ from, to, job: known, own }) => ({
    from: Number(from),
    to: Number(to),
    job: isJsonObject(known) ? known : undefined,
    own: own === true,
  }));
}

/** Place of the first part that nobody has yet; -1 when all are somewhere. */
export function nextPart(parts: readonly NativePart[]): number {
  return parts.findIndex(({ job, own }) => job === undefined && own !== true);
}

/** The calls about a batch that a provider has. */
type NativeJobs = Pick<NativeBatches, 'poll' | 'results' | 'read' | 'cancel' | 'remove' | 'priceFactor'>;

/** All parts of a batch as if they were one. */
function together(native: NativeBatches): NativeJobs {
  const each = (call: NativeJobCall): readonly NativeJobCall[] =>
    (partsOf(call.job) ?? []).flatMap(({ job }) => (job === undefined ? [] : [{ ...call, job }]));
  return {
    priceFactor: native.priceFactor,
    async poll(call) {
      const states: NativeState[] = [];
      for (const one of each(call)) {
        const reply = await native.poll(one);
        if (!reply.ok) return reply;
        states.push(reply.value);
      }
      return { ok: true, value: stateOfAll(states) };
    },
    async *results(call) {
      for (const one of each(call)) yield* native.results(one);
    },
    read: (body, request, endpoint) => native.read(body, request, endpoint),
    cancel: (call) => forAll(each(call), async (one) => native.cancel(one)),
    async remove(call) {
      let all: 'deleted' | 'unsupported' = 'deleted';
      const reply = await forAll(each(call), async (one) => {
        const removed = await native.remove(one);
        if (removed.ok && removed.value === 'unsupported') all = 'unsupported';
        return removed;
      });
      return reply.ok ? { ok: true, value: all } : reply;
    },
  };
}

/** Makes a call about each, also when some fail; gives the first failure. */
async function forAll(
  calls: readonly NativeJobCall[],
  make: (call: NativeJobCall) => Promise<NativeReply<unknown>>,
): Promise<NativeReply<undefined>> {
  let failed: NativeReply<undefined> | undefined;
  for (const call of calls) {
    const reply = await make(call);
    if (!reply.ok) failed ??= reply;
  }
  return failed ?? { ok: true, value: undefined };
}

/** A batch runs as long as one of its parts does. Where parts ended in different ways, some of it is completed. */
function stateOfAll(states: readonly NativeState[]): NativeState {
  const running = states.filter((state) => state.status === 'running');
  if (running.length > 0) {
    const expiries = running.flatMap(({ expiresAt }) => (expiresAt === undefined ? [] : [expiresAt]));
    return { status: 'running', expiresAt: expiries.length === running.length ? Math.max(...expiries) : undefined };
  }
  const [first, ...rest] = states;
  if (first?.status !== 'ended') return { status: 'ended', outcome: 'completed' };
  const same = rest.every((state) => state.status === 'ended' && state.outcome === first.outcome);
  return same ? first : { status: 'ended', outcome: 'completed' };
}
