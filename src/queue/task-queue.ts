import type { ClaimedTask } from '../storage/batch-store.ts';
import type { JsonObject } from '../protocol/json.ts';

/** What a run of a task came to. */
export type TaskResult =
  | { readonly type: 'done' }
  /** To be run again. `reset` starts counting attempts anew, because there was progress. */
  | {
      readonly type: 'again';
      readonly afterMs: number;
      readonly memo?: JsonObject | undefined;
      readonly reset?: boolean | undefined;
    };

/** Runs one task. The signal is aborted when the lease is lost or the queue stops. */
export type TaskHandler = (task: ClaimedTask, signal: AbortSignal) => Promise<TaskResult>;

/**
 * Decides when and where tasks run. They are saved in the batch store together with the change that they follow from,
 * so a queue may lose everything that it knows and nothing is lost: it only has to find them again.
 */
export interface TaskQueue {
  /** Begins to run tasks. */
  start(handler: TaskHandler): Promise<void>;
  /** There may be a new task. Cheap; may be called often. */
  wake(): void;
  /** Runs what is due now and comes back when it is done, for hosts where nothing runs between requests. */
  tick(handler: TaskHandler): Promise<void>;
  /**
   * Takes no more tasks, and waits for those that run.
   *
   * @param graceMs - After so many milliseconds their signals are aborted.
   */
  stop(graceMs: number): Promise<void>;
}
