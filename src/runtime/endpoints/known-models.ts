/** Finds the facts about models for a configuration. */
import { type CatalogFacts, mergeFacts, NO_FACTS, onlyVendors } from '../../catalog/facts.ts';
import { ConfigError, type ConfigProblem } from '../../protocol/router-error.ts';
import { checkCatalogLock } from '../../protocol/catalog-lock.ts';
import { nodeModule } from '../../platform/node-module.ts';

/** Name of the lock file in the working directory. */
export const LOCK_FILE = 'signalbox.catalog.json';

/** Facts about models as a configuration may hold them: from a source, or the parsed JSON of a lock file. */
export type CatalogInput = CatalogFacts | object;

/**
 * Facts from the configuration, merged field by field, the first one first.
 *
 * @throws {@link ConfigError} when something is not what `npx signalbox catalog refresh` writes.
 */
export function readCatalogInput(input: CatalogInput | readonly CatalogInput[]): CatalogFacts {
  const inputs: readonly unknown[] = Array.isArray(input) ? input : [input];
  const problems: ConfigProblem[] = [];
  for (const [index, one] of inputs.entries()) {
    const checked = checkCatalogLock(one);
    if (checked.ok) continue;
    const place = inputs.length === 1 ? 'catalog' : `catalog[${index}]`;
    problems.push({ path: checked.path === '' ? place : `${place}.${checked.path}`, problem: checked.problem });
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return inputs.length === 0 ? NO_FACTS : mergeFacts(inputs as readonly CatalogFacts[]);
}

interface NodeFiles {
  existsSync(path: string): boolean;
  readFileSync(path: string, encoding: 'utf8'): string;
}

/**
 * The lock file of the working directory; nothing where there is none, and on runtimes without files.
 *
 * @throws {@link ConfigError} when the file is there and cannot be used.
 */
export function catalogFromEnvironment(): CatalogFacts {
  const files = nodeModule<NodeFiles>('node:fs');
  if (files === undefined || !files.existsSync(LOCK_FILE)) return NO_FACTS;
  return readCatalogInput([parseLock(files.readFileSync(LOCK_FILE, 'utf8'), LOCK_FILE)]);
}

/**
 * Parses the text of a lock file.
 *
 * @throws {@link ConfigError} when it is not JSON.
 */
export function parseLock(text: string, file: string): object {
  try {
    return JSON.parse(text) as object;
  } catch {
    const problem = `(from ${file}) must be JSON as "npx signalbox catalog refresh" writes it; refresh it, or remove it`;
    throw new ConfigError([{ path: 'catalog', problem }]);
  }
}

const DAY_MS = 86_400_000;

/** Days after which facts are stale: vendors add models and change prices every few weeks. */
const MAX_AGE_DAYS = 30;

/** Sources whose facts about these vendors are stale, in words. */
export function staleSources(facts: CatalogFacts, slugs: readonly string[], now: number): readonly string[] {
  const { origins } = onlyVendors(facts, (slug) => slugs.includes(slug));
  return origins.flatMap(({ source, date }) => {
    const days = Math.floor((now - Date.parse(date)) / DAY_MS);
    return days > MAX_AGE_DAYS ? [`${source} (${date}, ${days} days old)`] : [];
  });
}
