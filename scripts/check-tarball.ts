import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Packs the package, installs the tarball into an empty folder as a user would, and opens every door with each
 * supported version of Node. Usage: npm run check:tarball [-- 22 24 26]; the path of a tarball is used instead of a new
 * one, and `--linked` takes the packages it names from this clone instead of the registry, which needs no npm.
 */
const SUPPORTED = ['22', '24', '26'];

const root = fileURLToPath(new URL('..', import.meta.url));

interface Manifest {
  readonly exports: Readonly<Record<string, unknown>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

/** Doors that cannot open without the optional package they are for. */
const NEEDS: Readonly<Record<string, string>> = {
  './opentelemetry': '@opentelemetry/api',
  './prometheus': 'prom-client',
};

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;
const doors = Object.keys(manifest.exports).filter((door) => !door.endsWith('.json'));

/** The script that the installed package must pass. */
function doorScript(opened: readonly string[]): string {
  const names = opened.map((door) => door.replace('.', 'signalbox'));
  return `
    for (const door of ${JSON.stringify(names)}) {
      const names = Object.keys(await import(door));
      if (names.length === 0) throw new Error(\`\${door} exports nothing\`);
    }
    const { createRequire } = await import('node:module');
    if (typeof createRequire(import.meta.url)('signalbox').createRouter !== 'function') throw new Error('require() fails');
    const { createRouter, simulated } = await import('signalbox');
    const router = createRouter({ providers: [simulated({ firstTokenMs: 0, tokensPerSecond: Infinity })] });
    const request = { model: 'simulated/small', messages: [{ role: 'user', content: 'Hello' }] };
    const answer = await router.chat(request);
    let streamed = '';
    for await (const chunk of router.stream(request)) streamed += chunk.choices[0]?.delta.content ?? '';
    if (streamed === '' || streamed !== answer.choices[0].message.content) throw new Error('answers differ');
    console.log(\`\${process.version}: ${names.length} doors open, a call and a stream agree\`);
  `;
}

function npm(args: readonly string[], cwd: string): string {
  return execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}

/** Path of a new tarball. */
function packed(): string {
  const [{ filename }] = JSON.parse(npm(['pack', '--json', '--pack-destination', folder], root)) as [
    { filename: string },
  ];
  return join(folder, filename);
}

/** Puts the files of a tarball where npm would, with links to the packages that it depends on, and to no others. */
function unpack(tarball: string, user: string): void {
  const place = join(user, 'node_modules');
  mkdirSync(place);
  execFileSync('tar', ['-xzf', tarball, '-C', place]);
  renameSync(join(place, 'package'), join(place, 'signalbox'));
  link(Object.keys(manifest.dependencies), user);
}

function link(names: readonly string[], user: string): void {
  for (const name of names) {
    const place = join(user, 'node_modules', name);
    mkdirSync(dirname(place), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), place);
  }
}

/** Path of a Node binary, from the npm package \`node\`. */
function nodeBinary(version: string, folder: string): string {
  const place = join(folder, `node-${version}`);
  mkdirSync(place);
  writeFileSync(join(place, 'package.json'), JSON.stringify({ private: true, allowScripts: { node: true } }));
  npm(['install', '--no-audit', '--no-fund', `node@${version}`], place);
  return join(place, 'node_modules/.bin/node');
}

const isLinked = process.argv.includes('--linked');
const named = process.argv.slice(2).filter((argument) => !/^--|\.tgz$/.test(argument));
const versions = named.length > 0 ? named : SUPPORTED;
const folder = mkdtempSync(join(tmpdir(), 'signalbox-tarball-'));
try {
  const tarball = process.argv.find((argument) => argument.endsWith('.tgz')) ?? packed();
  const user = join(folder, 'user');
  mkdirSync(user);
  writeFileSync(join(user, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  if (isLinked) unpack(tarball, user);
  else npm(['install', '--no-audit', '--no-fund', tarball], user);
  writeFileSync(join(user, 'few.mjs'), doorScript(doors.filter((door) => NEEDS[door] === undefined)));
  writeFileSync(join(user, 'doors.mjs'), doorScript(doors));
  const binaries = versions.map((version) => (version === 'this' ? process.execPath : nodeBinary(version, folder)));
  const run = (binary: string, script: string): string =>
    execFileSync(binary, [script], { cwd: user, encoding: 'utf8' });
  for (const binary of binaries) run(binary, 'few.mjs');
  const peers = Object.values(NEEDS);
  const versioned = peers.map((name) => `${name}@${manifest.devDependencies[name]}`);
  if (isLinked) link(peers, user);
  else npm(['install', '--no-audit', '--no-fund', ...versioned], user);
  for (const binary of binaries) process.stdout.write(run(binary, 'doors.mjs'));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
