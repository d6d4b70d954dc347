/** Checks for batch stores: a batch runs through an outage of its store. */
import { StorageError } from '../../contracts/storage-error.ts';
import type { BatchStore } from '../../contracts/batch-store.ts';
import { expectHolds } from '../provider-checks/harness.ts';
import type { BatchStoreCheck, BatchStoreFaults } from './check.ts';
import { expectComplete, SmallWorker } from './small-worker.ts';

type Fault = keyof BatchStoreFaults;
type Bring = () => Promise<() => Promise<void>>;

/** Milliseconds that a fault lasts: longer than leases. */
const AWAY_MS = 300;
/** Milliseconds between a call that failed and the next. */
const STEP_MS = 30;
/** Calls at which a fault begins: a draft is filled, published, claimed; outcomes are stored; the batch is completed. */
const MOMENTS: readonly number[] = [2, 4, 10, 11, 18];

/** A store that suffers a fault from its n-th call on. */
interface SufferingStore {
  readonly store: BatchStore;
  /** What calls failed with. */
  readonly failures: readonly unknown[];
  /** Resolves when the fault is over; at once when it never began. */
  readonly over: () => Promise<void>;
}

/** A fault that begins at a call of the store. */
interface ComingFault {
  /** The number of the call. */
  readonly nth: number;
  readonly bring: Bring;
  /** Whether it ends by itself; else it lasts until its end is waited for. */
  readonly passes: boolean;
}

function sufferingStore(
  inner: BatchStore,
  { nth, bring, passes }: ComingFault,
  pass: (ms: number) => Promise<void>,
): SufferingStore {
  const failures: unknown[] = [];
  let calls = 0;
  let end: (() => Promise<void>) | undefined;
  let fault: Promise<void> | undefined;
  const store = new Proxy(inner, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return async (...values: unknown[]): Promise<unknown> => {
        calls += 1;
        if (calls === nth) {
          end = await bring();
          if (passes) fault = pass(AWAY_MS).then(end);
        }
        try {
          return (await Reflect.apply(member, target, values)) as unknown;
        } catch (error) {
          failures.push(error);
          await pass(STEP_MS);
          throw error;
        }
      };
    },
  });
  return { store, failures, over: async () => (fault ??= end?.()) };
}

function outageCheck(fault: Fault, name: string): BatchStoreCheck {
  return {
    name,
    needsSharing: false,
    needsFault: fault,
    async run({ create, pass, faults }) {
      const bring = faults?.[fault];
      if (bring === undefined) throw new Error(`this check needs faults.${fault}()`);
      const store = await create();
      try {
        for (const moment of MOMENTS) {
          const account = `${fault}-${moment}`;
          const passes = fault !== 'failOver';
          const suffering = sufferingStore(store, { nth: moment, bring, passes }, pass);
          try {
            const { batchId, reported } = await new SmallWorker(suffering.store, account, pass).run();
            if (passes) await suffering.over();
            await expectComplete(store, account, batchId);
            expectHolds(reported >= 1, 'its end was told');
            expectStorageErrors(suffering.failures);
          } catch (error) {
            throw new Error(`when it begins with call ${moment}: ${String(error)}`, { cause: error });
          } finally {
            await suffering.over();
          }
        }
      } finally {
        await store.close();
      }
    },
  };
}

/** Whoever operates it has to learn what is wrong, and from a failure without a reason nobody does. */
function expectStorageErrors(failures: readonly unknown[]): void {
  const other = failures.find((error) => !StorageError.isInstance(error) || error.reason === 'failed');
  expectHolds(other === undefined, `calls fail with a StorageError that has a reason, not with ${String(other)}`);
}

/** Checks of a batch that runs while what is behind its store is in trouble. */
export const outageChecks: readonly BatchStoreCheck[] = [
  outageCheck('refuseWrites', 'loses and doubles nothing while changes are refused'),
  outageCheck('failOver', 'loses and doubles nothing when another server takes over, and finds it'),
  outageCheck('breakConnections', 'loses and doubles nothing while connections are ended'),
  outageCheck('loseAnswers', 'loses and doubles nothing while answers get lost'),
  outageCheck('freeze', 'loses and doubles nothing when its server stands still and carries out late what it was sent'),
  outageCheck('fill', 'loses and doubles nothing while the disk is full'),
];
