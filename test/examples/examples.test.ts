import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { readProjectFile } from '../support/source-files.ts';
import { runProgram } from '../support/run-program.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const SERVERS = ['express', 'fastify', 'fetch', 'node'] as const;
/** Examples that run by themselves, and what they print. */
const PROGRAMS = {
  'in-process/chat.ts': [/^Would try: simulated.*\n/, /It cost \d/, /Refused with 400: temperature/],
  'custom-plugin/main.ts': [/answered by simulated\/small\n/, /answered by simulated\/large\n$/],
  'batch-with-webhook/main.ts': [/^202: batch_/, /The webhook says batch\.completed/, /green: 200\n$/],
} as const;
/** Run by tests of their own: as a provider, in Next.js, in a browser, with PostgreSQL and Redis, and beside the page that shows it. */
const ELSEWHERE = ['custom-provider', 'next-app', 'ai-sdk-chat', 'multi-instance', 'observability'];

async function started(server: ChildProcess): Promise<string> {
  if (server.stdout === null) throw new Error('The server has no output');
  for await (const line of createInterface({ input: server.stdout })) {
    const port = /(?:Listening on port |listens at http:\/\/127\.0\.0\.1:)(\d+)/.exec(line)?.[1];
    if (port !== undefined) return `http://127.0.0.1:${port}`;
  }
  throw new Error('The server said no port');
}

describe('the examples', () => {
  const folders = readdirSync(join(root, 'examples'));

  it('each have a short README and a test', () => {
    const tested = ['quickstart', ...SERVERS, ...Object.keys(PROGRAMS).map((file) => file.split('/')[0]), ...ELSEWHERE];
    expect(new Set(folders)).toEqual(new Set(tested));
    for (const folder of folders) {
      expect(existsSync(join(root, 'examples', folder, 'README.md'))).toBe(true);
      const lines = readProjectFile(`examples/${folder}/README.md`)
        .split('\n')
        .filter((line) => line !== '');
      expect(lines.length, folder).toBeLessThanOrEqual(6);
    }
  });

  it.each(folders)(
    "%s says how to run it from a clone and in a project of one's own, with each package it needs",
    (name) => {
      const readme = readProjectFile(`examples/${name}/README.md`);
      expect(readme).toMatch(/^From a clone.*`npm ci && npm (?:start|run build)/m);
      // `npm init` makes projects of CommonJS, where none of these programs runs; a bundler reads those of Next.
      const start = ['next-app', 'ai-sdk-chat'].includes(name) ? '' : 'npm pkg set type=module && ';
      const own = readme
        .split('\n')
        .find((line) => line.startsWith(`In a project of your own: \`${start}npm install `));
      const [, installed = ''] = /npm install ([^`]*)`/.exec(own ?? '') ?? [];
      expect(installed).toMatch(/^signalbox\b/);
      const programs = readdirSync(join(root, 'examples', name)).filter((file) => file.endsWith('.ts'));
      const imported = programs.flatMap((file) =>
        [...readProjectFile(`examples/${name}/${file}`).matchAll(/from '((?:@[\w-]+\/)?[\w-]+)/g)].map(
          ([, one]) => one,
        ),
      );
      // A configuration of Next is in a project that has Next.
      const needed = imported.filter((one = '') => one !== 'node' && one !== 'next');
      expect(needed.filter((one = '') => !installed.split(' ').includes(one))).toEqual([]);
    },
  );

  it.each(Object.entries(PROGRAMS))('%s prints what it should', async (file, expected) => {
    const { stdout, stderr } = await runProgram(join(root, 'examples', file));
    for (const pattern of expected) expect(stdout).toMatch(pattern);
    expect(stderr).toBe('');
  });

  it.each(SERVERS)('%s answers under /v1, beside routes of its own, and runs a batch to its end', async (name) => {
    const env = { ...process.env, PORT: '0', ROUTER_KEY: 'sk-of-a-caller-in-the-test' };
    const server = spawn(process.execPath, [`examples/${name}/server.ts`], { cwd: root, env });
    const ended = once(server, 'exit');
    try {
      const address = await started(server);
      expect(await (await fetch(address)).text()).toBe('The router is at /v1');
      const response = await fetch(`${address}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer sk-of-a-caller-in-the-test' },
        body: JSON.stringify({ model: 'simulated/small', messages: [{ role: 'user', content: 'Hello' }] }),
      });
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ choices: [{ message: { role: 'assistant' } }] });
      const headers = { 'content-type': 'application/json', authorization: 'Bearer sk-of-a-caller-in-the-test' };
      const requests = [{ custom_id: 'a', body: { messages: [{ role: 'user', content: 'Hello' }] } }];
      const body = JSON.stringify({ endpoint: '/v1/chat/completions', model: 'simulated/small', requests });
      const created = await fetch(`${address}/v1/batches`, { method: 'POST', headers, body });
      const { id } = (await created.json()) as { readonly id: string };
      const batchNow = async (): Promise<unknown> => (await fetch(`${address}/v1/batches/${id}`, { headers })).json();
      await expect.poll(batchNow).toMatchObject({ status: 'completed', results: [{ response: { status_code: 200 } }] });
    } finally {
      server.kill('SIGTERM');
      await ended;
    }
  });

  it('quickstart prints a line to type, and works off batches', async () => {
    using folder = temporaryFolder();
    const env = { ...process.env, PORT: '0', BATCHES_FILE: folder.file('batches.db') };
    const server = spawn(process.execPath, ['examples/quickstart/server.ts'], { cwd: root, env });
    const ended = once(server, 'exit');
    try {
      const address = await started(server);
      const answer = await fetch(`${address}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'simulated/small', messages: [{ role: 'user', content: 'Hello' }] }),
      });
      expect(answer.status).toBe(200);
      const url = `${address}/v1/batches`;
      const request = { custom_id: 'one', body: { messages: [{ role: 'user', content: 'Hello' }], max_tokens: 3 } };
      const body = { endpoint: '/v1/chat/completions', model: 'simulated/small', requests: [request] };
      const headers = { 'content-type': 'application/json' };
      const created = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
      const { id } = (await created.json()) as { id: string };
      const ask = async () => (await fetch(`${url}/${id}`)).json();
      await expect.poll(ask).toMatchObject({ status: 'completed' });
    } finally {
      server.kill('SIGTERM');
      await ended;
    }
  });
});
