/** Reads and writes the catalog lock file. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { type CatalogFacts, formatLock } from '../../catalog/facts.ts';
import { ConfigError } from '../../protocol/router-error.ts';
import { LOCK_FILE, parseLock, readCatalogInput } from '../endpoints/known-models.ts';

/**
 * Reads a lock file that `npx signalbox catalog refresh` wrote, for the `catalog` option of `createRouter`.
 *
 * @param path - Default `signalbox.catalog.json` in the working directory.
 * @throws {@link ConfigError} when the file is not there or cannot be used.
 */
export function readCatalogLock(path: string = LOCK_FILE): CatalogFacts {
  const facts = readLockIfThere(path);
  if (facts !== undefined) return facts;
  const problem = `needs the file ${path}, which is not there; write it with "npx signalbox catalog refresh"`;
  throw new ConfigError([{ path: 'catalog', problem }]);
}

/**
 * The same, but undefined where there is no file.
 *
 * @throws {@link ConfigError} when the file is there and cannot be used.
 */
export function readLockIfThere(path: string): CatalogFacts | undefined {
  const text = textIfThere(path);
  return text === undefined ? undefined : readCatalogInput([parseLock(text, path)]);
}

function textIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Writes a lock file so that whoever reads it sees the old one or the new one whole, also when the process or the
 * machine stops on the way.
 */
export async function writeCatalogLock(path: string, facts: CatalogFacts): Promise<void> {
  const draft = `${path}.${randomUUID()}.tmp`;
  try {
    const file = await open(draft, 'wx');
    try {
      await file.writeFile(formatLock(facts));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
