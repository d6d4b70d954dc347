import { build } from 'esbuild';
import { fileURLToPath } from 'node:url';
import { readProjectFile, sourceFiles } from '../test/support/source-files.ts';
import { ENTRY_POINTS } from './entry-points.ts';
import { loadedSize } from './loaded-size.ts';

/**
 * How large the house is and how it hangs together: files, lines, files with one importer, what each entry point reaches
 * and weighs, and how many single files the import test lets through. Needs a build. Usage: npm run figures
 */
const ROOT = fileURLToPath(new URL('..', import.meta.url));
const files = sourceFiles('src', 'adapters');

const lengths = files.map(({ text }) => text.trimEnd().split('\n').length).toSorted((left, right) => left - right);
const percentile = (share: number): number => lengths[Math.floor(lengths.length * share)] ?? 0;

/** How many files import each file, types and imports on first use included. */
const importers = new Map(files.map(({ path }) => [path, new Set<string>()]));
for (const { path, imports } of files) for (const { target } of imports) importers.get(target)?.add(path);

console.table({
  files: files.length,
  lines: lengths.reduce((sum, length) => sum + length, 0),
  'median lines of a file': percentile(0.5),
  '90th percentile': percentile(0.9),
  'files with one importer': [...importers.values()].filter(({ size }) => size === 1).length,
  'exemptions in the import test': exemptions().length,
});

const rows: Record<string, string | number>[] = [];
for (const { specifier, source } of ENTRY_POINTS) {
  const { minified, compressed } = await loadedSize(specifier, '*');
  rows.push({
    'entry point': specifier,
    'files it reaches': (await reachedFrom(source)).length,
    'minified kB': (minified / 1_000).toFixed(1),
    'compressed kB': (compressed / 1_000).toFixed(1),
  });
}
console.table(rows);

/** Files of ours that are loaded with a file, without those that are imported on first use. */
async function reachedFrom(source: string): Promise<readonly string[]> {
  const { metafile } = await build({
    entryPoints: [source],
    absWorkingDir: ROOT,
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    outdir: 'bundled',
    // Imports of types alone are dropped, and so are the project's `paths`: names of the package stay names.
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: false } },
    logLevel: 'error',
  });
  const reached = new Set([source]);
  for (const path of reached) {
    for (const { kind, path: next } of metafile.inputs[path]?.imports ?? []) {
      if (kind === 'import-statement' && next in metafile.inputs) reached.add(next);
    }
  }
  return [...reached];
}

/** Files that the import test lets through one by one: they are in the list of a layer, but are no layer themselves. */
function exemptions(): readonly string[] {
  const [, table = ''] = /const LAYERS[^{]*\{([\s\S]*?)\n\};/.exec(readProjectFile('test/architecture.test.ts')) ?? [];
  const layers = new Set([...table.matchAll(/^ {2}'?([\w./-]+)'?:/gm)].map(([, layer]) => layer));
  const allowed = new Set([...table.matchAll(/'((?:src|adapters)\/[^']*\.ts)'/g)].map(([, path = '']) => path));
  return [...allowed].filter((path) => !layers.has(path));
}
