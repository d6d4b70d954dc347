import { RouterError } from '../../protocol/router-error.ts';
import { echo, faultAt } from '../../protocol/fault.ts';
import { formatInCommon } from '../../core/batch/item-rules.ts';
import type { TaskResult, TaskSignals } from '../../contracts/task-queue.ts';
import type { ClaimedTask, StoredItem } from '../../contracts/batch-store.ts';
import { faultOfLine } from '../../core/batch/wire-batch.ts';
import { nextTurn } from '../../platform/wait.ts';
import { errorOfFault } from '../chat/router-errors.ts';
import { applyEvent, type BatchPorts, DONE } from './ports.ts';
import { PageSize } from './page-size.ts';

/** Requests that are read first. */
const FIRST_PAGE = 16;
/** Characters of requests that are checked before everybody else has a turn. */
const TURN_LENGTH = 16_384;

/** What checking a request costs besides its length, in characters. */
const PER_REQUEST = 1_024;

const OTHER_FORMAT =
  "must be the same in all requests of a batch for Google's models; make a batch of its own for each format";

/** Checks every request of a batch. One bad request fails all of it, before anything was sent (gaps 8.4). */
export async function validateTask(ports: BatchPorts, task: ClaimedTask, signals: TaskSignals): Promise<TaskResult> {
  const { store, limits, failPoint } = ports;
  const batch = await store.find(task.account, task.batchId);
  if (batch?.status !== 'validating') return DONE;
  if (batch.error !== undefined) {
    await applyEvent(ports, batch, { type: 'rejected', ...batch.error });
    return DONE;
  }
  const account = await ports.accountOf(batch);
  const page = new PageSize(FIRST_PAGE);
  let format: string | undefined;
  const check = async ({ body }: StoredItem): Promise<void> => {
    const own = formatInCommon((await ports.calls.prepare(batch, body, account)).request);
    if ((format ??= own) !== own) throw errorOfFault(faultAt('response_format', OTHER_FORMAT));
  };
  let unrested = 0;
  for (let after = -1, items; ; after = items.at(-1)?.index ?? after) {
    items = await store.items(task.account, task.batchId, after, page.limit);
    if (items.length === 0) break;
    page.came(
      items.length,
      items.reduce((sum, { body }) => sum + body.length, 0),
    );
    for (const item of items) {
      signals.signal.throwIfAborted();
      if (signals.stopping.aborted) return { type: 'again', afterMs: 0, reset: true };
      const message = await problemOf(item, check);
      if (message !== undefined) {
        const fault = batch.inputFileId === undefined ? { message } : faultOfLine(message);
        await applyEvent(ports, batch, { type: 'rejected', ...fault });
        return DONE;
      }
      unrested += item.body.length + PER_REQUEST;
      if (unrested < TURN_LENGTH) continue;
      unrested = 0;
      await nextTurn();
    }
    await failPoint('validate.reading');
  }
  await failPoint('validate.done');
  await applyEvent(ports, batch, { type: 'validated', expiresAt: batch.createdAt + limits.windowMs });
  return DONE;
}

/** What is wrong with a request, with its place in front. */
async function problemOf(item: StoredItem, check: (item: StoredItem) => Promise<void>): Promise<string | undefined> {
  const { index, customId } = item;
  try {
    await check(item);
    return undefined;
  } catch (error) {
    if (!RouterError.isInstance(error) || error.status >= 500) throw error;
    const { message, metadata } = error;
    const { path } = metadata;
    const place = `requests[${index}].body`;
    const located = typeof path === 'string' && path !== '' && message.startsWith(path);
    return `${located ? `${place}.${message}` : `${place}: ${message}`} (custom_id ${echo(customId)})`;
  }
}
