/** Waits for something that happens soon, and for no longer. */
import { expect, vi } from 'vitest';

/**
 * Resolves with what is found, once that is neither undefined nor false; looks every few milliseconds.
 *
 * @param timeout - Milliseconds after which it fails; longer than a busy machine stops a process for. Default 30,000.
 */
export async function until<Found>(find: () => Found | Promise<Found>, timeout = 30_000): Promise<NonNullable<Found>> {
  const look = async (): Promise<NonNullable<Found>> => {
    const found = await find();
    if (found === undefined || found === null || found === false) expect.fail('It does not happen');
    return found;
  };
  return vi.waitFor(look, { timeout, interval: 2 });
}
