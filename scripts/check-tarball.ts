import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Packs the package, installs the tarball into an empty folder as a user would, opens every door and makes calls over
 * HTTP with the oldest Node that `engines` names, exactly, and with the newest of each later line.
 * Usage: npm run check:tarball [-- 22.19.0 24 26]; the path of a tarball is used instead of a new one, and `--linked`
 * takes the packages it names from this clone instead of the registry, which needs no npm.
 */
const LATER = ['24', '26'];

const root = fileURLToPath(new URL('..', import.meta.url));

interface Manifest {
  readonly exports: Readonly<Record<string, unknown>>;
  readonly engines: { readonly node: string };
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
    console.log(\`\${process.version}: ${names.length} entry points open, a call and a stream agree\`);
  `;
}

/** A provider over HTTP that compresses its answers, a call, a stream, and a batch kept in SQLite. */
const CALLS = `
  import { createServer } from 'node:http';
  import { gzipSync } from 'node:zlib';
  import { createRouter, openaiCompatible } from 'signalbox';
  import { sqliteStorage } from 'signalbox/sqlite';
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const part of request) text += part;
    const { stream, model } = JSON.parse(text);
    const choice = (member) => ({ index: 0, finish_reason: 'stop', [member]: { role: 'assistant', content: 'Hello' } });
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    const of = (member) => JSON.stringify({ id: 'x', created: 1, model, choices: [choice(member)], usage });
    const type = stream ? 'text/event-stream' : 'application/json';
    response.writeHead(200, { 'content-type': type, 'content-encoding': 'gzip' });
    response.end(gzipSync(stream ? 'data: ' + of('delta') + '\\n\\ndata: [DONE]\\n\\n' : of('message')));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const baseURL = 'http://127.0.0.1:' + server.address().port + '/v1';
  const provider = openaiCompatible({ slug: 'up', baseURL, apiKey: 'k', models: { 'acme/one': { price: { prompt: 1, completion: 1 } } } });
  const storage = sqliteStorage({ file: process.argv[2] });
  const router = createRouter({ providers: [provider], batches: { storage } });
  const request = { model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }] };
  const texts = [(await router.chat(request)).choices[0].message.content, ''];
  for await (const chunk of router.stream(request)) texts[1] += chunk.choices[0]?.delta.content ?? '';
  const requests = [{ custom_id: 'a', body: { messages: request.messages } }];
  const { id } = await router.batches.create({ endpoint: '/v1/chat/completions', model: 'acme/one', requests });
  await router.batches.start();
  const until = Date.now() + 30_000;
  while ((await router.batches.retrieve(id)).status !== 'completed') {
    if (Date.now() > until) throw new Error('the batch does not end');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  for await (const { response } of router.batches.results(id)) texts.push(response.body.choices[0].message.content);
  if (texts.join() !== 'Hello,Hello,Hello') throw new Error('answers differ: ' + texts.join());
  await router.close();
  server.close();
  console.log(process.version + ': a call, a stream and a batch in SQLite over an HTTP provider');
`;

function npm(args: readonly string[], cwd: string): string {
  return execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}

/** Path of a new tarball. */
function packed(): string {
  const place = join(folder, 'package');
  execFileSync(process.execPath, ['scripts/package.ts', `--out=${place}`], { cwd: root, stdio: 'ignore' });
  const [{ filename }] = JSON.parse(npm(['pack', place, '--json', '--pack-destination', folder], root)) as [
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
const oldest = `${manifest.engines.node.replace('>=', '')}.0`;
const versions = named.length > 0 ? named : [oldest, ...LATER];
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
  const run = (binary: string, ...args: readonly string[]): string =>
    execFileSync(binary, args, { cwd: user, encoding: 'utf8' });
  writeFileSync(join(user, 'calls.mjs'), CALLS);
  for (const [index, binary] of binaries.entries()) {
    run(binary, 'few.mjs');
    process.stdout.write(run(binary, '--disable-warning=ExperimentalWarning', 'calls.mjs', `batches-${index}.sqlite`));
  }
  const peers = Object.values(NEEDS);
  const versioned = peers.map((name) => `${name}@${manifest.devDependencies[name]}`);
  if (isLinked) link(peers, user);
  else npm(['install', '--no-audit', '--no-fund', ...versioned], user);
  for (const binary of binaries) process.stdout.write(run(binary, 'doors.mjs'));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
