import type { TaskResult } from '../../contracts/task-queue.ts';
import type { Environment } from '../../platform/environment.ts';

/** Nothing is left to do. */
export const DONE: TaskResult = { type: 'done' };

/** Makes ids of results. */
export function resultIds({ environment }: { readonly environment: Environment }): () => string {
  return () => `batch_req_${environment.randomText(24)}`;
}
