import type { BatchStoreFaults } from 'signalbox/testing';
import { StorageError } from 'signalbox';
import { expect } from 'vitest';

/** Milliseconds that a fault lasts. */
const AWAY_MS = 300;
const STEP_MS = 20;

/** Times for a test that brings several faults about. */
export const OUTAGES_TIMEOUT_MS = 60_000;

/**
 * Does a step again and again until it works, while a fault begins before the first try and ends after a while; one that
 * leads to another server has to be got over while it lasts.
 *
 * @returns Why the tries failed.
 */
export async function outlasting(
  fault: keyof BatchStoreFaults,
  bring: () => Promise<() => Promise<void>>,
  step: () => unknown,
): Promise<readonly string[]> {
  const end = await bring();
  const endsAt = performance.now() + AWAY_MS;
  let isOver = false;
  const reasons: string[] = [];
  try {
    for (let turn = 0; ; turn += 1) {
      if (!isOver && fault !== 'failOver' && performance.now() > endsAt) {
        isOver = true;
        await end();
      }
      try {
        await step();
        return reasons;
      } catch (error) {
        if (!StorageError.isInstance(error) || error.reason === 'failed' || turn > 500) throw error;
        reasons.push(error.reason);
      }
      await new Promise((resolve) => setTimeout(resolve, STEP_MS));
    }
  } finally {
    if (!isOver) await end();
  }
}

/** Fails unless each fault that is there made the tries fail for a reason that says what it is. */
export function expectReasons(reasons: readonly string[]): void {
  expect(reasons.filter((reason) => !['read_only', 'unavailable', 'busy', 'full'].includes(reason))).toEqual([]);
}
