import { type FileContent, type FileStore, FileStoreFull, type StoredFile } from '../ports/file-store.ts';

/** Options of {@link memoryFileStore}. */
export interface MemoryFileStoreOptions {
  /** Bytes of all files of one account together. Default 20,000,000. */
  readonly maxBytes?: number | undefined;
  /** Files of one account. Default 1,000. */
  readonly maxFiles?: number | undefined;
  /** Accounts that have files. Default 1,000. */
  readonly maxAccounts?: number | undefined;
  /** Epoch milliseconds. Default: the clock of this process. */
  readonly now?: (() => number) | undefined;
}

/** Keeps files in the memory of this process, for tests and for programs of one process. They are gone when it ends. */
export function memoryFileStore(options: MemoryFileStoreOptions = {}): FileStore {
  const { maxBytes = 20_000_000, maxFiles = 1_000, maxAccounts = 1_000, now = Date.now } = options;
  const accounts = new Map<string, Map<string, FileContent>>();

  function filesOf(account: string): readonly FileContent[] {
    return [...(accounts.get(account)?.values() ?? [])];
  }

  return {
    list: (account, limit) =>
      filesOf(account)
        .map(({ file }) => file)
        .toReversed()
        .slice(0, limit),
    read: (account, id) => accounts.get(account)?.get(id),
    write(account, { filename, mediaType, data }) {
      const files = accounts.get(account) ?? new Map<string, FileContent>();
      const used = filesOf(account).reduce((sum, { file }) => sum + file.size, 0);
      if (used + data.byteLength > maxBytes) throw new FileStoreFull(`Files may have ${maxBytes} bytes in total`);
      if (files.size >= maxFiles) throw new FileStoreFull(`There may be ${maxFiles} files`);
      if (files.size === 0 && accounts.size >= maxAccounts) throw new FileStoreFull('There is no room for more files');
      const file: StoredFile = {
        id: `file_${crypto.randomUUID().replaceAll('-', '')}`,
        filename,
        mediaType,
        size: data.byteLength,
        created: Math.floor(now() / 1_000),
      };
      files.set(file.id, { file, data: data.slice() });
      accounts.set(account, files);
      return file;
    },
    close() {
      accounts.clear();
      return Promise.resolve();
    },
  };
}
