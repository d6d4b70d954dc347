import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { runIn } from '../support/command.ts';
import { listen } from '../support/mounts.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const PROGRAM = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));

/** The built program, serving. */
interface Serving extends AsyncDisposable {
  readonly url: string;
  /** Everything that was printed so far. */
  printed(): string;
  /** Sends a signal, and gives the exit code. */
  end(signal: NodeJS.Signals): Promise<unknown>;
  /** Sends a signal. */
  signal(signal: NodeJS.Signals): void;
}

async function serving(folder: string, ...args: readonly string[]): Promise<Serving> {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const child: ChildProcess = spawn(process.execPath, [PROGRAM, 'serve', '--port', '0', ...args], {
    cwd: folder,
    env: { PATH, NODE_COMPILE_CACHE },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exit = once(child, 'exit');
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => (printed += text));
  }
  while (!printed.includes('Try: ')) await Promise.race([once(child.stdout ?? child, 'data'), failed(exit)]);
  return {
    url: /listens at (\S+)/.exec(printed)?.[1] ?? '',
    printed: () => printed,
    signal: (signal) => void child.kill(signal),
    async end(signal) {
      child.kill(signal);
      const [code] = (await exit) as [unknown];
      return code;
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await exit;
    },
  };
}

async function failed(exit: Promise<unknown[]>): Promise<never> {
  const [code] = await exit;
  throw new Error(`The program ended with ${String(code)}`);
}

