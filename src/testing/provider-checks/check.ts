import type { ProviderAbility, ProviderHarness } from './harness.ts';

/** A check that every provider must pass. */
export interface ProviderCheck {
  /** What must hold, as a sentence. */
  readonly name: string;
  /** What the provider must be able to do for this check to mean something. */
  readonly needs: readonly ProviderAbility[];
  /** @throws Error that says what did not hold. */
  readonly run: (harness: ProviderHarness) => Promise<void>;
}

/** Makes a check. */
export function check(
  name: string,
  needs: readonly ProviderAbility[],
  run: (harness: ProviderHarness) => Promise<void>,
): ProviderCheck {
  return { name, needs, run };
}

/** Fails unless two values are the same JSON, whatever the order of their members. */
export function expectSame(actual: unknown, expected: unknown, what: string): void {
  const [got, wanted] = [canonical(actual), canonical(expected)];
  if (got !== wanted) throw new Error(`${what} is ${wanted}, but was ${got}`);
}

/** Fails unless something holds. */
export function expectHolds(holds: boolean, what: string): void {
  if (!holds) throw new Error(`does not hold: ${what}`);
}

/** Waits until something holds; fails when it does not within two seconds. */
export async function expectSoon(holds: () => boolean, what: string): Promise<void> {
  for (let waited = 0; !holds(); waited += TURN_MS) {
    if (waited > SOON_MS) throw new Error(`does not hold after ${SOON_MS} ms: ${what}`);
    await pause(TURN_MS);
  }
}

/** Waits for a promise, but not for ever. */
export async function expectSettled<Value>(promise: Promise<Value>, what: string): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`does not happen within ${SOON_MS} ms: ${what}`)), SOON_MS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Lets so many milliseconds pass. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

const TURN_MS = 5;
const SOON_MS = 2_000;

function canonical(value: unknown): string {
  return (
    JSON.stringify(value, (_, member: unknown) =>
      typeof member === 'object' && member !== null && !Array.isArray(member)
        ? Object.fromEntries(Object.entries(member).sort(([left], [right]) => (left < right ? -1 : 1)))
        : member,
    ) ?? 'nothing'
  );
}
