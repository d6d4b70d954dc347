import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as consumers from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { apiKeys, createRouter } from 'signalbox';
import { nodeRouter } from 'signalbox/node';
import { describe, expect, it } from 'vitest';
import { runCommand } from '../../src/cli/main.ts';
import { type Behave, answer, batchProvider, failing } from '../support/batches.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const PROGRAM = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const KEY = 'sk-of-the-test-0123456789';

/** A router on loopback that runs what it is given, and the program pointed at it. */
async function running(behave?: Behave) {
  const folder = temporaryFolder();
  const router = createRouter({
    providers: [batchProvider('up', behave)],
    authenticate: apiKeys([{ id: 'me', key: KEY }]),
    on: { warning: () => {} },
    batches: { worker: false },
  });
  const server = createServer(nodeRouter(router));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return {
    url,
    router,
    write: (text: string) => writeFileSync(folder.file('in.jsonl'), text),
    run: (args: readonly string[], environment = { SIGNALBOX_URL: url, SIGNALBOX_API_KEY: KEY }) =>
      runIn(folder.path, args, environment),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await router.close();
      folder[Symbol.dispose]();
    },
  };
}

async function runIn(folder: string, args: readonly string[], environment: Readonly<Record<string, string>>) {
  const [printed, complained, shown]: [string[], string[], string[]] = [[], [], []];
  const code = await runCommand(['batches', ...args], {
    print: (text) => printed.push(text),
    complain: (text) => complained.push(text),
    progress: (text) => shown.push(text),
    folder,
    now: () => 0,
    // Long enough for the router to do something, whatever the command asks for.
    wait: () => setTimeout(5),
    environment,
  });
  return { code, printed, complained, shown };
}

function line(id: string, more: object = {}): string {
  const body = { model: 'acme/one', messages: [{ role: 'user', content: id }] };
  return JSON.stringify({ custom_id: id, method: 'POST', url: '/v1/chat/completions', body, ...more });
}

