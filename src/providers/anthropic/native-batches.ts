/** Anthropic's Message Batches. */
import { BatchApi, jobId } from '../batch-api.ts';
import { batchedReader, MAX_BATCH_BYTES, writeParts } from '../batch-codecs.ts';
import type {
  NativeJob,
  NativeJobCall,
  NativeLookup,
  NativeReply,
  NativeResult,
  NativeState,
} from '../../contracts/native-batches.ts';
import type { LoadedBatches, BatchCodecs } from '../codec.ts';
import type { ProviderApi } from '../provider-api.ts';
import { serialize } from '../serialize.ts';
import type { JsonObject } from '../../protocol/json.ts';
import { type ErrorContext, failureInBand } from '../upstream-failure.ts';
import * as read from '../../platform/json.ts';
import { failure } from '../../contracts/failure.ts';

const PATH = '/messages/batches';
const BOUNDS = { requests: 100_000, bytes: MAX_BATCH_BYTES };
const BETAS = 'anthropic-beta';

/**
 * Anthropic's Message Batches: requests inline, results as lines (upstreams 5.2). A batch has no place for a word of ours,
 * but its requests have: their ids end in a tag of the batch. So one whose answer was lost is found among those of its
 * time and size, once it has ended and shows an id; until then nobody hands it over again.
 */
export function messageBatches(api: ProviderApi, codecs: BatchCodecs): LoadedBatches {
  const calls = new BatchApi(api);
  const readItem = batchedReader(api, codecs);
  return {
    async submit(submission) {
      // Beta features are those of the whole batch.
      const betas = new Set<string>();
      const tag = tagOf(submission.key);
      const parts = await writeParts(submission, codecs, BOUNDS, (id, { body, headers }) => {
        const named = headers[headers.indexOf(BETAS) + 1];
        if (headers.includes(BETAS)) for (const beta of named?.split(',') ?? []) betas.add(beta);
        return serialize({ custom_id: `${id}${TAG_MARK}${tag}`, params: body });
      });
      if (!parts.ok) return parts;
      const body = `{"requests":[${parts.value.join(',')}]}`;
      const headers = betas.size === 0 ? [] : [BETAS, [...betas].join(',')];
      const created = await calls.json(submission, { method: 'POST', path: PATH, body, headers });
      if (!created.ok) return created;
      const { id } = created.value;
      if (typeof id !== 'string' || id === '') {
        return { ok: false, failure: failure('bad_response', 'The provider sent a batch without an id') };
      }
      return { ok: true, value: { job: { id, tag }, expiresAt: expiryOf(created.value) } };
    },
    find: (lookup) => findBatch(calls, lookup),
    async poll(call) {
      const reply = await calls.json(call, { method: 'GET', path: pathOf(call) });
      return reply.ok ? { ok: true, value: stateOf(reply.value) } : reply;
    },
    // Never at the address that the answer names: the key goes to the configured one only.
    results: (call) => {
      const tag = read.text(call.job['tag']);
      return calls.lines(call, `${pathOf(call)}/results`, (line, context) => resultOfLine(line, tag, context));
    },
    read: readItem,
    async cancel(call) {
      const reply = await calls.json(call, { method: 'POST', path: `${pathOf(call)}/cancel` });
      return reply.ok ? { ok: true, value: undefined } : reply;
    },
    async remove(call) {
      const reply = await calls.json(call, { method: 'DELETE', path: pathOf(call) });
      return reply.ok || reply.failure.status === 404 ? { ok: true, value: 'deleted' } : reply;
    },
  };
}

function pathOf(call: NativeJobCall): string {
  return `${PATH}/${jobId(call)}`;
}

/** What stands between the id of a request and the tag of its batch. */
const TAG_MARK = '-';
/** Characters of a tag: with the id of a request no more than a `custom_id` may have. */
const TAG_LENGTH = 32;
/** Milliseconds by which the clocks of the provider and of the store may differ. */
const SKEW_MS = 300_000;
/** Batches on a page of the list, and pages that are looked through. */
const PAGE = 100;
const MAX_PAGES = 20;

/** The same for the same key, in letters and digits. */
function tagOf(key: string): string {
  return key.replaceAll(/[^A-Za-z0-9]/g, '').slice(-TAG_LENGTH);
}

