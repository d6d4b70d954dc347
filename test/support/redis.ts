import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { findRedis } from './servers.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** A Redis of the test's own, or one that was running before. */
export interface RedisServer extends AsyncDisposable {
  readonly url: string;
  /** Sends a signal; undefined for a server that is not the test's own. */
  readonly signal: ((name: NodeJS.Signals) => void) | undefined;
}

/** Starts a {@link RedisServer}. */
export async function startRedis(): Promise<RedisServer> {
  const found = findRedis();
  if (found === undefined) throw new Error('Redis is not installed');
  if ('url' in found) return { url: found.url, signal: undefined, [Symbol.asyncDispose]: () => Promise.resolve() };
  for (;;) {
    // The server cannot choose a port that is free, so one that is taken is tried again with another.
    const port = 20_000 + Math.floor(Math.random() * 20_000);
    const server = await tryPort(found.program, port);
    if (server !== undefined) return server;
  }
}

async function tryPort(program: string, port: number): Promise<RedisServer | undefined> {
  const folder = temporaryFolder();
  const server = spawn(program, ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--dir', folder.path], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = new Promise<false>((resolve) => {
    server.once('exit', () => resolve(false));
  });
  const ready = new Promise<true>((resolve) => {
    createInterface({ input: server.stdout }).on('line', (line) => {
      if (line.includes('Ready to accept connections')) resolve(true);
    });
  });
  const kill = (): unknown => server.kill('SIGKILL');
  process.on('exit', kill);
  if (!(await Promise.race([ready, ended]))) return undefined;
  return {
    url: `redis://127.0.0.1:${port}`,
    signal: (name) => server.kill(name),
    async [Symbol.asyncDispose]() {
      kill();
      process.off('exit', kill);
      await ended;
      folder[Symbol.dispose]();
    },
  };
}
