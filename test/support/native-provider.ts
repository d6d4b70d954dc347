import type {
  NativeBatches,
  NativeItem,
  NativeJob,
  NativeLookup,
  NativeReply,
  NativeResult,
  NativeState,
  NativeSubmission,
} from 'signalbox';
import { type BatchProvider, answer, batchProvider } from './batches.ts';
import { failure, type FailureKind } from '../../src/contracts/failure.ts';

/** What a batch API of a test does. */
export interface NativeScript {
  readonly accepts?: NativeBatches['accepts'];
  /** Failures of the first submissions. */
  readonly refusals?: readonly FailureKind[];
  readonly expiresAt?: number;
  readonly priceFactor?: number | undefined;
  /** What a search for a lost batch comes to, search after search; the last one for ever. Default: it cannot search. */
  readonly found?: readonly ('lost-job' | 'nothing' | FailureKind)[];
  /** Most requests that it takes at a time; it finds what it has by its key. */
  readonly most?: number;
  /** Why it does not take some requests, if it does not. */
  readonly refuses?: (items: readonly NativeItem[]) => FailureKind | undefined;
  /** What a submission waits for. */
  readonly submitting?: () => Promise<void>;
  /** Times that the results break off before the last one. */
  readonly breaks?: number;
  /** How the batch stands, look after look; the last one for ever. */
  readonly states?: readonly (NativeState | FailureKind)[];
  /** What comes back, in this order. Default: an answer to each request, the last one first. */
  readonly results?: (items: readonly Pick<NativeItem, 'id'>[]) => readonly NativeResult[];
}

/** A provider with a batch API, and what it was asked. */
export interface NativeProvider extends BatchProvider {
  readonly submissions: readonly (NativeSubmission & { readonly read: readonly NativeItem[] })[];
  readonly polls: number;
  readonly searches: number;
  readonly cancelled: readonly unknown[];
  readonly removed: readonly unknown[];
}

/** The requests of a batch that somebody else submitted. */
const LOST_ITEMS = [{ id: 'r0' }, { id: 'r1' }, { id: 'r2' }];

/** Makes a {@link NativeProvider}. */
export function nativeProvider(slug: string, script: NativeScript = {}): NativeProvider {
  const submissions: (NativeSubmission & { read: readonly NativeItem[] })[] = [];
  const cancelled: unknown[] = [];
  const removed: unknown[] = [];
  const counts = { polls: 0, tries: 0, searches: 0, reads: 0 };
  const { found, priceFactor, most } = script;
  const refused = <Value>(kind: FailureKind): NativeReply<Value> => ({
    ok: false,
    failure: failure(kind, `no: ${kind}`),
  });

  function search(results: readonly string[]): NativeReply<NativeJob | undefined> {
    const result = results[Math.min(counts.searches, results.length - 1)];
    counts.searches += 1;
    if (result === 'nothing' || result === 'lost-job') {
      return { ok: true, value: result === 'nothing' ? undefined : { job: { id: result } } };
    }
    return refused(result as FailureKind);
  }

  function findByKey({ key, known = [] }: NativeLookup): NativeReply<NativeJob | undefined> {
    counts.searches += 1;
    const place = submissions.findIndex((one) => one.key === key);
    const id = `job-${place + 1}`;
    if (known.some((job) => job['id'] === id)) throw new Error('a part is known and looked for');
    return { ok: true, value: place < 0 ? undefined : { job: { id } } };
  }

  const batches: NativeBatches = {
    accepts: script.accepts ?? (() => true),
    priceFactor,
    ...(found === undefined ? {} : { find: () => Promise.resolve(search(found)) }),
    ...(most === undefined ? {} : { find: (lookup) => Promise.resolve(findByKey(lookup)) }),
    async submit(submission) {
      const read: NativeItem[] = [];
      for await (const item of submission.items()) read.push(item);
      const refusal =
        read.length > (most ?? Infinity) ? 'too_large' : (script.refusals?.[counts.tries] ?? script.refuses?.(read));
      counts.tries += 1;
      if (refusal !== undefined) return refused(refusal);
      await script.submitting?.();
      submissions.push({ ...submission, read });
      return { ok: true, value: { job: { id: `job-${submissions.length}` }, expiresAt: script.expiresAt } };
    },
    poll() {
      const states = script.states ?? [{ status: 'ended', outcome: 'completed' }];
      const state = states[Math.min(counts.polls, states.length - 1)];
      counts.polls += 1;
      if (state === undefined || typeof state === 'string') return Promise.resolve(refused(state ?? 'server'));
      return Promise.resolve({ ok: true, value: state });
    },
    async *results({ job }) {
      await Promise.resolve();
      const submission = submissions.find((_, place) => job['id'] === `job-${place + 1}`) ?? submissions.at(-1);
      const items = submission?.read ?? LOST_ITEMS;
      const results =
        script.results?.(items) ??
        items.toReversed().map(({ id }) => ({ id, type: 'answered', body: `native ${id}` }) as const);
      counts.reads += 1;
      if (counts.reads > (script.breaks ?? 0)) return yield* results;
      yield* results.slice(0, -1);
      throw new Error('broken off');
    },
    read(body) {
      const reply = answer(body);
      if (reply.type !== 'whole') throw new Error('a whole answer');
      return body === 'broken' ? { type: 'failed', failure: failure('bad_response', 'broken') } : reply;
    },
    cancel({ job }) {
      cancelled.push(job);
      return Promise.resolve({ ok: true, value: undefined });
    },
    remove({ job }) {
      removed.push(job);
      return Promise.resolve({ ok: true, value: 'deleted' });
    },
  };
  const provider = batchProvider(slug, () => answer('one by one'), { batches });
  return Object.defineProperties(provider, {
    submissions: { value: submissions },
    cancelled: { value: cancelled },
    removed: { value: removed },
    polls: { get: () => counts.polls },
    searches: { get: () => counts.searches },
  }) as NativeProvider;
}