describe('signalbox batches', () => {
  it('submits a file, shows how far the batch is, and prints its results in order', async () => {
    await using server = await running(({ text }) => (text === 'c' ? failing('invalid_request', 400) : answer(text)));
    server.write(`\uFEFF${line('a')}\r\n\n${line('b')}\n${line('c')}`);
    const submitted = await server.run(['submit', 'in.jsonl', '--key', 'once']);
    expect([submitted.code, submitted.complained]).toEqual([0, []]);
    const [id = ''] = submitted.printed;
    expect((await server.run(['submit', 'in.jsonl', '--key', 'once'])).printed).toEqual([id]);

    const early = await server.run(['results', id]);
    expect(early.code).toBe(1);
    expect(early.complained[0]).toContain('The batch is validating. Only completed batches have results.');

    await server.router.batches.start();
    const watched = await server.run(['watch', id]);
    expect(watched.code).toBe(0);
    expect(watched.shown.at(-1)).toBe('completed    [##############################] 100%  3 of 3, 1 failed');
    expect(new Set(watched.shown).size).toBe(watched.shown.length);

    const { code, printed } = await server.run(['results', id]);
    const results = printed.map((text) => JSON.parse(text) as { custom_id: string; error: object | null });
    expect([code, results.map((one) => one.custom_id)]).toEqual([0, ['a', 'b', 'c']]);
    expect(results.map(({ error }) => error === null)).toEqual([true, true, false]);
  });

  it('takes separators of lines that may be in a text of JSON', async () => {
    await using server = await running();
    const text = 'one\u2028two\u2029three\u0085four\u000bfive';
    const body = { model: 'acme/one', messages: [{ role: 'user', content: text }] };
    const raw = JSON.stringify({ custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body });
    server.write(`${raw.replaceAll('\\u2028', '\u2028').replaceAll('\\u2029', '\u2029')}\n${line('b')}`);
    const { code, complained } = await server.run(['submit', 'in.jsonl']);
    expect([code, complained]).toEqual([0, []]);
  });

  it('submits what it reads from standard input, whatever its pieces are', async () => {
    await using server = await running();
    const child = spawn(process.execPath, [PROGRAM, 'batches', 'submit', '-', '--json'], {
      env: { ...process.env, SIGNALBOX_URL: server.url, SIGNALBOX_API_KEY: KEY },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const printed = consumers.text(child.stdout);
    const ended = once(child, 'close');
    const bytes = Buffer.from(`${line('ä€😀')}\n\n${line('b')}`);
    // Two characters of several bytes are cut.
    for (const [from, to] of [
      [0, 16],
      [16, 20],
      [20, bytes.length],
    ]) {
      child.stdin.write(bytes.subarray(from, to));
      await setTimeout(20);
    }
    child.stdin.end();
    expect(await ended).toEqual([0, null]);
    const { id, object } = JSON.parse(await printed) as { readonly id: string; readonly object: string };
    expect(object).toBe('batch');
    await server.router.batches.start();
    expect((await server.run(['watch', id])).code).toBe(0);
    const { printed: results } = await server.run(['results', id, '--json']);
    expect(results.map((one) => (JSON.parse(one) as { custom_id: string }).custom_id)).toEqual(['ä€😀', 'b']);
  });

  it('says that standard input has no requests, and which line of it is wrong', async () => {
    await using server = await running();
    const submit = (input: string) =>
      spawnSync(process.execPath, [PROGRAM, 'batches', 'submit', '-'], {
        env: { ...process.env, SIGNALBOX_URL: server.url, SIGNALBOX_API_KEY: KEY },
        input,
        encoding: 'utf8',
      });
    // The server runs in this process, and must not be reached.
    expect(submit('\n').stderr).toContain('- has no requests.');
    expect(submit(`{`).stderr).toContain('Line 1 is not JSON');
  });

  it('tells by the exit code that a batch did not complete, and why', async () => {
    await using server = await running();
    server.write(line('a', { body: { model: 'acme/one', messages: [] } }));
    const { printed } = await server.run(['submit', 'in.jsonl']);
    await server.router.batches.start();
    const { code, shown, complained } = await server.run(['watch', printed[0] ?? '', '--every', '0.1']);
    expect([code, shown.at(-1)?.startsWith('failed')]).toEqual([1, true]);
    expect(complained[0]).toContain('requests[0].body.messages');
  });

  it.each([
    ['{"custom_id"', 'Line 2 is not JSON'],
    ['[]', 'Line 2 must be a JSON object'],
    [line('b', { custom_id: 7 }), 'Line 2: custom_id must be a string'],
    [line('b', { method: 'GET' }), 'Line 2: method must be "POST"'],
    [line('b', { url: '/v1/pictures' }), 'Line 2: url must be one of /v1/chat/completions, '],
    [line('b', { url: '/v1/embeddings' }), 'before it was "/v1/chat/completions"'],
    [line('b', { body: 'text' }), 'Line 2: body must be a JSON object'],
  ])('names the line that is wrong, and leaves no batch behind: %s', async (wrong, complaint) => {
    await using server = await running();
    server.write(`${line('a')}\n${wrong}\n`);
    const { code, complained } = await server.run(['submit', 'in.jsonl']);
    expect([code, complained.join('\n')]).toEqual([1, expect.stringContaining(complaint)]);
    expect((await server.router.batches.list({ account: { id: 'me' } })).data).toEqual([]);
  });

  it('passes on what the server says, and says what is missing', async () => {
    await using server = await running();
    server.write(line('a'));
    const complaints = async (
      args: readonly string[],
      environment?: { SIGNALBOX_URL: string; SIGNALBOX_API_KEY: string },
    ) => {
      const { code, complained } = await server.run(args, environment);
      const text = complained.join('\n');
      expect(code).toBe(text.includes('--help"') ? 2 : 1);
      return text;
    };
    expect(await complaints(['watch', 'batch_none'])).toContain(
      'The server answered 404: There is no batch of this id; GET /batches lists those of the account',
    );
    const { url } = server;
    const wrong = await complaints(['submit', 'in.jsonl'], { SIGNALBOX_URL: url, SIGNALBOX_API_KEY: 'sk-wrong' });
    expect(wrong).toMatch(/The server answered 401: .*; the key is taken from SIGNALBOX_API_KEY$/);
    expect(wrong).not.toContain('sk-wrong');
    expect(await complaints(['watch', 'x'], { SIGNALBOX_URL: '', SIGNALBOX_API_KEY: '' })).toContain('SIGNALBOX_URL');
    expect(await complaints(['watch', 'x', '--url', 'http://127.0.0.1:1'])).toContain('cannot be reached');
    expect(await complaints(['watch', 'x', '--every', 'soon'])).toContain('--every must be a number of seconds');
    expect(await complaints(['submit', 'none.jsonl'])).toContain('none.jsonl cannot be read');
    expect(await complaints(['results'])).toContain('Give the id of a batch');
  });
});
