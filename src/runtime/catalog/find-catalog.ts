import type { CatalogFacts } from '../../catalog/facts.ts';
import { ConfigError } from '../../protocol/router-error.ts';
import { LOCK_FILE } from '../chat/known-models.ts';
import { genaiPrices } from './genai-prices.ts';
import { readLockIfThere } from './lock-file.ts';

/**
 * What can be known without asking anybody: the lock file, or else the package `@pydantic/genai-prices`, or, where
 * neither is there, nothing.
 *
 * @param path - Lock file. Default `signalbox.catalog.json` in the working directory.
 * @throws {@link ConfigError} when the lock file is there and cannot be used.
 */
export async function findCatalog(path: string = LOCK_FILE): Promise<CatalogFacts | undefined> {
  const lock = readLockIfThere(path);
  if (lock !== undefined) return lock;
  try {
    return await genaiPrices();
  } catch (error) {
    if (ConfigError.isInstance(error)) return undefined;
    throw error;
  }
}
