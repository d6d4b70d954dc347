/** The contract of stores for files of batches. */

/** What is said about a page of a list, besides what is on it. */
export interface ListPage {
  /** Whether more comes behind it. */
  readonly more: boolean;
  /** True when nothing is on it because `after` names what is not there and was not there. Default false. */
  readonly isUnknown?: boolean | undefined;
}

/** A file as it is stored, without its content. Times are epoch milliseconds of the store's own clock. */
export interface BatchFileRecord {
  /** `file-…` */
  readonly id: string;
  /** Account that owns it. */
  readonly account: string;
  /** As its sender named it. Any text. */
  readonly filename: string;
  readonly purpose: 'batch';
  readonly bytes: number;
  readonly createdAt: number;
  /** When it is deleted. */
  readonly deleteAt: number;
}

/** Page of a list of files. */
export interface BatchFileListQuery {
  readonly limit: number;
  /**
   * Id of the last file of the page before. It may have been deleted since, at least for as long as a draft may take;
   * nothing comes after a file that was never there.
   */
  readonly after?: string | undefined;
}

/**
 * Files that batches are made of, in the same place as the batches. A file comes in pieces and is read in pieces, so
 * that none is ever in memory as a whole. What holds for the calls of a `BatchStore` holds here: a call that rejects
 * may have been carried out, and each can be made again. An account sees its own files only.
 */
export interface BatchFileStore {
  /** Begins a file that nobody sees yet. Beginning the same file again changes nothing. */
  open(account: string, fileId: string): Promise<void>;
  /**
   * Adds a piece to a file that was begun. Adding a piece of the same number again changes nothing.
   *
   * @param piece - Counted from 0, without gaps.
   * @throws RangeError when no such file was begun.
   */
  add(account: string, fileId: string, piece: number, content: Uint8Array): Promise<void>;
  /**
   * Makes everything of a file visible at once. `createdAt` is set by the store; `deleteAt` is given as milliseconds after
   * the creation, and becomes a time by its clock. Publishing a file again gives it as it is now.
   *
   * @throws RangeError when no such file was begun.
   */
  publish(file: BatchFileRecord): Promise<BatchFileRecord>;
  /** Removes a file that was begun. Does nothing where there is none, and nothing to one that was published. */
  discard(account: string, fileId: string): Promise<void>;
  /** A file that was published. */
  find(account: string, fileId: string): Promise<BatchFileRecord | undefined>;
  /** Newest first; of those of one millisecond the greatest id. */
  list(account: string, query: BatchFileListQuery): Promise<ListPage & { readonly files: readonly BatchFileRecord[] }>;
  /**
   * A piece of a published file; undefined behind the last one.
   *
   * @param memory - Where the store may put the piece if it fits, instead of memory of its own. Who gives it has it used
   * again and again, and leaves nothing to the collector.
   */
  read(account: string, fileId: string, piece: number, memory?: Uint8Array): Promise<Uint8Array | undefined>;
  /** Deletes a published file with its content. False when there is none. */
  remove(account: string, fileId: string): Promise<boolean>;
}
