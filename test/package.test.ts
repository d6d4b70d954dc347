import { build } from 'esbuild';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nodeProblems } from '../src/config/problems.ts';
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
  readonly engines: { readonly node: string };
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

  it('takes any version of those that the host has for itself: one that is too old is named where it is used', () => {
    expect(Object.values(manifest.peerDependencies).filter((range) => range !== '*')).toEqual([]);
    const lock = JSON.parse(readProjectFile('package-lock.json')) as { packages: Record<string, Manifest> };
    expect(lock.packages['']?.peerDependencies).toEqual(manifest.peerDependencies);
  });

  it('loads optional packages inside a try: without them, bundlers would refuse the whole program', () => {
    const names = Object.keys(manifest.peerDependencies).join('|');
    const loads = sourceFiles('src').flatMap(({ path, text }) =>
      [...text.matchAll(new RegExp(`(?<!typeof )import\\('(?:${names})[/']`, 'g'))]
        .filter(({ index }) => !/type |`|\.catch/.test(text.slice(text.lastIndexOf('\n', index), index)))
        .map(({ index }) => ({ path, before: text.slice(Math.max(0, index - 350), index) })),
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

  it('names one oldest Node everywhere', () => {
    const oldest = manifest.engines.node.replace('>=', '');
    expect(nodeProblems(`${oldest}.0`)).toEqual([]);
    const [major = 0, minor = 0] = oldest.split('.').map(Number);
    expect(nodeProblems(`${major}.${minor - 1}.0`)[0]?.problem).toContain(`must be version ${oldest} or newer`);
    for (const page of ['README.md', 'llms.txt', 'docs/faq.md', 'docs/getting-started.md']) {
      expect(readProjectFile(page), page).toContain(`Node ${oldest} and newer`);
    }
    // What the transport needs decides.
    const undici = JSON.parse(readProjectFile('node_modules/undici/package.json')) as Manifest;
    expect(undici.engines.node).toBe(`>=${oldest}.0`);
  });

  it('has no line that is too long to read', () => {
    const long = readdirSync(join(root, 'dist'), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(?:js|ts|json)$/.test(file))
      .filter((file) =>
        readFileSync(join(root, 'dist', file), 'utf8')
          .split('\n')
          .some(({ length }) => length > 500),
      );
    expect(long).toEqual([]);
  });

  it.each([
    [
      'a missing key',
      "import { createRouter, openai } from 'signalbox'; createRouter({ providers: [openai()] });",
      'ConfigError: providers.openai.apiKey is missing: pass apiKey, or set OPENAI_API_KEY in the environment.',
    ],
    [
      'a misspelt option',
      "import { createRouter, simulated } from 'signalbox'; createRouter({ providers: [simulated()], falback: {} });",
      'ConfigError: falback is not an option; did you mean "fallback"?',
    ],
    [
      'a wrong model',
      `import { createRouter, simulated } from 'signalbox';
       const router = createRouter({ providers: [simulated()] });
       await router.chat({ model: 'simulated/smal', messages: [{ role: 'user', content: 'Hello' }] });`,
      'RouterError: simulated/smal is not a valid model ID',
    ],
    [
      'a missing key in CommonJS, deep in the program',
      `function start(depth) {
         if (depth > 0) return start(depth - 1);
         const { createRouter, openai } = require('signalbox');
         return createRouter({ providers: [openai()] });
       }
       start(20);`,
      'ConfigError: providers.openai.apiKey is missing: pass apiKey, or set OPENAI_API_KEY in the environment.',
    ],
  ])('says in few lines what ends a program with %s', (_what, program, sentence) => {
    const { OPENAI_API_KEY: _, ...env } = process.env;
    const kind = program.includes('require(') ? 'commonjs' : 'module';
    const ran = spawnSync(process.execPath, [`--input-type=${kind}`, '--eval', program], {
      cwd: root,
      encoding: 'utf8',
      env,
    });
    expect(ran.status).toBe(1);
    expect(Buffer.byteLength(ran.stderr)).toBeLessThanOrEqual(2_000);
    expect(ran.stderr.trimEnd().split('\n').slice(-10).join('\n')).toContain(sentence);
  });

  it('reads a PDF with the thread that was built', () => {
    const program = `
      const { localPdfReader } = await import('signalbox');
      const { pdfWith } = await import('./test/support/pdf.ts');
      const { signal } = new AbortController();
      const { pages } = await localPdfReader().read({ data: pdfWith(['Hello from a page']), signal });
      console.log(pages.join());`;
    const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
      cwd: root,
      encoding: 'utf8',
    });
    expect(printed).toBe('Hello from a page\n');
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

  it('is loaded from few files: finding a hundred would cost more than what is in them', () => {
    const loaded = new Set(['index.js']);
    for (const file of loaded) {
      const imports = readFileSync(join(root, 'dist', file), 'utf8').matchAll(/\b(?:from|import)\s*"\.\/([^"]+)"/g);
      for (const [, next = ''] of imports) loaded.add(next);
    }
    expect(loaded.size).toBeGreaterThan(4);
    expect(loaded.size).toBeLessThan(12);
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
    expect(size).toBeLessThan(1_400_000);
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
