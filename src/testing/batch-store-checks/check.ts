import type { BatchStore } from '../../storage/batch-store.ts';

/** The store under check, as its author sets it up. */
export interface BatchStoreHarness {
  /** Gives an open store with nothing in it. Each check asks once, and closes what it got. */
  readonly create: () => Promise<BatchStore>;
  /**
   * Gives another open store over the data of the one that was created last, as another process would have it. Absent
   * where data belongs to one process.
   */
  readonly attach?: (() => Promise<BatchStore>) | undefined;
  /** Lets so many milliseconds of the store's clock pass: at once where the clock can be set, else by waiting. */
  readonly pass: (ms: number) => Promise<void>;
}

/** A check that every batch store must pass. */
export interface BatchStoreCheck {
  /** What must hold, as a sentence. */
  readonly name: string;
  /** True when it only means something for data that several processes may use. */
  readonly needsSharing: boolean;
  /** @throws Error that says what did not hold. */
  readonly run: (harness: BatchStoreHarness) => Promise<void>;
}

/** What a check works with. */
export interface Bench {
  readonly store: BatchStore;
  /** Lets milliseconds of the store's clock pass. */
  readonly pass: (ms: number) => Promise<void>;
}

/** What a check of shared data works with. */
export interface SharedBench extends Bench {
  /** The same data from elsewhere. */
  readonly other: BatchStore;
}

/** Makes a check. */
export function check(name: string, body: (store: BatchStore, bench: Bench) => Promise<void>): BatchStoreCheck {
  return {
    name,
    needsSharing: false,
    async run({ create, pass }) {
      const store = await create();
      try {
        await body(store, { store, pass });
      } finally {
        await store.close();
      }
    },
  };
}

/** Makes a check of data that several processes use. */
export function sharedCheck(name: string, body: (bench: SharedBench) => Promise<void>): BatchStoreCheck {
  return {
    name,
    needsSharing: true,
    async run({ create, attach, pass }) {
      if (attach === undefined) throw new Error('this check needs a harness with attach()');
      const store = await create();
      const other = await attach();
      try {
        await body({ store, other, pass });
      } finally {
        await Promise.all([store.close(), other.close()]);
      }
    },
  };
}

/** Fails unless a promise rejects with an error of this name. */
export async function expectRejected(promise: Promise<unknown>, name: string, what: string): Promise<Error> {
  let error: unknown;
  try {
    await promise;
  } catch (thrown) {
    error = thrown;
  }
  if (error instanceof Error && error.name === name) return error;
  const instead = error instanceof Error ? `${error.name}: ${error.message}` : 'no error';
  throw new Error(`${what} rejects with a ${name}, but there was ${instead}`);
}
