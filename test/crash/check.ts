import type { BatchStore, StoredOutcome } from 'signalbox';
import type { Blow } from './blows.ts';
import { earlyEvents, lateCalls, unexplainedCalls } from './check-calls.ts';
import { SIZES, type Story, textOf } from './stories.ts';
import type { CrashUpstream } from './upstream.ts';

/** Everything that is known at the end of a crash test. */
export interface Evidence {
  readonly store: BatchStore;
  readonly upstream: Pick<CrashUpstream, 'calls' | 'webhooks'>;
  /** Batches that a worker said it created, by idempotency key; undefined for those that never came to be. */
  readonly batches: ReadonlyMap<string, { readonly story: Story; readonly id: string | undefined }>;
  /** Ids of results that workers said they stored, by batch and index. */
  readonly stored: ReadonlyMap<string, readonly string[]>;
  /** What workers said about batches, by id, and with `*` as the id where they did not say which one. */
  readonly heard: ReadonlyMap<string, readonly string[]>;
  /** Ends of processes that the test did not cause. */
  readonly exits: readonly string[];
  /** What was done to processes. */
  readonly blows: readonly Blow[];
  readonly leaseMs: number;
}

/** What a check found. */
export interface Findings {
  readonly lost: readonly string[];
  readonly doubled: readonly string[];
  readonly exits: readonly string[];
  /** Requests that were given up because their process died every time. */
  readonly givenUp: number;
  /** Upstream calls beyond one for each request. */
  readonly repeatedCalls: number;
  /** Those of them that follow from nothing that happened. */
  readonly unexplained: readonly string[];
  /** Upstream calls for batches that had been cancelled or had expired. */
  readonly late: readonly string[];
  /** Events about ends that nobody could read yet. */
  readonly early: readonly string[];
  /** What is known about each batch of which something was lost or doubled. */
  readonly histories: readonly string[];
}

/** Account of all batches of the crash test. */
export const ACCOUNT = 'anonymous';
const ENDS: Readonly<Record<Story, readonly string[]>> = {
  plain: ['completed'],
  shared: ['completed'],
  native: ['completed'],
  deferred: ['completed'],
  cancel: ['cancelled', 'completed'],
  expire: ['expired'],
};

/** Looks through the store and both logs for anything that was lost or that happened twice. */
export async function check(evidence: Evidence): Promise<Findings> {
  const { store, upstream, batches, exits } = evidence;
  const calls = { ...evidence, calls: upstream.calls };
  const lost: string[] = [];
  const doubled: string[] = [];
  const histories: string[] = [];
  const late: string[] = [];
  let givenUp = 0;
  const ids = new Set<string>();
  for (const [key, { story, id }] of batches) {
    if (id === undefined) {
      lost.push(`${key}: was never created`);
      continue;
    }
    if (ids.has(id)) doubled.push(`${key}: has the batch of another key`);
    ids.add(id);
    const found = await checkBatch(evidence, key, story, id);
    lost.push(...found.lost);
    doubled.push(...found.doubled);
    givenUp += found.givenUp;
    late.push(...(await lateCalls(calls, store, ACCOUNT, { key, id, story })));
    if (found.lost.length + found.doubled.length > 0) histories.push(await historyOf(evidence, key, id));
  }
  for (const id of await allIds(store)) if (!ids.has(id)) doubled.push(`${id}: was created, and nobody was told`);
  const tasks = await store.nextTaskIn();
  if (tasks !== undefined) lost.push(`there is still something to be done, in ${tasks} ms`);
  const repeatedCalls = [...upstream.calls.values()].reduce((sum, { length }) => sum + length - 1, 0);
  const unexplained = unexplainedCalls(calls);
  return {
    lost,
    doubled,
    exits,
    givenUp,
    repeatedCalls,
    unexplained,
    late,
    early: earlyEvents(upstream.webhooks),
    histories,
  };
}