function ask(url: string, fields: object = {}): Promise<Response> {
  return fetch(`${url}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'Hello' }], model: 'simulated/small', ...fields }),
  });
}

describe('signalbox serve', () => {
  it('answers without configuration and keys, says that it simulates, and ends well at SIGTERM', async () => {
    using folder = temporaryFolder();
    await using program = await serving(folder.path);
    expect(program.printed()).toMatch(/^Inspector: http:.*\/v1\/inspector\nSignalbox listens at /m);
    const page = await fetch(`${program.url}/inspector`);
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('Signalbox inspector')]);
    expect(program.printed()).toContain('Configuration: the environment');
    expect(program.printed()).toContain('Answers are simulated');
    expect(program.printed()).toContain('Callers: this machine only, without credentials');
    expect((await ask(program.url, { max_tokens: 3 })).status).toBe(200);
    expect((await fetch(`${program.url}/openapi.json`)).status).toBe(200);
    expect(await program.end('SIGTERM')).toBe(0);
    expect(program.printed()).toContain('Stopped.');
  });

  it('shows a command to try with the place of the API key, where callers need one', async () => {
    using folder = temporaryFolder();
    const apiKeys = [{ id: 'me', key: 'sk-0123456789abcdef' }];
    writeFileSync(folder.file('signalbox.config.json'), JSON.stringify({ providers: ['simulated'], apiKeys }));
    await using program = await serving(folder.path);
    expect(program.printed()).toContain("/chat/completions -H 'authorization: Bearer <API key>' -H 'content-type");
    expect(program.printed()).not.toContain('sk-0123456789abcdef');
    expect((await ask(program.url)).status).toBe(401);
  });

  it('ends the answers that are under way before it goes', async () => {
    using folder = temporaryFolder();
    const config = { providers: [{ use: 'simulated', firstTokenMs: 50, tokensPerSecond: 100 }] };
    writeFileSync(folder.file('signalbox.config.json'), JSON.stringify(config));
    await using program = await serving(folder.path);
    const answer = await ask(program.url, { stream: true, max_tokens: 20 });
    const ended = program.end('SIGINT');
    expect(await answer.text()).toMatch(/data: \[DONE\]\n\n$/);
    expect(await ended).toBe(0);
  });

  it('reads its configuration again when the file changes and at SIGHUP, and keeps the old one if it is faulty', async () => {
    using folder = temporaryFolder();
    const write = (aliases: unknown): void =>
      writeFileSync(folder.file('signalbox.config.json'), JSON.stringify({ providers: ['simulated'], aliases }));
    write({ fast: 'simulated/small' });
    await using program = await serving(folder.path);
    expect((await ask(program.url, { model: 'fast', max_tokens: 3 })).status).toBe(200);
    write({ quick: 'simulated/small' });
    await expect
      .poll(() => program.printed(), { timeout: 10_000 })
      .toContain('Configuration 2 from signalbox.config.json is in force.');
    expect((await ask(program.url, { model: 'quick', max_tokens: 3 })).status).toBe(200);
    expect((await ask(program.url, { model: 'fast', max_tokens: 3 })).status).toBe(400);
    expect((await fetch(`${program.url}/inspector`)).status).toBe(200);
    write(5);
    await expect.poll(() => program.printed(), { timeout: 10_000 }).toContain('Configuration 2 stays in force');
    expect(program.printed()).toContain('aliases');
    expect((await ask(program.url, { model: 'quick', max_tokens: 3 })).status).toBe(200);
    write({ quick: 'simulated/small' });
    await expect.poll(() => program.printed(), { timeout: 10_000 }).toContain('Configuration 3 from');
    program.signal('SIGHUP');
    await expect.poll(() => program.printed(), { timeout: 10_000 }).toContain('Configuration 4 from');
  });

  it('reads a configuration again whose stores are made anew by each reading', async () => {
    using folder = temporaryFolder();
    const write = (tag: string, keepDays: number): void =>
      writeFileSync(
        folder.file('signalbox.config.mjs'),
        `import { simulated } from '${new URL('../../dist/index.js', import.meta.url).href}';
         import { sqliteLedger, sqliteStorage } from '${new URL('../../dist/sqlite.js', import.meta.url).href}';
         export default {
           providers: [simulated()],
           aliases: { ${tag}: 'simulated/small' },
           ledger: { store: sqliteLedger({ file: 'ledger.db', keepDays: ${keepDays} }), tags: ['team'] },
           batches: { storage: sqliteStorage({ file: 'batches.db' }) },
         };`,
      );
    write('fast', 30);
    await using program = await serving(folder.path);
    for (const [index, alias] of ['quick', 'swift', 'rapid'].entries()) {
      write(alias, 30);
      await expect
        .poll(() => program.printed(), { timeout: 20_000 })
        .toContain(`Configuration ${index + 2} from signalbox.config.mjs`);
      expect((await ask(program.url, { model: alias, max_tokens: 3 })).status).toBe(200);
    }
    expect(program.printed()).not.toContain('cannot change');
  }, 60_000);

  it('does not wait for ever for a file that never settles, and says what a file does that ends the process', async () => {
    using folder = temporaryFolder();
    const file = folder.file('signalbox.config.mjs');
    const simulated = `import { simulated } from '${new URL('../../dist/index.js', import.meta.url).href}';`;
    const good = (alias: string): string =>
      `${simulated} export default { providers: [simulated()], aliases: { ${alias}: 'simulated/small' } };`;
    writeFileSync(file, good('fast'));
    await using program = await serving(folder.path);
    const says = (text: string): Promise<void> =>
      expect.poll(() => program.printed(), { timeout: 30_000 }).toContain(text);
    const hang = async (): Promise<void> => {
      writeFileSync(file, 'await new Promise(() => {}); export default {};');
      // Longer than a change of the file is waited for.
      await new Promise((resolve) => setTimeout(resolve, 500));
    };
    await hang();
    // A later one takes its place at once.
    writeFileSync(file, good('quick'));
    await says('Configuration 2 from signalbox.config.mjs is in force.');
    expect((await ask(program.url, { model: 'quick', max_tokens: 3 })).status).toBe(200);
    writeFileSync(file, `throw { of: 'no class' };`);
    await says('Configuration 2 stays in force');
    await hang();
    await says('it has not given a configuration within 10 seconds. Look at what it awaits.');
    expect(program.printed().match(/has not given/g)).toHaveLength(1);
    writeFileSync(file, good('swift'));
    await says('Configuration 3 from signalbox.config.mjs is in force.');
    writeFileSync(file, 'process.exit(7);');
    await says('The process ends with code 7 while signalbox.config.mjs is read: something in it calls process.exit.');
  }, 90_000);

  it('says at its start what it waits for', async () => {
    using folder = temporaryFolder();
    const simulated = new URL('../../dist/index.js', import.meta.url).href;
    writeFileSync(
      folder.file('signalbox.config.mjs'),
      `import { simulated } from '${simulated}';
       await new Promise((resolve) => setTimeout(resolve, 11_000));
       export default { providers: [simulated()] };`,
    );
    await using program = await serving(folder.path);
    expect(program.printed()).toContain(
      'Still reading signalbox.config.mjs: it has not given a configuration within 10',
    );
  }, 60_000);

  it('keeps batches in a file, and goes on with them when it begins again', async () => {
    using folder = temporaryFolder();
    let id = '';
    {
      await using program = await serving(folder.path);
      expect(program.printed()).toContain('Batches: signalbox.db');
      const body = { messages: [{ role: 'user', content: 'Hello' }], max_tokens: 3 };
      const created = await fetch(`${program.url}/batches`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          endpoint: '/v1/chat/completions',
          model: 'simulated/small',
          requests: [{ custom_id: 'one', body }],
        }),
      });
      ({ id } = (await created.json()) as { id: string });
      expect(await program.end('SIGTERM')).toBe(0);
    }
    await using program = await serving(folder.path);
    const statusOf = async (): Promise<unknown> =>
      ((await (await fetch(`${program.url}/batches/${id}`)).json()) as { status: unknown }).status;
    await expect.poll(statusOf).toBe('completed');
  });

  it('says where batches cannot be kept', async () => {
    using folder = temporaryFolder();
    const { code, complained } = await runIn(folder, 'serve', '--port', '0', '--batches', 'not/there/batches.db');
    expect(code).toBe(1);
    expect(complained.join()).toContain('signalbox serve: Batches cannot be kept: ');
  });

  it('says in one line why it cannot begin', async () => {
    using folder = temporaryFolder();
    await using other = await listen(createServer());
    const { port } = new URL(other.baseURL);
    const taken = await runIn(folder, 'serve', '--port', port);
    expect([taken.code, taken.complained]).toEqual([
      1,
      [
        `signalbox serve: Cannot listen at 127.0.0.1:${port}: another program listens there. Choose another --port or --host.`,
      ],
    ]);
    const wrong = await runIn(folder, 'serve', '--port', 'http');
    expect([wrong.code, wrong.complained]).toEqual([
      2,
      ['signalbox serve: The port must be a number from 0 to 65535, not "http". Try "npx signalbox serve --help".'],
    ]);
    writeFileSync(folder.file('signalbox.config.json'), '{"timeout":{}}');
    const refused = await runIn(folder, 'serve', '--port', '0');
    expect(refused.code).toBe(1);
    expect(refused.complained.join()).toContain('timeout is not an option; did you mean "timeouts"?');
  });
});
