/** Runs in a process of its own: it waits for a program that it starts and stops. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { codeBlocks } from '../support/code-blocks.ts';
import { readProjectFile } from '../support/source-files.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/**
 * The Dockerfile, the probes and the program of docs/deployment.md, carried out without Docker: each stage is a folder,
 * its instructions are done there in order, and what the image would start is started with its environment.
 */

const root = fileURLToPath(new URL('../..', import.meta.url));
const page = readProjectFile('docs/deployment.md');
const dockerfile = /```dockerfile\n([\s\S]*?)```/.exec(page)?.[1] ?? '';
const probes = /```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? '';
const KEY = 'a key for this example only';
const CHAT = { model: 'simulated/small', messages: [{ role: 'user', content: 'Tell me of signals' }] };

interface Image {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly command: readonly string[];
  readonly health: readonly string[];
}

/** Puts the package where `npm ci` would, with links to what it depends on. */
function install(folder: string): void {
  const { dependencies } = JSON.parse(readProjectFile('package.json')) as { readonly dependencies: object };
  for (const name of Object.keys(dependencies)) {
    mkdirSync(dirname(join(folder, 'node_modules', name)), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  }
  for (const part of ['dist', 'package.json']) {
    cpSync(join(root, part), join(folder, 'node_modules/signalbox', part), { recursive: true });
  }
}

/** Does what a Dockerfile says, from the reader's folder, below another one. */
function buildImage(context: string, place: string): Image {
  const stages = new Map<string, string>();
  let folder = '';
  let workdir = '';
  const env: Record<string, string> = {};
  const found: { command: readonly string[]; health: readonly string[] } = { command: [], health: [] };
  const at = (path: string): string => join(folder, path.startsWith('/') ? path : join(workdir, path));
  const listOf = (text: string): readonly string[] => JSON.parse(text) as readonly string[];
  for (const line of dockerfile.split('\n').filter((text) => text.trim() !== '')) {
    const [, instruction = '', rest = ''] =
      /^(\w+) (.*)$/.exec(line) ?? expect.unreachable(`not an instruction: ${line}`);
    const words = rest.split(' ');
    if (instruction === 'FROM') {
      folder = join(place, String(stages.size));
      stages.set(words[2] ?? 'last', folder);
    } else if (instruction === 'WORKDIR') {
      workdir = rest;
      mkdirSync(at('.'), { recursive: true });
    } else if (instruction === 'ENV') {
      for (const pair of words) env[pair.split('=')[0] ?? ''] = pair.split('=')[1] ?? '';
    } else if (instruction === 'COPY') {
      const from = /^--from=(\w+)$/.exec(words[0] ?? '')?.[1];
      const source = from === undefined ? context : (stages.get(from) ?? expect.unreachable(`no stage ${from}`));
      const [target = '', ...paths] = words.filter((word) => !word.startsWith('--')).toReversed();
      for (const path of paths) {
        const to = paths.length > 1 || target.endsWith('/') ? join(at(target), path) : at(target);
        cpSync(join(source, path), to, { recursive: true, verbatimSymlinks: true });
      }
    } else if (instruction === 'RUN') {
      expect(rest).toBe('npm ci --omit=dev');
      for (const file of ['package.json', 'package-lock.json']) expect(existsSync(at(file))).toBe(true);
      install(at('.'));
    } else if (instruction === 'HEALTHCHECK') {
      found.health = listOf(/CMD (.*)$/.exec(rest)?.[1] ?? '');
    } else if (instruction === 'CMD') {
      // As a list: as a string, a shell would get the signals.
      found.command = listOf(rest);
    } else {
      expect(['USER', 'EXPOSE']).toContain(instruction);
    }
  }
  return { folder: at('.'), env, ...found };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { readonly port: number };
  server.close();
  await once(server, 'close');
  return port;
}

function post(port: number, body: object, key = KEY): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  });
}

const statusAt = (port: number, path: string): Promise<number> =>
  fetch(`http://127.0.0.1:${port}${path}`).then(
    ({ status }) => status,
    () => 0,
  );

