import type { Environment } from '../environment.ts';

/** How something of a plugin came out. */
export type BoundedOutcome =
  | { readonly type: 'value'; readonly value: unknown }
  | { readonly type: 'threw'; readonly thrown: unknown }
  | { readonly type: 'late' };

/** Reason of the abort that ends whatever a plugin still has under way. */
const OVER = new DOMException('This hook is over', 'AbortError');

/**
 * Runs foreign code for a limited time, and no longer than its caller stays. It is told by its signal; whether it
 * listens makes no difference to who waits here. What it does afterwards is nobody's business any more.
 *
 * @throws The caller's reason when the caller goes away.
 */
export async function runBounded(
  environment: Environment,
  caller: AbortSignal,
  timeoutMs: number,
  start: (signal: AbortSignal) => unknown,
): Promise<BoundedOutcome> {
  caller.throwIfAborted();
  const controller = new AbortController();
  let wake: (outcome: BoundedOutcome | undefined) => void = ignore;
  const interrupted = new Promise<BoundedOutcome | undefined>((resolve) => (wake = resolve));
  const leave = (): void => wake(undefined);
  caller.addEventListener('abort', leave);
  const timer = environment.setTimer(() => wake({ type: 'late' }), timeoutMs);
  try {
    const outcome = await Promise.race([outcomeOf(start, controller.signal), interrupted]);
    if (outcome === undefined) caller.throwIfAborted();
    return outcome ?? { type: 'late' };
  } finally {
    environment.clearTimer(timer);
    caller.removeEventListener('abort', leave);
    controller.abort(OVER);
  }
}

async function outcomeOf(start: (signal: AbortSignal) => unknown, signal: AbortSignal): Promise<BoundedOutcome> {
  try {
    return { type: 'value', value: await start(signal) };
  } catch (thrown) {
    return { type: 'threw', thrown };
  }
}

function ignore(): void {}
