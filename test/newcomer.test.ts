import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readProjectFile } from './support/source-files.ts';
import { answerWith, startUpstream } from './support/upstream.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
/** A folder of the reader's own, with what the page installs: this package as it was built, and what it says besides. */
const folder = mkdtempSync(join(tmpdir(), 'newcomer-'));
const INSTALLED = ['openai', 'typescript', '@types/node', 'undici-types', 'fastify', 'hono'];
const page = readProjectFile('docs/getting-started.md');
const run = promisify(execFile);

/** Files that the page says to save, by name; programs say theirs in their first line. */
function filesOf(port: number): Readonly<Record<string, string>> {
  const programs = [...page.matchAll(/```ts\n(\/\/ (\S+\.ts)\n[\s\S]*?)```/g)].map(([, text = '', name = '']) => [
    name,
    text.replaceAll('3000', String(port)),
  ]);
  const [tsconfig = '', requests = ''] = [...page.matchAll(/```json\n([\s\S]*?)```/g)].map(([, text]) => text ?? '');
  return { ...Object.fromEntries(programs), 'tsconfig.json': tsconfig, 'requests.jsonl': requests };
}

/** What the page shows below a command, without ids. */
function shownAfter(command: string): string {
  const lines = page
    .slice(page.indexOf(`$ ${command}`))
    .split('\n')
    .slice(1);
  return lines
    .slice(
      0,
      lines.findIndex((line) => /^(?:\$|```)/.test(line)),
    )
    .join('\n');
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

/** The reader's own environment has no keys, and names no vendors' addresses. */
const bare = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/_KEY|_URL|NODE_ENV|VITEST/.test(name)),
);

const nodeWith = async (env: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<string> =>
  (await run(process.execPath, [...args], { cwd: folder, timeout: 20_000, env: { ...bare, ...env } })).stdout;
const node = async (...args: readonly string[]): Promise<string> => nodeWith({}, ...args);

/** A program of the page that stays, once it has said something. */
async function started(file: string, env: Readonly<Record<string, string>> = {}): Promise<Started> {
  const options = { cwd: folder, env: { ...bare, ...env } };
  const child = spawn(process.execPath, [file], { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const complained: string[] = [];
  child.stderr.on('data', (line) => complained.push(String(line)));
  const ended = once(child, 'exit').then(() => {
    throw new Error(complained.join(''));
  });
  const [greeting] = (await Promise.race([once(child.stdout, 'data'), ended])) as [Buffer];
  ended.catch(() => {});
  return {
    greeting: String(greeting),
    complained,
    async [Symbol.asyncDispose]() {
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
  };
}

/** A program that runs. */
interface Started extends AsyncDisposable {
  readonly greeting: string;
  readonly complained: readonly string[];
}

beforeAll(() => {
  const modules = join(folder, 'node_modules');
  for (const name of INSTALLED) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(modules, name));
  }
  symlinkSync(root, join(modules, 'signalbox'));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'newcomer', type: 'module' }));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a newcomer who follows "Getting started"', () => {
  it('gets a stream, a fallback, the inspector, a batch, mounts, providers and keys, all as the page shows them', async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/v1`;
    const files = filesOf(port);
    expect(Object.keys(files)).toEqual([
      'first.ts',
      'server.ts',
      'client.ts',
      'mounts.ts',
      'real.ts',
      'ask.ts',
      'keys.ts',
      'tsconfig.json',
      'requests.jsonl',
    ]);
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    expect(await node(join(root, 'node_modules/typescript/bin/tsc'), '--singleThreaded')).toBe('');
    expect(await node('first.ts')).toBe(shownAfter('node first.ts'));
    {
      await using server = await started('server.ts');
      expect(server.greeting).toBe(`Inspector: ${url}/inspector\n`);
      expect(await node('client.ts')).toBe(shownAfter('node client.ts'));
      expect(await (await fetch(`${url}/inspector`)).text()).toContain('<!doctype html>');
      // What the page of the inspector reads: the call that failed, and the one that answered in its place.
      const shown = (await (await fetch(`${url}/inspector/api/requests`)).json()) as {
        readonly rows: readonly { readonly attempts: readonly { endpoint: string; outcome: string }[] }[];
      };
      expect(shown.rows[0]?.attempts.map(({ endpoint, outcome }) => [endpoint, outcome])).toEqual([
        ['east#acme/small', expect.not.stringMatching('ok')],
        ['west#acme/small', 'ok'],
      ]);
      const cli = (...args: readonly string[]) => node(join(root, 'dist/cli.js'), 'batches', ...args, '--url', url);
      const id = (await cli('submit', 'requests.jsonl')).trim();
      expect(id).toMatch(/^batch_\w+$/);
      await cli('watch', id, '--every', '1');
      const results = (await cli('results', id)).trim().split('\n');
      expect(results.map((line) => (JSON.parse(line) as { custom_id: string }).custom_id)).toEqual([
        'one',
        'two',
        'three',
      ]);
      expect(readFileSync(join(folder, 'batches.db')).length).toBeGreaterThan(0);
      expect(server.complained.filter((line) => !line.includes('ExperimentalWarning'))).toEqual([]);
    }
    expect(await node('mounts.ts')).toBe('200, 200\n');
    await usesRealProviders(url);
  });
});

/** Steps 8 and 9, with a server of ours in the place of the vendor's. */
async function usesRealProviders(url: string): Promise<void> {
  await using vendor = await startUpstream(answerWith('Green.'));
  const keys = { OPENAI_API_KEY: 'sk-of-the-reader-1', ANTHROPIC_API_KEY: 'sk-of-the-reader-2' };
  const env = { ...keys, OPENAI_BASE_URL: vendor.baseURL, ANTHROPIC_BASE_URL: vendor.baseURL };
  {
    await using server = await started('real.ts', env);
    expect(server.greeting).toBe(`Models: ${url}/models\n`);
    expect(await node('ask.ts')).toBe('Green.\n');
    const [sent] = vendor.requests;
    expect([sent?.headers.authorization, sent?.body['model']]).toEqual(['Bearer sk-of-the-reader-1', 'gpt-5-mini']);
  }
  await expect(started('real.ts')).rejects.toThrow('OPENAI_API_KEY');
  const callers = { SHOP_KEY: 'key-of-the-shop-1', REPORTS_KEY_SHA256: sha256('key-of-the-reports-1') };
  await using _ = await started('keys.ts', { ...env, ...callers });
  expect(await nodeWith({ CALLER_KEY: 'key-of-the-shop-1' }, 'ask.ts')).toBe('Green.\n');
  await expect(node('ask.ts')).rejects.toThrow('401');
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
