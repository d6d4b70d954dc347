import type { NativeBatches, NativeItem, NativeReply, NativeResult, NativeState, NativeSubmission } from 'signalbox';
import type { FailureKind } from '../../src/core/fallback/failure.ts';
import { failure } from '../../src/core/fallback/failure.ts';
import { type BatchProvider, answer, batchProvider } from './batches.ts';

/** What a batch API of a test does. */
export interface NativeScript {
  readonly accepts?: NativeBatches['accepts'];
  /** Failures of the first submissions. */
  readonly refusals?: readonly FailureKind[];
  readonly expiresAt?: number;
  /** How the batch stands, look after look; the last one for ever. */
  readonly states?: readonly (NativeState | FailureKind)[];
  /** What comes back, in this order. Default: an answer to each request, the last one first. */
  readonly results?: (items: readonly NativeItem[]) => readonly NativeResult[];
}

/** A provider with a batch API, and what it was asked. */
export interface NativeProvider extends BatchProvider {
  readonly submissions: readonly (NativeSubmission & { readonly read: readonly NativeItem[] })[];
  readonly polls: number;
  readonly cancelled: readonly unknown[];
  readonly removed: readonly unknown[];
}

/** Makes a {@link NativeProvider}. */
export function nativeProvider(slug: string, script: NativeScript = {}): NativeProvider {
  const submissions: (NativeSubmission & { read: readonly NativeItem[] })[] = [];
  const cancelled: unknown[] = [];
  const removed: unknown[] = [];
  const counts = { polls: 0, tries: 0 };
  const refused = <Value>(kind: FailureKind): NativeReply<Value> => ({
    ok: false,
    failure: failure(kind, `no: ${kind}`),
  });

  const batches: NativeBatches = {
    accepts: script.accepts ?? (() => true),
    async submit(submission) {
      const read: NativeItem[] = [];
      for await (const item of submission.items()) read.push(item);
      const refusal = script.refusals?.[counts.tries];
      counts.tries += 1;
      if (refusal !== undefined) return refused(refusal);
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
    async *results() {
      await Promise.resolve();
      const items = submissions.at(-1)?.read ?? [];
      yield* (
        script.results?.(items) ??
          items.toReversed().map(({ id }) => ({ id, type: 'answered', body: `native ${id}` }) as const)
      );
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
  }) as NativeProvider;
}
