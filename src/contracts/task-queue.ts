/** The contract of task queues. */
import type { JsonObject } from '../protocol/json.ts';
import type { Environment } from '../platform/environment.ts';
import type { BatchStore, ClaimedTask } from './batch-store.ts';

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

/** What a running task gets from its queue. */
export interface TaskSignals {
  /** Aborted when the lease is lost, or when there is no time left to finish: stop at once, and write nothing more. */
  readonly signal: AbortSignal;
  /** Aborted when the queue stops: begin nothing new, finish or give back what is under way. */
  readonly stopping: AbortSignal;
}

/** Runs one task. What it throws counts as a failed attempt, and the task is run again later. */
export type TaskHandler = (task: ClaimedTask, signals: TaskSignals) => Promise<TaskResult>;

/** What a queue works with. */
export interface QueuePorts {
  readonly store: BatchStore;
  readonly environment: Environment;
  /** Called with what went wrong, without the words of a request in it. */
  readonly onProblem: (problem: string) => void;
}

/** Makes a queue for the store of a router. */
export type TaskQueueFactory = (ports: QueuePorts) => TaskQueue;

/**
 * Decides when and where tasks run. They are saved in the batch store together with the change that they follow from,
 * so a queue may lose all of its state and nothing is lost: it only has to find them again.
 */
export interface TaskQueue {
  /** Begins to run tasks. */
  start(handler: TaskHandler): Promise<void>;
  /** There may be a new task. Cheap; may be called often, and before the start. */
  wake(): void;
  /**
   * Runs what is due and comes back when nothing is due any more, for hosts where nothing runs between requests.
   *
   * @param budgetMs - After so many milliseconds nothing new is begun.
   */
  tick(handler: TaskHandler, budgetMs: number): Promise<void>;
  /**
   * Takes no more tasks, and waits for those that run.
   *
   * @param graceMs - After so many milliseconds their signals are aborted.
   */
  stop(graceMs: number): Promise<void>;
}
