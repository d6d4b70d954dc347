import type { Awaitable } from '../../core/pipeline/plugin-context.ts';

/** What is known of a stored file. */
export interface StoredFile {
  readonly id: string;
  readonly filename: string;
  /** Media type such as `text/markdown`. */
  readonly mediaType: string;
  /** Bytes. */
  readonly size: number;
  /** Unix seconds. */
  readonly created: number;
}

/** A file that is to be stored. */
export interface NewFile {
  readonly filename: string;
  readonly mediaType: string;
  readonly data: Uint8Array;
}

/** A stored file and its content. */
export interface FileContent {
  readonly file: StoredFile;
  readonly data: Uint8Array;
}

/**
 * Where files of accounts are kept. Every call names the account, and the file of another account is not there: it
 * answers exactly like an id that nobody has.
 */
export interface FileStore {
  /** The files of an account, the newest first. */
  list(account: string, limit: number): Awaitable<readonly StoredFile[]>;
  /** One file, or undefined when this account has none of that id. */
  read(account: string, id: string): Awaitable<FileContent | undefined>;
  /**
   * Keeps a new file under an id of its own.
   *
   * @throws {@link FileStoreFull} when there is no room for it.
   */
  write(account: string, file: NewFile): Awaitable<StoredFile>;
  /** Frees what it holds. May be called more than once. */
  close?(): Promise<void>;
}

/** A file that a store has no room for. Its text may be shown to whoever wanted to store it. */
export class FileStoreFull extends Error {
  override readonly name = 'FileStoreFull';
}