/** Whether a batch is another part of what is looked for. */
function isKnown({ known = [] }: NativeLookup, id: string): boolean {
  return known.some((job) => job['id'] === id);
}

/** Looks through the batches of some time, of the same size, for the one whose requests have the tag. */
async function findBatch(calls: BatchApi, lookup: NativeLookup): Promise<NativeReply<NativeJob | undefined>> {
  const tag = tagOf(lookup.key);
  let mayCome = false;
  let after: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const path = `${PATH}?limit=${PAGE}${after === undefined ? '' : `&after_id=${encodeURIComponent(after)}`}`;
    const reply = await calls.json(lookup, { method: 'GET', path });
    if (!reply.ok) return reply;
    const listed = read.objects(reply.value['data']);
    const young = listed.filter(
      ({ created_at: at }) => !(Date.parse(read.text(at) ?? '') < lookup.createdAt - SKEW_MS),
    );
    for (const batch of young) {
      const id = read.text(batch['id']);
      if (id === undefined || sizeOf(batch) !== lookup.total || isKnown(lookup, id)) continue;
      if (batch['processing_status'] !== 'ended') mayCome = true;
      else if (await hasTag(calls, lookup, id, tag)) {
        return { ok: true, value: { job: { id, tag }, expiresAt: expiryOf(batch) } };
      }
    }
    after = read.text(listed.at(-1)?.['id']);
    if (young.length < listed.length || reply.value['has_more'] !== true || after === undefined) break;
  }
  return mayCome ? STILL_RUNNING : { ok: true, value: undefined };
}

/** One of them may be the one that is looked for: only its results tell. */
const STILL_RUNNING: NativeReply<never> = {
  ok: false,
  failure: failure('overloaded', 'A batch of this size is running, and only its results show whose it is'),
};

function sizeOf(batch: JsonObject): number {
  const counts = read.object(batch['request_counts']);
  return Object.values(counts).reduce<number>((sum, count) => sum + (read.number(count) ?? 0), 0);
}

/** Whether the first result of a batch is one of ours. */
async function hasTag(calls: BatchApi, lookup: NativeLookup, id: string, tag: string): Promise<boolean> {
  const names = calls.lines(lookup, `${PATH}/${encodeURIComponent(id)}/results`, ({ custom_id: name }) => [name]);
  for await (const [name] of names) return typeof name === 'string' && name.endsWith(`${TAG_MARK}${tag}`);
  return false;
}

/** When a batch ends by itself, in epoch milliseconds. */
function expiryOf({ expires_at: date }: JsonObject): number | undefined {
  const time = typeof date === 'string' ? Date.parse(date) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}

/**
 * State of a batch (upstreams 5.5). Its counts do not move before it ends, and an end has no word for how it came: the
 * counts tell. Some requests that expired among others that were answered do not make the whole expire.
 */
function stateOf(batch: JsonObject): NativeState {
  if (batch['processing_status'] !== 'ended') return { status: 'running', expiresAt: expiryOf(batch) };
  const counts = read.object(batch['request_counts']);
  const count = (name: string): number => read.number(counts[name]) ?? 0;
  if (batch['cancel_initiated_at'] != null && count('canceled') > 0) return { status: 'ended', outcome: 'cancelled' };
  const nothingDone = count('succeeded') + count('errored') === 0;
  return { status: 'ended', outcome: nothingDone && count('expired') > 0 ? 'expired' : 'completed' };
}

/** Reads a line of results (upstreams 5.6); undefined for one that names no request. */
function resultOfLine(line: JsonObject, tag: string | undefined, context: ErrorContext): NativeResult | undefined {
  const { custom_id: name, result } = line;
  if (typeof name !== 'string') return undefined;
  const [id = '', itsTag] = name.split(TAG_MARK);
  if (itsTag !== undefined && itsTag !== tag) return undefined;
  const { type, message, error } = read.object(result);
  switch (type) {
    case 'succeeded':
      return { id, type: 'answered', body: JSON.stringify(message ?? null) };
    case 'errored':
      return { id, type: 'failed', failure: failureInBand(error, context) };
    case 'canceled':
      return { id, type: 'cancelled' };
    case 'expired':
      return { id, type: 'expired' };
    default:
      return { id, type: 'failed', failure: UNKNOWN };
  }
}

const UNKNOWN = failure('bad_response', 'The provider sent an unknown outcome of this request');
