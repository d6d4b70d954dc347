import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readProjectFile } from './support/source-files.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
/** Inside the project, so that `signalbox` means this package, as it was built. */
const folder = join(root, 'coverage/newcomer');
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

const node = async (...args: readonly string[]): Promise<string> =>
  (await run(process.execPath, [...args], { cwd: folder, timeout: 20_000 })).stdout;

beforeAll(() => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a newcomer who follows "Getting started"', () => {
  it('gets a stream, a fallback, the inspector and a batch, all as the page shows them', async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/v1`;
    const files = filesOf(port);
    expect(Object.keys(files)).toEqual(['first.ts', 'server.ts', 'client.ts', 'tsconfig.json', 'requests.jsonl']);
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    expect(await node(join(root, 'node_modules/typescript/bin/tsc'), '--singleThreaded')).toBe('');
    expect(await node('first.ts')).toBe(shownAfter('node first.ts'));
    const server = spawn(process.execPath, ['server.ts'], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
    const complained: unknown[] = [];
    server.stderr.on('data', (line) => complained.push(String(line)));
    try {
      const [greeting] = (await once(server.stdout, 'data')) as [Buffer];
      expect(String(greeting)).toBe(`Inspector: ${url}/inspector\n`);
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
      expect(complained.filter((line) => !String(line).includes('ExperimentalWarning'))).toEqual([]);
    } finally {
      server.kill('SIGKILL');
      await once(server, 'exit');
    }
  });
});
