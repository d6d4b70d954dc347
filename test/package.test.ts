import { build } from 'esbuild';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
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
  readonly version: string;
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

const REPOSITORY = 'https://github.com/acme/signalbox';
/** What is put together for a release. */
const staged = folder.file('package');

/** Puts the package together, and says what of it is not as a release needs it. */
function assemble(env: Readonly<Record<string, string>>, ...options: readonly string[]) {
  const args = ['scripts/package.ts', `--out=${staged}`, ...options];
  const { SIGNALBOX_REPOSITORY: _, ...others } = process.env;
  return spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8', env: { ...others, ...env } });
}

/** Packs the package, once. */
function pack(): Packed {
  if (packed !== undefined) return packed;
  expect(assemble({ SIGNALBOX_REPOSITORY: `${REPOSITORY}.git` }).status).toBe(0);
  packed = (JSON.parse(npm(['pack', staged, '--json', '--pack-destination', folder.path], root)) as [Packed])[0];
  return packed;
}

afterAll(() => folder[Symbol.dispose]());

beforeAll(() => {
  if (!existsSync(join(root, 'dist/index.js'))) npm(['run', 'build'], root);
}, 120_000);

/** True for a link of an unpacked page that leads somewhere; outside of the repository it is not followed. */
function isAlive(link: string, page: string): boolean {
  const own = new RegExp(`^${REPOSITORY}/(?:blob|tree|raw)/v[^/]+/`);
  if (/^(?:https?|mailto):/.test(link) && !own.test(link)) return !link.startsWith(REPOSITORY);
  const [path = '', fragment] = own.test(link) ? link.replace(own, '').split('#') : link.split('#');
  const file = own.test(link) ? join(root, path) : path === '' ? page : join(dirname(page), path);
  if (!existsSync(file)) return false;
  if (fragment === undefined || !file.endsWith('.md')) return true;
  return anchorsOf(readFileSync(file, 'utf8')).has(fragment);
}

