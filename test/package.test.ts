import { build } from 'esbuild';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readProjectFile, sourceFiles } from './support/source-files.ts';
import { STORMS_ARE_FULL } from './support/storms.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;
  readonly imports: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly bin: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional?: boolean }>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly scripts: Readonly<Record<string, string>>;
}

/** What npm tells of a tarball. */
interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
  readonly size: number;
}

const root = fileURLToPath(new URL('..', import.meta.url));
const manifest = JSON.parse(readProjectFile('package.json')) as Manifest;
const doors = Object.keys(manifest.exports).filter((door) => !door.endsWith('.json'));
function npm(args: readonly string[], cwd: string): string {
  return execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}

const folder = temporaryFolder();
let packed: Packed | undefined;

/** Packs the package, once. */
function pack(): Packed {
  packed ??= (JSON.parse(npm(['pack', '--json', '--pack-destination', folder.path], root)) as [Packed])[0];
  return packed;
}

afterAll(() => folder[Symbol.dispose]());

beforeAll(() => {
  if (!existsSync(join(root, 'dist/index.js'))) npm(['run', 'build'], root);
}, 120_000);

describe('the package', () => {
  it('has a file behind every door and every import condition', () => {
    const behind = [
      ...Object.values(manifest.exports).flatMap((door) =>
        typeof door === 'string' ? [door] : [door.types, door.default],
      ),
      ...Object.values(manifest.imports).flatMap((conditions) => Object.values(conditions)),
      ...Object.values(manifest.bin),
    ];
    expect(behind.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });

  it('has a door for every adapter', () => {
    const shared = new Set(['node-exchange', 'web-exchange']);
    const adapters = readdirSync(join(root, 'adapters')).map((file) => file.replace(/\.ts$/, ''));
    const missing = adapters.filter((name) => !shared.has(name) && !doors.includes(`./${name}`));
    expect(missing).toEqual([]);
  });

  it('depends on ten small packages and runs nothing when it is installed', () => {
    expect(Object.keys(manifest.dependencies)).toEqual([
      '@remix-run/multipart-parser',
      '@streamparser/json',
      'eventsource-parser',
      'fastest-levenshtein',
      'ipaddr.js',
      'jsonrepair',
      'lru-cache',
      'p-retry',
      'undici',
      'zod',
    ]);
    expect(Object.keys(manifest.scripts).filter((name) => /^(?:pre|post)?install$|^prepare$/.test(name))).toEqual([]);
  });

  it('has peers that may be missing, only', () => {
    const peers = Object.keys(manifest.peerDependencies);
    expect(peers.filter((name) => manifest.peerDependenciesMeta[name]?.optional !== true)).toEqual([]);
  });

  it('loads optional packages inside a try: without them, bundlers would refuse the whole program', () => {
    const names = Object.keys(manifest.peerDependencies).join('|');
    const loads = sourceFiles('src').flatMap(({ path, text }) =>
      [...text.matchAll(new RegExp(`(?<!typeof )import\\('(?:${names})[/']`, 'g'))]
        .filter(({ index }) => !/type |`|\.catch/.test(text.slice(text.lastIndexOf('\n', index), index)))
        .map(({ index }) => ({ path, before: text.slice(Math.max(0, index - 150), index) })),
    );
    expect(loads.length).toBeGreaterThan(5);
    expect(loads.filter(({ before }) => !before.includes('try {')).map(({ path }) => path)).toEqual([]);
  });

  it('has a program that starts by itself', () => {
    const file = join(root, manifest.bin['signalbox'] ?? '');
    expect(readFileSync(file, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
    const printed = execFileSync(process.execPath, [file, 'help'], { encoding: 'utf8' });
    expect(printed).toContain('catalog refresh');
  });

  it('bundles its main door for a runtime without Node', async () => {
    const result = await build({
      entryPoints: [join(root, 'dist/index.js')],
      bundle: true,
      write: false,
      format: 'esm',
      platform: 'neutral',
      mainFields: ['module', 'main'],
      conditions: ['import'],
      // As in a user's project: our own path of `#transport` (to the source, for tests) is not theirs.
      tsconfigRaw: {},
      metafile: true,
      logLevel: 'silent',
    });
    expect(result.errors).toEqual([]);
    const inputs = Object.keys(result.metafile.inputs);
    expect(inputs.filter((input) => input.includes('undici'))).toEqual([]);
  });

  it('packs only what it needs', () => {
    const { files, size } = pack();
    const strangers = files
      .map((file) => file.path)
      .filter(
        (path) =>
          !/^(?:dist\/.*\.(?:js|d\.ts)|docs\/(?:decisions\/)?[A-Za-z-]+\.md|dist\/openapi\.json|package\.json|README\.md|LICENSE|llms\.txt)$/.test(
            path,
          ),
      );
    expect(strangers).toEqual([]);
    expect(size).toBeLessThan(1_200_000);
  });

  it('installs from its tarball into an empty folder, where every door opens and a call works', () => {
    const tarball = join(folder.path, pack().filename);
    // npm itself takes most of the time: without storms, the packages that it would fetch are links.
    const options = STORMS_ARE_FULL ? [] : ['--linked'];
    const printed = execFileSync(process.execPath, ['scripts/check-tarball.ts', 'this', tarball, ...options], {
      cwd: root,
      encoding: 'utf8',
    });
    expect(printed).toContain(`${process.version}: ${doors.length} doors open, a call and a stream agree`);
  }, 120_000);
});
