import { resolve } from 'node:path';
import process from 'node:process';
import type { BatchesOptions } from '../config-batches.ts';
import { sqliteStorage } from '../storage/sqlite/sqlite-storage.ts';
import type { CommandIo } from './command.ts';

const DEFAULT_FILE = 'signalbox.db';
/** In the place of a file: batches end with the process. */
const MEMORY = 'memory';

/** Options of batches for a server that runs by itself, and in words where they are kept. */
export function batchesIn(
  configured: BatchesOptions | undefined,
  file: string | undefined,
  io: CommandIo,
): { readonly batches: BatchesOptions | undefined; readonly kept: string } {
  if (configured?.storage !== undefined) return { batches: configured, kept: 'as the configuration says' };
  const inMemory = { batches: configured, kept: 'in memory, gone when this stops' };
  if (file === MEMORY) return inMemory;
  const name = file ?? DEFAULT_FILE;
  if (file === undefined && process.getBuiltinModule?.('node:sqlite') === undefined) return inMemory;
  const storage = sqliteStorage({ file: resolve(io.folder, name) });
  return { batches: { ...configured, storage }, kept: name };
}