async function checkBatch({ store, upstream, stored }: Evidence, key: string, story: Story, id: string) {
  const lost: string[] = [];
  const doubled: string[] = [];
  let givenUp = 0;
  const batch = await store.find(ACCOUNT, id);
  if (batch === undefined) return { lost: [`${key}: is gone`], doubled, givenUp };
  const { status, counts, usage } = batch;
  if (!ENDS[story].includes(status)) lost.push(`${key}: is ${status}`);
  const size = SIZES[story];
  const { completed, failed, total } = counts;
  if (total !== size) lost.push(`${key}: has ${total} requests instead of ${size}`);
  if (completed + failed < size) lost.push(`${key}: ${completed + failed} of ${size} requests have outcomes`);
  if (completed + failed > size) doubled.push(`${key}: counts ${completed + failed} outcomes of ${size} requests`);
  const recounted = await store.recount(ACCOUNT, id);
  if (recounted.completed !== completed || recounted.failed !== failed) {
    doubled.push(`${key}: counts ${completed}+${failed}, and there are ${recounted.completed}+${recounted.failed}`);
  }

  const outcomes = await store.outcomes(ACCOUNT, id, -1, size + 1);
  const indexes = new Set(outcomes.map(({ index }) => index));
  if (indexes.size !== outcomes.length) doubled.push(`${key}: has two outcomes of one request`);
  for (let index = 0; index < size; index += 1) if (!indexes.has(index)) lost.push(`${key}/${index}: has no outcome`);
  for (const outcome of outcomes) {
    const { index, customId, resultId, response, error } = outcome;
    const name = textOf(key, index);
    if (customId !== name) lost.push(`${name}: has the outcome of ${customId}`);
    if (error?.message.startsWith('This request was started several times') === true) givenUp += 1;
    else if (error !== undefined && ENDS[story][0] === 'completed') lost.push(`${name}: ${error.message}`);
    if (response !== undefined && textIn(outcome) !== `answer to ${name}`) lost.push(`${name}: has another's answer`);
    if (response !== undefined && story !== 'native' && !upstream.calls.has(name)) lost.push(`${name}: was never sent`);
    const said = stored.get(`${id}/${index}`) ?? [];
    if (said.length > 1) doubled.push(`${name}: was stored ${said.length} times`);
    if (said.some((one) => one !== resultId)) doubled.push(`${name}: was stored, and then replaced`);
  }
  if (status === 'completed' && usage?.total_tokens !== 15 * completed) {
    doubled.push(`${key}: adds up ${usage?.total_tokens} tokens of ${completed} answers`);
  }

  const events = upstream.webhooks.filter(({ body }) => body.includes(`"${id}"`));
  const told = new Set(events.map((event) => `${event.id} ${event.body}`));
  if (!events.some(({ accepted }) => accepted)) lost.push(`${key}: nobody was told of its end`);
  if (told.size > 1) doubled.push(`${key}: its end was told as ${told.size} different events`);
  return { lost, doubled, givenUp };
}

/** For whoever looks for the cause. */
async function historyOf({ store, heard }: Evidence, key: string, id: string): Promise<string> {
  const batch = await store.find(ACCOUNT, id);
  const head = `${key} (${id}): ${batch?.status}, ${JSON.stringify(batch?.counts)}, ${batch?.error?.message ?? 'no error'}`;
  return [head, ...(heard.get(id) ?? [])].join('\n  ');
}

function textIn({ response }: StoredOutcome): unknown {
  const body = response?.body as {
    readonly choices?: readonly { readonly message?: { readonly content?: unknown } }[];
  };
  return body.choices?.[0]?.message?.content;
}

async function allIds(store: BatchStore): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let after: string | undefined; ; after = ids.at(-1)) {
    const { batches, more } = await store.list(ACCOUNT, { limit: 100, after });
    ids.push(...batches.map(({ id }) => id));
    if (!more) return ids;
  }
}
