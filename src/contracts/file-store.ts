/** An uploaded file. */
export interface StoredFile {
  readonly data: Uint8Array;
  readonly name?: string | undefined;
  /** For example `application/pdf`. Default: told by how the data begins. */
  readonly mediaType?: string | undefined;
}

/** What is asked of a {@link FileStore}. */
export interface FileQuery {
  /** As it is in `file.file_id`. */
  readonly id: string;
  /** Id of the account that asks. A file of another account must be answered like one that does not exist. */
  readonly account: string;
  /** Aborted when nobody waits any more. */
  readonly signal: AbortSignal;
}

/** Files that callers uploaded before, kept by the embedding program. */
export interface FileStore {
  /** The file behind an id; undefined for one that this account has not. */
  find(query: FileQuery): Promise<StoredFile | undefined>;
}

/** What is known of a file without its content. */
export interface FileCard {
  readonly id: string;
  readonly name: string;
  /** For example `text/markdown`. */
  readonly mediaType: string;
  /** Bytes. */
  readonly size: number;
  /** Unix seconds. */
  readonly created: number;
}

/** On whose behalf, and how long somebody waits. */
export interface FileCaller {
  /** Id of the account. */
  readonly account: string;
  /** Aborted when nobody waits any more. */
  readonly signal: AbortSignal;
}

/** A {@link FileStore} that can also be looked through and added to. What an id stands for never changes. */
export interface FileLibrary extends FileStore {
  /** The files of an account, the newest first. */
  list(query: FileCaller & { readonly limit: number }): Promise<readonly FileCard[]>;
  /**
   * Keeps a new file under an id of its own.
   *
   * @throws {@link FileLibraryFull} when there is no room for it.
   */
  add(query: FileCaller & { readonly file: StoredFile }): Promise<FileCard>;
  /** Frees what it holds. May be called more than once. */
  close?(): Promise<void>;
}

/** A file that a library has no room for. Its text may be shown to whoever wanted to store it. */
export class FileLibraryFull extends Error {
  override readonly name = 'FileLibraryFull';
}
