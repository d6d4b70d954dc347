import { Entries } from './entries.ts';
import { Keys } from './keys.ts';
import { TaskList } from './task-list.ts';

/** Everything that a storage in memory holds. */
export class Content {
  readonly entries = new Entries();
  readonly tasks = new TaskList();
  readonly keys = new Keys();

  /** Deletes a batch or a draft with everything that belongs to it. */
  delete(account: string, batchId: string): void {
    this.entries.delete(account, batchId);
    this.tasks.deleteOf(account, batchId);
    this.keys.deleteOf(account, batchId);
  }
}
