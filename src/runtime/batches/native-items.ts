import type { Endpoint } from '../../catalog/endpoint.ts';
import type { Account } from '../../core/account.ts';
import type { BatchRecord } from '../../core/batch/batch-record.ts';
import type { NativeItem } from '../../contracts/native-batches.ts';
import { aliasOf } from './native-job.ts';
import type { NativePart } from './native-parts.ts';
import { mayLeave } from './native-route.ts';
import type { BatchPorts } from './ports.ts';

/** Requests that are read at a time. */
const PAGE = 16;

/** A request that would go another way than the first one. */
export class SeparateWays extends Error {}

/** The requests of a batch, or of a part of it, on their way to an endpoint. @throws {@link SeparateWays} */
export async function* readItems(
  { store, calls }: BatchPorts,
  batch: BatchRecord,
  account: Account,
  endpoint: Endpoint,
  { from, to }: NativePart = { from: 0, to: Infinity },
): AsyncGenerator<NativeItem, void, undefined> {
  for (let after = from - 1, items; ; after = items.at(-1)?.index ?? after) {
    items = await store.items(batch.account, batch.id, after, PAGE);
    if (items.length === 0) return;
    for (const { index, body } of items) {
      if (index >= to) return;
      const { request, plain } = await calls.prepare(batch, body, account);
      if (!mayLeave(request, plain) || !calls.route(request).some(({ id }) => id === endpoint.id)) {
        throw new SeparateWays(`request ${index} goes another way`);
      }
      yield { id: aliasOf(index), request };
    }
  }
}