/** What headings of a page are called in addresses. */
function anchorsOf(text: string): ReadonlySet<string> {
  const headings = text.replaceAll(/^```[\s\S]*?^```/gm, '').matchAll(/^#+ (.*)$/gm);
  const names = [...headings].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
  return new Set(names);
}

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
    const shared = new Set(['node-exchange', 'web-exchange', 'disconnect']);
    const adapters = readdirSync(join(root, 'adapters')).map((file) => file.replace(/\.ts$/, ''));
    const missing = adapters.filter((name) => !shared.has(name) && !doors.includes(`./${name}`));
    expect(missing).toEqual([]);
  });

  it('depends on eleven small packages and runs nothing when it is installed', () => {
    expect(Object.keys(manifest.dependencies)).toEqual([
      '@remix-run/multipart-parser',
      '@streamparser/json',
      'eventsource-parser',
      'fastest-levenshtein',
      'htmlparser2',
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

  it('exports one value under a name, whichever entry point it is imported from', async () => {
    const program = `
      const values = {};
      for (const door of ${JSON.stringify(doors)}) {
        for (const [name, value] of Object.entries(await import('signalbox' + door.slice(1)))) {
          (values[name] ??= []).push(value);
        }
      }
      const shared = Object.entries(values).filter(([, all]) => all.length > 1);
      const different = shared.filter(([, all]) => new Set(all).size > 1).map(([name]) => name);
      console.log(JSON.stringify({ shared: shared.length, different }));
      process.exit();`;
    const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
      cwd: root,
      encoding: 'utf8',
    });
    const { shared, different } = JSON.parse(printed) as { shared: number; different: string[] };
    expect(shared).toBeGreaterThan(70);
    // `signalbox/minimal` has its own, without lists by default.
    expect(different).toEqual(['createRouter']);
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
          !/^(?:dist\/.*\.(?:js|d\.ts)|docs\/(?:decisions\/)?[A-Za-z-]+\.md|dist\/openapi\.json|package\.json|(?:README|CHANGELOG|NOTICES)\.md|sbom\.cdx\.json|LICENSE|llms\.txt)$/.test(
            path,
          ),
      );
    expect(strangers).toEqual([]);
    expect(size).toBeLessThan(1_620_000);
  });

  it('has no dead link in it', () => {
    const unpacked = folder.file('unpacked');
    mkdirSync(unpacked);
    execFileSync('tar', ['-xzf', join(folder.path, pack().filename), '-C', unpacked]);
    const place = join(unpacked, 'package');
    const pages = readdirSync(place, { recursive: true, encoding: 'utf8' }).filter((file) =>
      /\.md$|^llms\.txt$/.test(file),
    );
    expect(pages.length).toBeGreaterThan(30);
    const dead: string[] = [];
    let checked = 0;
    for (const page of pages) {
      // What stands in code is no link.
      const text = readFileSync(join(place, page), 'utf8').replaceAll(/^```[\s\S]*?^```|`[^`\n]*`/gm, '');
      for (const [, , markdown = '', html = markdown] of text.matchAll(
        /(\]\(([^)\s]+)\))|(?:src|srcset|href)="([^"]+)"/g,
      )) {
        checked += 1;
        if (!isAlive(html, join(place, page))) dead.push(`${page}: ${html}`);
      }
    }
    expect(dead).toEqual([]);
    expect(checked).toBeGreaterThan(300);
    const readme = readFileSync(join(place, 'README.md'), 'utf8');
    expect(readme).toContain(`](${REPOSITORY}/blob/v${manifest.version}/docs/getting-started.md)`);
    expect(readme).toContain(`src="${REPOSITORY}/raw/v${manifest.version}/docs/images/`);
    expect(readProjectFile('README.md')).not.toContain(REPOSITORY);
  });

  it('says where it is from, what changed, and what is in it', () => {
    pack();
    const read = (file: string): string => readFileSync(join(staged, file), 'utf8');
    const { scripts, devDependencies, ...published } = JSON.parse(read('package.json')) as Record<string, unknown>;
    expect(published).toMatchObject({
      repository: { type: 'git', url: `git+${REPOSITORY}.git` },
      homepage: `${REPOSITORY}#readme`,
      bugs: { url: `${REPOSITORY}/issues` },
    });
    expect([scripts, devDependencies]).toEqual([undefined, undefined]);
    expect(read('CHANGELOG.md')).toMatch(/^# signalbox\n\n## \S+\n\n\S/);
    const bill = JSON.parse(read('sbom.cdx.json')) as {
      readonly bomFormat: string;
      readonly metadata: { readonly component: { readonly purl: string } };
      readonly components: readonly { readonly name: string; readonly licenses: readonly unknown[] }[];
    };
    expect([bill.bomFormat, bill.metadata.component.purl]).toEqual([
      'CycloneDX',
      `pkg:npm/signalbox@${manifest.version}`,
    ]);
    const listed = bill.components.map(({ name }) => name);
    expect(Object.keys(manifest.dependencies).filter((name) => !listed.includes(name))).toEqual([]);
    expect(listed.length).toBeLessThan(20);
    expect(bill.components.filter(({ licenses }) => licenses.length === 0)).toEqual([]);
  });

  it('leads from its errors to a page of its own, at an absolute address', () => {
    pack();
    const built = (place: string): string =>
      readdirSync(join(place, 'dist'))
        .filter((name) => name.endsWith('.js'))
        .map((name) => readFileSync(join(place, 'dist', name), 'utf8').replaceAll('\\\n', ''))
        .join('\n');
    const ofNpm = `https://unpkg.com/signalbox@${manifest.version}/docs`;
    expect(built(root)).toContain(ofNpm);
    expect(built(staged)).toContain(`${REPOSITORY}/blob/HEAD/docs`);
    expect(built(staged)).not.toContain(ofNpm);
    expect(packed?.files.map(({ path }) => path)).toContain('docs/fallback-and-errors.md');
  });

  it('has the notices of everything that is bundled or was computed from', async () => {
    const { metafile } = await build({
      entryPoints: [join(root, 'inspector/src/main.tsx')],
      bundle: true,
      write: false,
      jsx: 'automatic',
      jsxImportSource: 'preact',
      metafile: true,
      logLevel: 'silent',
      loader: { '.css': 'empty' },
    });
    const paths = Object.keys(metafile.inputs).flatMap((path) => path.split('node_modules/').slice(1));
    const bundled = [...new Set(paths.map((path) => /^(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? ''))].toSorted();
    const notices = readProjectFile('NOTICES.md');
    const named = [...notices.matchAll(/^### (.*)$/gm)].flatMap(([, names = '']) => names.split(', ')).toSorted();
    expect(named).toEqual(bundled);
    for (const name of bundled) expect(notices).toContain(readProjectFile(`node_modules/${name}/LICENSE`).trim());
    const sources = readProjectFile('scripts/classifier/public-prompts.ts').matchAll(
      /`: ([\w-]+\/[\w-]+),|^ \* {3}([\w-]+\/[\w-]+), `/gm,
    );
    const missing = [...sources]
      .map(([, one, other]) => one ?? other ?? '')
      .filter((source) => !notices.includes(source));
    expect(missing).toEqual([]);
  });

  it('is not released without an address of its repository, nor without a changelog of its version', () => {
    const without = assemble({}, '--release');
    expect([without.status, without.stderr]).toEqual([1, expect.stringContaining('set SIGNALBOX_REPOSITORY')]);
    const wrong = assemble({ SIGNALBOX_REPOSITORY: 'acme/signalbox' });
    expect([wrong.status, wrong.stderr]).toEqual([1, expect.stringContaining('https://github.com/owner/name')]);
    const tag = { GITHUB_REF_TYPE: 'tag', GITHUB_REF_NAME: 'v9.9.9' };
    const other = assemble({ SIGNALBOX_REPOSITORY: REPOSITORY, ...tag }, '--release');
    expect([other.status, other.stderr]).toEqual([1, expect.stringContaining('v9.9.9 is not v')]);
    const version = readdirSync(join(root, '.changeset')).length > 2 ? 'changesets that no version has' : undefined;
    if (version === undefined) return;
    const early = assemble({ SIGNALBOX_REPOSITORY: REPOSITORY }, '--release');
    expect([early.status, early.stderr]).toEqual([1, expect.stringContaining(version)]);
  });

  it('is not published from the folder of the project', () => {
    const { status, stderr, stdout } = spawnSync('npm', ['publish', '--dry-run'], { cwd: root, encoding: 'utf8' });
    expect(status).not.toBe(0);
    expect(stdout + stderr).toContain('npm publish ./package');
  });

  it('installs from its tarball into an empty folder, where every door opens and a call works', () => {
    const tarball = join(folder.path, pack().filename);
    // npm itself takes most of the time: without storms, the packages that it would fetch are links.
    const options = STORMS_ARE_FULL ? [] : ['--linked'];
    const printed = execFileSync(process.execPath, ['scripts/check-tarball.ts', 'this', tarball, ...options], {
      cwd: root,
      encoding: 'utf8',
    });
    expect(printed).toContain(`${process.version}: ${doors.length} entry points open, a call and a stream agree`);
  }, 120_000);
});
