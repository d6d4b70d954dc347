import type { BatchStore } from 'signalbox';
import { type Blow, wasFelt } from './blows.ts';
import { SIZES, type Story, textOf } from './stories.ts';
import type { CrashCall, CrashWebhook } from './upstream.ts';

/** What is known about calls. */
export interface CallEvidence {
  readonly calls: ReadonlyMap<string, readonly CrashCall[]>;
  readonly blows: readonly Blow[];
  readonly leaseMs: number;
}

/**
 * Calls that were repeated for no reason. Each repetition must follow from something that happened, between the two
 * calls, to a process that made one of them: so there are no more of them than calls that were under way at blows.
 */
export function unexplainedCalls({ calls, blows, leaseMs }: CallEvidence): readonly string[] {
  return [...calls].flatMap(([name, all]) =>
    all.slice(1).flatMap((again, place) => {
      const before = all[place] ?? again;
      const isExplained = blows.some(
        (blow) =>
          (blow.process === undefined || blow.process === before.process || blow.process === again.process) &&
          wasFelt(blow, before.at, again.at, leaseMs),
      );
      if (isExplained) return [];
      const after = `${again.at - before.at} ms after process ${before.process}`;
      return [`${name}: process ${again.process} sent it again ${after}, and nothing had happened to either`];
    }),
  );
}

/** Calls for a batch that was cancelled or expired for longer than a lease, by processes that could know it (I9). */
export async function lateCalls(
  { calls, blows, leaseMs }: CallEvidence,
  store: BatchStore,
  account: string,
  { key, id, story }: { readonly key: string; readonly id: string; readonly story: Story },
): Promise<readonly string[]> {
  const batch = await store.find(account, id);
  const endedAt = batch?.finalizedAt ?? Infinity;
  if (batch?.status !== 'cancelled' && batch?.status !== 'expired') return [];
  const all = Array.from({ length: SIZES[story] }, (_, index) => textOf(key, index)).flatMap((name) =>
    (calls.get(name) ?? []).map((call) => ({ name, ...call })),
  );
  const late = all.filter(({ at, process }) => {
    if (at <= endedAt + leaseMs) return false;
    const own = blows.filter((blow) => blow.process === undefined || blow.process === process);
    return !own.some((blow) => wasFelt(blow, at, at, leaseMs));
  });
  return late.map(({ name, at }) => `${name}: was sent ${at - endedAt} ms after its batch was ${batch.status}`);
}

/** Events about a batch that could not be read at that moment in the state that they told (I7). */
export function earlyEvents(webhooks: readonly CrashWebhook[]): readonly string[] {
  return webhooks.flatMap(({ id, body, seen }) => {
    if (seen === undefined) return [];
    const { type } = JSON.parse(body) as { readonly type: string };
    return type === `batch.${seen}` ? [] : [`${id}: told ${type} of a batch that was ${seen}`];
  });
}
