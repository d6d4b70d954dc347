/** A client and a worker for batches, as small as the checks need them. */
import type { BatchStore, ClaimedTask } from '../../contracts/batch-store.ts';
import { expectSame } from '../provider-checks/harness.ts';
import { answered, draftRecord, indexesOf, refused, someItems } from './check.ts';
import { type BatchEvent, INITIAL_EFFECTS, isTerminal, transition } from '../../core/batch/machine.ts';
import type { BatchRecord } from '../../contracts/batch-record.ts';

/** Fails unless exactly one whole batch came of it. */
export async function expectComplete(store: BatchStore, account: string, batchId: string): Promise<void> {
  const { batches } = await store.list(account, { limit: 10 });
  expectSame(
    batches.map(({ id, status }) => [id, status]),
    [[batchId, 'completed']],
    'the batches',
  );
  expectSame(batches[0]?.counts, { total: 20, completed: 16, failed: 4 }, 'the counts of the record');
  expectSame(await store.recount(account, batchId), { completed: 16, failed: 4 }, 'the counts that are counted anew');
  const outcomes = await store.outcomes(account, batchId, -1, 100);
  expectSame(indexesOf(outcomes), indexesOf(someItems(20)), 'the outcomes');
  for (const { index, response, error } of outcomes) {
    expectSame(response?.body, error === undefined ? { said: index } : undefined, `the answer of ${index}`);
  }
}

/** Milliseconds of the leases that the worker takes; it waits for their end after each failure. */
const LEASE_MS = 30;
const ITEMS = 20;
const KEY = { key: 'key-1', fingerprint: 'same', ttlMs: 600_000 };
const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

/** What a run left behind. */
interface SmallRun {
  readonly batchId: string;
  /** How often the end of the batch was told. */
  readonly reported: number;
}

/**
 * A client that creates a batch and a worker that runs it, as small as can be: after each failure of the store it
 * forgets everything it knew, as if the process had been killed, and begins again.
 */
export class SmallWorker {
  readonly #store: BatchStore;
  readonly #account: string;
  readonly #pass: (ms: number) => Promise<void>;
  #turn = 0;
  #reported = 0;

  constructor(store: BatchStore, account: string, pass: (ms: number) => Promise<void>) {
    this.#store = store;
    this.#account = account;
    this.#pass = pass;
  }

  /** Creates a batch of 20 requests and works until nothing is left to do. */
  async run(): Promise<SmallRun> {
    let batchId: string | undefined;
    while (batchId === undefined) batchId = await this.#survive(() => this.#create());
    for (let ended = false; !ended;) ended = (await this.#survive(() => this.#work())) ?? false;
    return { batchId, reported: this.#reported };
  }

  async #survive<Value>(step: () => Promise<Value>): Promise<Value | undefined> {
    try {
      return await step();
    } catch {
      this.#turn += 1;
      if (this.#turn > 1_000) throw new Error('the worker does not get anywhere');
      return undefined;
    }
  }

  async #create(): Promise<string> {
    this.#turn += 1;
    const id = `batch_${this.#turn}`;
    const account = this.#account;
    await this.#store.openDraft(account, id);
    await this.#store.addItems(account, id, someItems(ITEMS / 2));
    await this.#store.addItems(account, id, someItems(ITEMS / 2, ITEMS / 2));
    const record = draftRecord({ id, account, status: 'validating', callbackUrl: 'https://example.com/' });
    const outcome = await this.#store.publish(record, INITIAL_EFFECTS, KEY);
    return outcome.type === 'published' ? outcome.batch.id : outcome.batchId;
  }

  /** Does one task; true when there are none. */
  async #work(): Promise<boolean> {
    this.#turn += 1;
    const [task] = await this.#store.claimTasks({ limit: 1, leaseMs: LEASE_MS, token: `task-${this.#turn}` });
    if (task === undefined) {
      const left = await this.#store.nextTaskIn();
      if (left !== undefined) await this.#pass(left + 1);
      return left === undefined;
    }
    const batch = await this.#store.find(task.account, task.batchId);
    if (batch !== undefined && !(await this.#did(task, batch))) {
      await this.#store.rescheduleTask(task, { afterMs: LEASE_MS });
    } else {
      await this.#store.finishTask(task);
    }
    return false;
  }

  /** False when there is more to do. */
  async #did(task: ClaimedTask, batch: BatchRecord): Promise<boolean> {
    switch (task.effect) {
      case 'validate':
        return this.#move(batch, { type: 'validated' });
      case 'run':
        await this.#runItems(batch);
        return this.#drained(batch);
      case 'finalize':
        return this.#move(batch, { type: 'finalized', usage: USAGE });
      case 'notify':
        if (isTerminal(batch.status)) this.#reported += 1;
        return true;
      case 'stop':
        return true;
    }
  }

  async #runItems({ account, id }: BatchRecord): Promise<void> {
    for (;;) {
      this.#turn += 1;
      const token = `items-${this.#turn}`;
      const claimed = await this.#store.claimItems(account, id, { limit: 7, leaseMs: LEASE_MS, token });
      if (claimed.length === 0) return;
      await this.#store.renewItems(account, id, token, LEASE_MS);
      const outcomes = claimed.map(({ index }) => (index % 5 === 0 ? refused(index) : answered(index)));
      await this.#store.storeOutcomes(account, id, token, outcomes);
    }
  }

  async #drained({ account, id }: BatchRecord): Promise<boolean> {
    const batch = await this.#store.find(account, id);
    if (batch === undefined) return true;
    const { total, completed, failed } = batch.counts;
    return completed + failed < total ? false : this.#move(batch, { type: 'drained' });
  }

  async #move(batch: BatchRecord, event: BatchEvent): Promise<boolean> {
    const now = await this.#store.now();
    const { batch: next, effects, applied } = transition(batch, event, now);
    if (!applied) return true;
    const { account, id } = next;
    return this.#store.save(
      next,
      effects.map((effect) => ({ account, batchId: id, effect, runAt: now })),
    );
  }
}
