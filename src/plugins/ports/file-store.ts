/** An uploaded file. */
export interface StoredFile {
  readonly data: Uint8Array;
  readonly name?: string | undefined;
  /** For example `application/pdf`. Default: told by how the data begins. */
  readonly mediaType?: string | undefined;
}

/** What is asked of a {@link FileStore}. */
export interface FileQuery {
  /** As it stands in `file.file_id`. */
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
