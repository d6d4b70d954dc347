/**
 * Prints the figures of the house: what its rules count (circles, climbing arrows, files of a request, long functions,
 * parameters, purposes, names, options, tests, lines of what is published), how large it is, and what each entry point
 * reaches and weighs. Needs a build. Usage: npm run figures [-- --list] (what is counted, with its places)
 */
import { build } from 'esbuild';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { arrowsOf, circlesOf, climbingArrows } from '../test/support/import-graph.ts';
import { readProjectFile, sourceFiles, statesItsPurpose } from '../test/support/source-files.ts';
import { testOf } from '../test/support/tested-by.ts';
import { ENTRY_POINTS } from './entry-points.ts';
import { declarationsIn, type WrittenFunction } from './figures/declarations.ts';
import { loadedSize } from './loaded-size.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const LISTS = process.argv.includes('--list');
const LONG_FUNCTION = 60;
const MANY_PARAMETERS = 4;
const files = sourceFiles('src', 'adapters');

printRules();

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

/** What the rules of the house count, and with `--list` where. */
function printRules(): void {
  const arrows = arrowsOf(files);
  const { functions, exported } = declarationsIn(files.map(({ path }) => path));
  const long = functions.filter(({ lines }) => lines > LONG_FUNCTION);
  const many = functions.filter(({ parameters }) => parameters > MANY_PARAMETERS);
  const booleans = functions.filter((one) => one.booleans.length > 0);
  const exportedOf = (some: readonly WrittenFunction[]): number => some.filter(({ isExported }) => isExported).length;
  const silent = files.filter((file) => !statesItsPurpose(file)).map(({ path }) => path);
  const shared = [...exported].filter(([, paths]) => paths.length > 1);
  const untested = files.filter((file) => testOf(file) === undefined).map(({ path }) => path);
  const options = readProjectFile('docs/configuration.md').match(/^\| \[?`(?!tuning\.)/gm) ?? [];
  console.table({
    'circles / climbing arrows': `${circlesOf(arrows).length} / ${climbingArrows(arrows).length}`,
    'files of a plain request / streamed': filesOfRequests(),
    [`functions longer than ${LONG_FUNCTION} lines`]: long.length,
    [`functions with more than ${MANY_PARAMETERS} parameters (exported)`]: `${many.length} (${exportedOf(many)})`,
    'functions with boolean parameters (exported)': `${booleans.length} (${exportedOf(booleans)})`,
    'files whose purpose is not stated': silent.length,
    'names defined in several files': shared.length,
    'public options (`tuning`, which is unstable, is one)': options.length,
    'files with a test at the mirrored path, or listed': `${files.length - untested.length} of ${files.length}`,
    'longest line of published code / bytes of an uncaught error': `${longestLine()} / ${bytesOfUncaughtError()}`,
  });
  if (!LISTS) return;
  const placed = ({ place, name, lines, parameters, isExported }: WrittenFunction): string =>
    `${place} ${name}${isExported ? ', exported' : ''}: ${lines} lines, ${parameters} parameters`;
  for (const [title, lines] of Object.entries({
    'longer functions': long.map(placed),
    'more parameters': many.map(placed),
    'boolean parameters': booleans.map((one) => `${placed(one)}, ${one.booleans.join(' and ')}`),
    'no purpose': silent,
    'names of several files': shared.map(([name, paths]) => `${name}: ${paths.join(' ')}`),
    'no test': untested,
  }))
    console.log([`${title}: ${lines.length}`, ...lines].join('\n  '));
}

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

/** Files that one plain request passes through, non-streaming and streaming. */
function filesOfRequests(): string {
  const printed = execFileSync(process.execPath, ['scripts/trace-request.ts', '--files'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return [...printed.matchAll(/^(?:non-)?streaming: (\d+) files/gm)].map(([, count]) => count).join(' / ');
}

/** The longest line of a published file. */
function longestLine(): number {
  const published = readdirSync(join(ROOT, 'dist'), { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.js'),
  );
  return Math.max(
    ...published.flatMap((file) =>
      readFileSync(join(ROOT, 'dist', file), 'utf8')
        .split('\n')
        .map(({ length }) => length),
    ),
  );
}

/** Bytes that a program prints which ends with an uncaught error of the router. */
function bytesOfUncaughtError(): number {
  const program = "import { createRouter, openai } from 'signalbox'; createRouter({ providers: [openai()] });";
  const { OPENAI_API_KEY: _, ...env } = process.env;
  return Buffer.byteLength(
    spawnSync(process.execPath, ['--input-type=module', '--eval', program], { cwd: ROOT, env }).stderr,
  );
}
