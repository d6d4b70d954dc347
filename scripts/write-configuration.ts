import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { configurationPage } from './configuration/page.ts';

/**
 * Writes `docs/configuration.md` from the tables of options. With `--check` it writes nothing and fails when the page
 * no longer fits. Usage: npm run docs:configuration [-- --check]
 */
const file = fileURLToPath(new URL('../docs/configuration.md', import.meta.url));
const page = await configurationPage();
if (!process.argv.includes('--check')) writeFileSync(file, page);
else if (readFileSync(file, 'utf8') !== page) {
  console.error(
    'docs/configuration.md is not what the tables of options say. Write it anew: npm run docs:configuration',
  );
  process.exitCode = 1;
}