describe('an image of the Dockerfile', () => {
  const place = temporaryFolder();
  let image: Image;
  let port: number;
  let server: ChildProcess | undefined;
  let printed = '';
  const environment = (): Record<string, string> => {
    const { PATH = '' } = process.env;
    // A quicker stop than in production, at a port that is free.
    return { ...image.env, PATH, PORT: String(port), DRAIN_MS: '1000' };
  };
  const healthy = (): number | null =>
    spawnSync(
      process.execPath,
      image.health.slice(1).map((word) => word.replace('3000', String(port))),
      {
        env: environment(),
      },
    ).status;

  beforeAll(async () => {
    if (!existsSync(join(root, 'dist/index.js'))) spawnSync('npm', ['run', 'build'], { cwd: root });
    const context = place.file('context');
    mkdirSync(context);
    writeFileSync(join(context, 'package.json'), '{ "type": "module", "dependencies": { "signalbox": "*" } }');
    writeFileSync(join(context, 'package-lock.json'), '{}');
    const program = codeBlocks(page).find((block) => block.includes('DRAIN_MS')) ?? '';
    // Long enough that a stop comes in the middle of an answer.
    writeFileSync(join(context, 'server.ts'), program.replace('simulated()', 'simulated({ tokensPerSecond: 40 })'));
    image = buildImage(context, place.path);
    port = await freePort();
    const [node, ...args] = image.command;
    expect([node, image.health[0]]).toEqual(['node', 'node']);
    const started = spawn(process.execPath, args, { cwd: image.folder, env: environment() });
    server = started;
    started.stdout.on('data', (text: Buffer) => (printed += text.toString()));
    started.stderr.on('data', (text: Buffer) => (printed += text.toString()));
    await vi.waitFor(async () => expect(await statusAt(port, '/ready')).toBe(200), 15_000);
  });

  afterAll(() => {
    server?.kill('SIGKILL');
    place[Symbol.dispose]();
  });

  it('answers its callers, its probes and its health check', async () => {
    expect(image.env).toMatchObject({ NODE_ENV: 'production', PORT: '3000' });
    const asked = [...probes.matchAll(/path: (\S+), port: (\d+)/g)];
    expect(asked.map(([, , at]) => at)).toEqual(['3000', '3000']);
    for (const [, path = ''] of asked) expect([path, await statusAt(port, path)]).toEqual([path, 200]);
    expect(healthy()).toBe(0);
    expect((await post(port, CHAT)).status).toBe(200);
    expect((await post(port, CHAT, 'sk-wrong')).status).toBe(401);
  });

  it('gets the time that its longest answer needs to stop', async () => {
    const { timeouts } = (await import('signalbox')).createRouter({
      providers: [(await import('signalbox')).simulated()],
    }).internals.config;
    const seconds = Number(/terminationGracePeriodSeconds: (\d+)/.exec(probes)?.[1]);
    expect(seconds * 1_000).toBeGreaterThanOrEqual(timeouts.totalMs + Number(image.env['DRAIN_MS']));
  });

  it('fails its readiness at a stop, answers what comes meanwhile, and ends when all is answered', async () => {
    const exit = server === undefined ? expect.unreachable('nothing was started') : once(server, 'exit');
    const streamed = await post(port, { ...CHAT, stream: true });
    server?.kill('SIGTERM');
    await expect.poll(() => statusAt(port, '/ready'), { interval: 20 }).toBe(503);
    expect((await post(port, { ...CHAT, max_tokens: 5 })).status).toBe(200);
    const text = await streamed.text();
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(text).toContain('"finish_reason":"stop"');
    expect(await exit).toEqual([0, null]);
    expect(printed.trim().split('\n').at(-1)).toBe('stopped');
    expect(healthy()).toBe(1);
  });
});
