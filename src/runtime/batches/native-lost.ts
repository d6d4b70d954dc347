import type { Account } from '../../core/account.ts';
import type { BatchRecord } from '../../core/batch/batch-record.ts';
import type { AttemptFailure, FailureKind } from '../../core/fallback/failure.ts';
import type { NativeJob, NativeReply } from '../../contracts/native-batches.ts';
import { lookupOf, type NativeRoute, type NativeRoutes } from './native-route.ts';

/** A batch at a provider that nobody remembered. */
export interface FoundJob {
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
  return SILENCE.has(kind) && status !== 501;
}

const SILENCE: ReadonlySet<FailureKind> = new Set([
  'connection',
  'unreachable',
  'timeout',
  'rate_limited',
  'overloaded',
  'server',
]);
