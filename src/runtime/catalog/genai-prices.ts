/** Facts about models from the optional package `@pydantic/genai-prices`. */
import type { CatalogFacts } from '../../catalog/facts.ts';
import { GENAI_PRICES, parseGenaiPrices } from '../../catalog/genai-prices.ts';
import { VENDOR_IDS, vendorIdOf } from '../../catalog/vendor-ids.ts';
import { ConfigError } from '../../protocol/router-error.ts';
import { importGenaiPrices } from './genai-package.ts';
import { LOCK_FILE } from '../endpoints/known-models.ts';
import { readLockIfThere } from './lock-file.ts';

/** Options of {@link genaiPrices}. */
export interface GenaiPricesOptions {
  /** Vendors by our slug; others go by their id in the package. Default: those that this package has factories for. */
  readonly vendors?: readonly string[] | undefined;
}

/**
 * Facts from the optional package `@pydantic/genai-prices`: prices with their tiers, cache rates, start dates and
 * hours. The package is loaded when this is called.
 *
 * @example
 * ```ts
 * const router = createRouter({ providers: [openai()], catalog: await genaiPrices() });
 * ```
 * @throws {@link ConfigError} when the package is not installed.
 */
export async function genaiPrices({
  vendors = Object.keys(VENDOR_IDS),
}: GenaiPricesOptions = {}): Promise<CatalogFacts> {
  const { findProvider } = await load();
  const ids = vendors.map((slug) => vendorIdOf(slug, 'genaiPrices')).filter((id) => id !== undefined);
  // It finds providers by resemblance, too; only the one with that very id is meant.
  const providers = ids.map((providerId) => findProvider({ providerId })).filter((one, at) => one?.id === ids[at]);
  return parseGenaiPrices(providers, today(), vendors);
}

async function load(): Promise<NonNullable<Awaited<ReturnType<typeof importGenaiPrices>>>> {
  const loaded = await importGenaiPrices();
  if (loaded !== undefined) return loaded;
  const problem = `needs the package ${GENAI_PRICES}; install it with "npm install ${GENAI_PRICES}"`;
  throw new ConfigError([{ path: 'catalog', problem }]);
}

function today(): string {
  return new Date().toISOString().slice(0, 10);
}

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
