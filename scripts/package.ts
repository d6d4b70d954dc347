import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { documentationOf, documentationOnNpm, repositoryAddress } from './build/documentation.ts';
import { movedAddress, packedPage } from './package/links.ts';

/**
 * Puts what is published into `package/`: the files of this folder, with links and addresses that work elsewhere. Needs
 * a build. `npm publish ./package` publishes it; in this folder itself, `npm publish` refuses.
 *
 * The address of the repository is in one place: `SIGNALBOX_REPOSITORY`, or `repository` of package.json. Everything
 * else follows from it. With `--release`, what a release must not lack stops it: that address, and a CHANGELOG of this
 * version. Without, links lead to a placeholder.
 * Usage: npm run package [-- --release] [-- --out=folder]
 */
const root = fileURLToPath(new URL('..', import.meta.url));
const isRelease = process.argv.includes('--release');
const out = process.argv.find((argument) => argument.startsWith('--out='))?.slice('--out='.length);
const target = out ?? join(root, 'package');

/** In place of the repository of a package that is not released. */
const PLACEHOLDER = 'https://repository.invalid/signalbox';

interface Manifest extends Readonly<Record<string, unknown>> {
  readonly name: string;
  readonly version: string;
  readonly files: readonly string[];
  readonly homepage?: string;
  readonly repository?: string | { readonly url: string };
}

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;
const { version } = manifest;

/** Stops a release; what is wrong with any other package is only said. */
function lacks(problem: string): void {
  if (isRelease) {
    process.stderr.write(`Not released: ${problem}\n`);
    process.exit(1);
  }
  process.stderr.write(`Not fit for a release: ${problem}\n`);
}

/** The address of the repository, which a release must have. */
function checkedRepository(): string {
  const address = repositoryAddress(manifest);
  if (address === undefined) {
    lacks('name the repository: set SIGNALBOX_REPOSITORY, or "repository" in package.json, to its https address.');
    return PLACEHOLDER;
  }
  if (/^https:\/\/[^/\s]+\/[^/\s]+\/\S+$/.test(address)) return address;
  process.stderr.write(`SIGNALBOX_REPOSITORY must be an address as https://github.com/owner/name, not "${address}".\n`);
  process.exit(1);
}

/** The changelog, with the changes that no version has yet. */
function changelog(): string {
  const file = join(root, 'CHANGELOG.md');
  const known = existsSync(file) ? readFileSync(file, 'utf8') : '# signalbox\n';
  const folder = join(root, '.changeset');
  const pending = readdirSync(folder)
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .map((name) => readFileSync(join(folder, name), 'utf8').replace(/^---[\s\S]*?\n---\s*/, ''));
  if (pending.length > 0) lacks('there are changesets that no version has; run: npm run release:version');
  else if (!known.includes(`## ${version}\n`))
    lacks(`CHANGELOG.md says nothing of ${version}; run: npm run release:version`);
  const unreleased = pending.map((text) => `\n## Unreleased\n\n${text.trim()}\n`).join('');
  return known.replace(/^# .*\n/, (title) => `${title}${unreleased}`);
}

function npm(args: readonly string[], cwd: string): string {
  return execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}

/**
 * The bill of materials, by npm: of the packages that are installed with this one, in the versions of the lock file.
 * npm's own `--omit dev` leaves out what something for development needs, too.
 */
function billOfMaterials(published: object): string {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-bom-'));
  try {
    // npm names the component after its folder.
    const place = join(folder, 'signalbox');
    mkdirSync(place);
    cpSync(join(root, 'package-lock.json'), join(place, 'package-lock.json'));
    writeFileSync(join(place, 'package.json'), JSON.stringify(published));
    npm(['install', '--package-lock-only', '--ignore-scripts', '--offline', '--no-audit', '--no-fund'], place);
    return npm(['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'library', '--package-lock-only'], place);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Puts the address of the documentation into what was built, where a release has another one than the build had: the
 * build runs before anybody names the repository.
 */
function placeDocumentation(): void {
  if (repository === PLACEHOLDER) return;
  const [before, after] = [documentationOnNpm(manifest), documentationOf(manifest)];
  let places = 0;
  for (const file of files.filter((one) => /^dist\/[^/]*\.js$/.test(one))) {
    const text = readFileSync(join(target, file), 'utf8');
    // The second time for one that is there already, in two lines.
    const moved = movedAddress(movedAddress(text, before, after), after, after);
    places += Number(moved.includes(after));
    if (moved !== text) writeFileSync(join(target, file), moved);
  }
  if (places > 0) return;
  process.stderr.write(`What was built has neither ${before} nor ${after} for errors to lead to; run npm run build.\n`);
  process.exit(1);
}

/** Paths of the files that npm takes from this folder. */
function packedFiles(): readonly string[] {
  const [packed] = JSON.parse(npm(['pack', '--dry-run', '--json'], root)) as [
    { readonly files: readonly { readonly path: string }[] },
  ];
  return packed.files.map(({ path }) => path);
}

const repository = checkedRepository();
const { GITHUB_REF_TYPE: refType, GITHUB_REF_NAME: refName } = process.env;
if (refType === 'tag' && refName !== `v${version}`)
  lacks(`the tag ${refName ?? ''} is not v${version}, to which links lead.`);
const { scripts, devDependencies, overrides, allowScripts, files: _files, ...rest } = manifest;
void [scripts, devDependencies, overrides, allowScripts];
const published = {
  ...rest,
  homepage: manifest.homepage ?? `${repository}#readme`,
  repository: { type: 'git', url: `git+${repository}.git` },
  bugs: { url: `${repository}/issues` },
};

const files = packedFiles();
const all = new Set(['CHANGELOG.md', 'sbom.cdx.json', ...files]);
const pages = {
  repository,
  ref: `v${version}`,
  isPacked: (path: string) => all.has(path),
  isFolder: (path: string) => statSync(join(root, path), { throwIfNoEntry: false })?.isDirectory() === true,
};

const changes = packedPage('CHANGELOG.md', changelog(), pages);
rmSync(target, { recursive: true, force: true });
for (const file of files) {
  const place = join(target, file);
  mkdirSync(dirname(place), { recursive: true });
  if (!/\.md$|^llms\.txt$/.test(file)) cpSync(join(root, file), place);
  else writeFileSync(place, packedPage(file, readFileSync(join(root, file), 'utf8'), pages));
}
placeDocumentation();
writeFileSync(join(target, 'CHANGELOG.md'), changes);
writeFileSync(join(target, 'package.json'), `${JSON.stringify(published, undefined, 2)}\n`);
writeFileSync(join(target, 'sbom.cdx.json'), billOfMaterials(published));
process.stdout.write(`${target}: ${all.size} files, version ${version}, ${repository}\n`);
