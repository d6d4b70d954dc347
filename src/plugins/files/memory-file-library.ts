import { callable, checkShape, type OptionShape } from '../../platform/option-kinds.ts';
import { type FileCard, type FileLibrary, FileLibraryFull, type StoredFile } from '../../contracts/file-store.ts';
import { count } from '../option-kinds.ts';

/** Options of {@link memoryFileLibrary}. */
export interface MemoryFileLibraryOptions {
  /** Bytes of all files of one account together. Default 20,000,000. */
  readonly maxBytes?: number | undefined;
  /** Files of one account. Default 1,000. */
  readonly maxFiles?: number | undefined;
  /** Accounts that have files. Default 1,000. */
  readonly maxAccounts?: number | undefined;
  /** Epoch milliseconds. Default: the clock of this process. */
  readonly now?: (() => number) | undefined;
}

const OPTIONS: OptionShape<MemoryFileLibraryOptions> = {
  maxBytes: count,
  maxFiles: count,
  maxAccounts: count,
  now: callable,
};

interface Kept {
  readonly card: FileCard;
  readonly file: StoredFile;
}

/** Keeps files in the memory of this process, for tests and for programs of one process. They are gone when it ends. */
export function memoryFileLibrary(options: MemoryFileLibraryOptions = {}): FileLibrary {
  checkShape(OPTIONS, options, 'memoryFileLibrary');
  const { maxBytes = 20_000_000, maxFiles = 1_000, maxAccounts = 1_000, now = Date.now } = options;
  const accounts = new Map<string, Map<string, Kept>>();

  function keep(account: string, file: StoredFile): FileCard {
    const files = accounts.get(account) ?? new Map<string, Kept>();
    const size = file.data.byteLength;
    const used = [...files.values()].reduce((sum, { card }) => sum + card.size, 0);
    if (used + size > maxBytes) throw new FileLibraryFull(`All files together may have ${maxBytes} bytes`);
    if (files.size >= maxFiles) throw new FileLibraryFull(`There may be ${maxFiles} files`);
    if (files.size === 0 && accounts.size >= maxAccounts) throw new FileLibraryFull('There is no room for more files');
    const { name = 'file', mediaType = 'application/octet-stream' } = file;
    const id = `file_${crypto.randomUUID().replaceAll('-', '')}`;
    const card: FileCard = { id, name, mediaType, size, created: Math.floor(now() / 1_000) };
    files.set(id, { card, file: { ...file, data: file.data.slice() } });
    accounts.set(account, files);
    return card;
  }

  return {
    find: async ({ account, id }) => accounts.get(account)?.get(id)?.file,
    list: async ({ account, limit }) =>
      [...(accounts.get(account)?.values() ?? [])]
        .map(({ card }) => card)
        .toReversed()
        .slice(0, limit),
    add: async ({ account, file }) => keep(account, file),
    async close() {
      accounts.clear();
    },
  };
}
