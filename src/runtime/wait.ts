import type { Environment } from './environment.ts';

/** Waits, unless the signal is aborted meanwhile. The only place where the router waits for time to pass. */
export function wait(environment: Environment, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const finish = (): void => {
      environment.clearTimer(timer);
      signal.removeEventListener('abort', finish);
      resolve();
    };
    const timer = environment.setTimer(finish, ms);
    signal.addEventListener('abort', finish);
  });
}
