import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type TemporaryFolder, temporaryFolder } from './temporary-folder.ts';
import { startUpstream, streamEvents, type Upstream } from './upstream.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A folder in which the built package is installed: the paths of our own tsconfig.json lead to the sources. */
function installIn(folder: TemporaryFolder, server: string): void {
  const file = (name: string): string => folder.file(name);
  mkdirSync(file('node_modules'));
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { dependencies: object };
  for (const name of Object.keys(dependencies)) {
    if (name.includes('/')) mkdirSync(dirname(file(`node_modules/${name}`)), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), file(`node_modules/${name}`));
  }
  mkdirSync(file('node_modules/signalbox'));
  // Maps are not published.
  const filter = (path: string): boolean => !path.endsWith('.map');
  cpSync(join(root, 'dist'), file('node_modules/signalbox/dist'), { recursive: true, filter });
  cpSync(join(root, 'package.json'), file('node_modules/signalbox/package.json'));
  cpSync(join(root, 'test/fixtures/runtimes', server), file('server.ts'));
  writeFileSync(file('package.json'), '{ "type": "module", "dependencies": { "signalbox": "*" } }');
}

const JSON_TYPE = { 'content-type': 'application/json' };
const MESSAGES = [{ role: 'user', content: 'Hello' }];

/** A runtime that is not Node. */
export interface ForeignRuntime {
  readonly name: string;
  readonly program: string;
  /** What comes before the server's file. */
  readonly args: readonly string[];
  /** Name of the server among the fixtures; it prints its address. */
  readonly server: string;
}

/** What the built package must do on any runtime. */
export function describeRuntime({ name, program, args, server }: ForeignRuntime): void {
  describe(name, () => {
    let upstream: Upstream;
    let process: ChildProcess;
    let baseURL = '';

    const folder = temporaryFolder();

    beforeAll(async () => {
      installIn(folder, server);
      upstream = await startUpstream();
      process = spawn(program, [...args, 'server.ts', upstream.baseURL], {
        cwd: folder.path,
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const [line] = (await once(process.stdout ?? process, 'data')) as [Buffer];
      baseURL = line.toString().trim();
    }, 60_000);

    afterAll(async () => {
      process.kill('SIGKILL');
      await upstream[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    });

    const post = (path: string, body: object, signal?: AbortSignal) =>
      fetch(`${baseURL}${path}`, {
        method: 'POST',
        headers: JSON_TYPE,
        body: JSON.stringify(body),
        signal: signal ?? null,
      });

    it('answers, non-streaming and streaming, over its own fetch', async () => {
      const whole = await post('/chat/completions', { model: 'upstream/one', messages: MESSAGES });
      expect([whole.status, await whole.json()]).toMatchObject([
        200,
        { choices: [{ message: { content: 'Hello there' } }], provider: 'upstream' },
      ]);
      const stream = await post('/chat/completions', { model: 'upstream/one', messages: MESSAGES, stream: true });
      const text = await stream.text();
      expect(text).toMatch(/data: \[DONE\]\n\n$/);
      expect(text).toContain('"content":"Hello "');
    });

    it('refuses a bad request with its path', async () => {
      const response = await post('/chat/completions', { model: 'simulated/small', messages: [{ role: 'nobody' }] });
      expect(response.status).toBe(400);
      expect(await response.text()).toContain('messages[0].role');
    });

    it('ends the call upstream when the client disconnects', async () => {
      let closed: (() => void) | undefined;
      const ended = new Promise<void>((resolve) => (closed = resolve));
      upstream.handler = (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const event of streamEvents('Hello there').slice(0, 2)) response.write(event);
        response.on('close', () => closed?.());
      };
      const abort = new AbortController();
      const stream = await post(
        '/chat/completions',
        { model: 'upstream/one', messages: MESSAGES, stream: true },
        abort.signal,
      );
      await stream.body?.getReader().read();
      abort.abort();
      await ended;
    });

    it('runs a batch in memory', async () => {
      const created = await post('/batches', {
        endpoint: '/v1/chat/completions',
        model: 'simulated/small',
        requests: [{ custom_id: 'one', body: { messages: MESSAGES } }],
      });
      const { id } = (await created.json()) as { id: string };
      const statusOf = async () =>
        ((await (await fetch(`${baseURL}/batches/${id}`)).json()) as { status: string }).status;
      await expect.poll(statusOf).toBe('completed');
    });
  });
}
