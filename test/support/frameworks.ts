import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Not below `node_modules`, where Node runs no TypeScript. */
const CACHE = join(root, 'coverage');

/** Milliseconds for the registry to say that it is there, and to have all of them. */
const PING_MS = 10_000;
const INSTALL_MS = 120_000;

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
}

function read(path: string): Manifest {
  return JSON.parse(readFileSync(join(root, path), 'utf8')) as Manifest;
}

/** What is installed: the frameworks of `package.json` of test/frameworks, and what this package depends on. */
function wanted(): Manifest & { readonly private: true; readonly type: 'module' } {
  const dependencies = { ...read('test/frameworks/package.json').dependencies, ...read('package.json').dependencies };
  return { private: true, type: 'module', dependencies };
}

/** Folder in which the frameworks are, or would be. */
function folderOf(manifest: object): string {
  const name = createHash('sha256').update(JSON.stringify(manifest)).digest('hex').slice(0, 12);
  return join(CACHE, `frameworks-${name}`);
}

/** True where the frameworks may be fetched: with `FRAMEWORKS=1`. */
export function findFrameworks(): true | undefined {
  return process.env['FRAMEWORKS'] === '1' ? true : undefined;
}

/**
 * Installs the frameworks once, and this package as it is built beside them.
 *
 * @returns The folder whose `node_modules` has them; undefined where the registry does not have them.
 */
export function installFrameworks(): string | undefined {
  const manifest = wanted();
  const folder = folderOf(manifest);
  if (!existsSync(folder)) {
    const draft = `${folder}.${process.pid}`;
    // Without a registry, npm would try for minutes.
    const ping = ['ping', '--fetch-retries=0', `--fetch-timeout=${PING_MS}`];
    if (spawnSync('npm', ping, { cwd: root, stdio: 'ignore', timeout: PING_MS }).status !== 0) return undefined;
    mkdirSync(draft, { recursive: true });
    writeFileSync(join(draft, 'package.json'), JSON.stringify(manifest));
    // Peers of one framework that another has in a newer version are none of ours.
    const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--legacy-peer-deps', '--prefer-offline'];
    const { status } = spawnSync('npm', ['install', ...options], { cwd: draft, stdio: 'ignore', timeout: INSTALL_MS });
    if (status !== 0) {
      rmSync(draft, { recursive: true, force: true });
      return undefined;
    }
    renameSync(draft, folder);
  }
  const own = join(folder, 'node_modules/signalbox');
  if (!existsSync(join(root, 'dist/index.js'))) execFileSync('npm', ['run', 'build'], { cwd: root, stdio: 'ignore' });
  rmSync(own, { recursive: true, force: true });
  cpSync(join(root, 'dist'), join(own, 'dist'), { recursive: true });
  cpSync(join(root, 'package.json'), join(own, 'package.json'));
  return folder;
}
