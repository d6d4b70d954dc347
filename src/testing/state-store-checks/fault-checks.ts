/** Checks for state stores: a server that hangs, refuses changes or is replaced. */
import type { StateStore } from '../../contracts/state-store.ts';
import type { JsonValue } from '../../protocol/json.ts';
import { expectSame } from '../provider-checks/harness.ts';
import { LONG_MS, type StateStoreCheck, type StateStoreFaults, type StateStoreHarness } from './check.ts';

type Pass = StateStoreHarness['pass'];

/** Steps of waiting for a store that comes back, and how long one is. */
const STEPS = 200;
const STEP_MS = 50;

function faultCheck(
  fault: keyof StateStoreFaults,
  name: string,
  body: (
    store: StateStore,
    attach: () => Promise<StateStore>,
    bring: () => Promise<() => Promise<void>>,
    pass: Pass,
  ) => Promise<void>,
): StateStoreCheck {
  const run = async ({ create, attach, pass, faults }: StateStoreHarness): Promise<void> => {
    const [bring, other] = [faults?.[fault], attach];
    if (other === undefined || bring === undefined) throw new Error(`this check needs attach() and faults.${fault}()`);
    const store = await create();
    let end: (() => Promise<void>) | undefined;
    try {
      await body(
        store,
        async () => other(),
        async () => (end = await bring()),
        pass,
      );
    } finally {
      await end?.();
      await store.close?.();
    }
  };
  return { name, needsSharing: true, needsFault: fault, run };
}

/** Waits until another place sees these values. What is not there counts as 0. */
async function untilSeen(store: StateStore, wanted: Readonly<Record<string, JsonValue>>, pass: Pass): Promise<void> {
  const seen: Record<string, JsonValue> = {};
  for (let step = 0; step < STEPS; step += 1) {
    for (const key of Object.keys(wanted)) seen[key] = (await store.get(key)) ?? 0;
    if (JSON.stringify(seen) === JSON.stringify(wanted)) return;
    await pass(STEP_MS);
  }
  expectSame(seen, wanted, 'what is seen elsewhere');
}

/** Notes something again and again until another place sees it. */
async function untilShared(store: StateStore, other: StateStore, pass: Pass): Promise<void> {
  for (let step = 0; step < STEPS; step += 1) {
    await store.set(`shared ${step}`, true, LONG_MS);
    if ((await other.get(`shared ${step}`)) === true) return;
    await pass(STEP_MS);
  }
  throw new Error('what is noted once the fault is over is never seen elsewhere');
}

const CLAIM = { key: 'held', by: 5, ttlMs: LONG_MS, max: 10 };
const SETTLED = [
  { key: 'held', by: -5, ttlMs: LONG_MS },
  { key: 'spent', by: 3, ttlMs: LONG_MS },
];

/** Checks of what becomes of a store whose server stands still, refuses changes, or is replaced. */
export const stateFaultChecks: readonly StateStoreCheck[] = [
  faultCheck(
    'freeze',
    'leaves nothing of a claim that was made while its server stood still',
    async (store, attach, freeze, pass) => {
      await store.get('key');
      const thaw = await freeze();
      expectSame((await store.change([CLAIM])).applied, true, 'whether the claim is granted');
      await pass(10 * STEP_MS);
      await thaw();
      const other = await attach();
      await untilShared(store, other, pass);
      await untilSeen(other, { held: 0 }, pass);
      await store.change(SETTLED);
      await untilSeen(other, { held: 0, spent: 3 }, pass);
      await other.close?.();
    },
  ),
  faultCheck(
    'freeze',
    'settles a claim that it had made before its server stood still',
    async (store, attach, freeze, pass) => {
      await store.change([CLAIM]);
      const thaw = await freeze();
      await store.change(SETTLED);
      await pass(10 * STEP_MS);
      await thaw();
      const other = await attach();
      await untilSeen(other, { held: 0, spent: 3 }, pass);
      await other.close?.();
    },
  ),
  faultCheck(
    'loseAnswers',
    'counts a cost once although the answer to it was lost',
    async (store, attach, loseAnswers, pass) => {
      await store.change([CLAIM]);
      const end = await loseAnswers();
      await store.change(SETTLED);
      await pass(10 * STEP_MS);
      await end();
      const other = await attach();
      await untilShared(store, other, pass);
      await untilSeen(other, { held: 0, spent: 3 }, pass);
      await pass(10 * STEP_MS);
      await untilSeen(other, { held: 0, spent: 3 }, pass);
      await store.change([CLAIM]);
      await store.change(SETTLED);
      await untilSeen(other, { held: 0, spent: 6 }, pass);
      await other.close?.();
    },
  ),
  faultCheck(
    'loseAnswers',
    'leaves nothing of a claim the answer to which was lost',
    async (store, attach, loseAnswers, pass) => {
      await store.change([{ ...CLAIM, by: 0 }]);
      const end = await loseAnswers();
      expectSame((await store.change([CLAIM])).applied, true, 'whether the claim is granted');
      await pass(10 * STEP_MS);
      await end();
      const other = await attach();
      await untilShared(store, other, pass);
      await untilSeen(other, { held: 0 }, pass);
      await store.change(SETTLED);
      await untilSeen(other, { held: 0, spent: 3 }, pass);
      await other.close?.();
    },
  ),
  ...(['refuseWrites', 'failOver'] as const).map((fault) =>
    faultCheck(
      fault,
      fault === 'failOver' ? 'finds the server that takes over' : 'comes back when its server takes changes again',
      async (store, attach, bring, pass) => {
        await store.change([CLAIM]);
        const end = await bring();
        await store.change(SETTLED);
        if (fault === 'refuseWrites') {
          await store.set('key', 'local', LONG_MS);
          expectSame(await store.get('key'), 'local', 'what was noted meanwhile');
          await end();
        }
        const other = await attach();
        await untilShared(store, other, pass);
        await untilSeen(other, { held: 0, spent: 3 }, pass);
        await other.close?.();
      },
    ),
  ),
];
