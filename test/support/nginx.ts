import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { findNginx } from './servers.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** An nginx of the test's own. */
export interface NginxServer extends AsyncDisposable {
  /** Base address without a slash at its end. */
  readonly url: string;
}

/**
 * Starts an {@link NginxServer}.
 *
 * @param locations - What stands in its `server` block.
 */
export async function startNginx(locations: string): Promise<NginxServer> {
  const program = findNginx();
  if (program === undefined) throw new Error('nginx is not installed');
  for (;;) {
    // The server cannot choose a port that is free, so one that is taken is tried again with another.
    const port = 20_000 + Math.floor(Math.random() * 20_000);
    const server = await tryPort(program, port, locations);
    if (server !== undefined) return server;
  }
}

async function tryPort(program: string, port: number, locations: string): Promise<NginxServer | undefined> {
  const folder = temporaryFolder();
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const config = [
    'daemon off;',
    'master_process off;',
    `pid ${folder.file('nginx.pid')};`,
    'error_log stderr warn;',
    'events { worker_connections 64; }',
    'http {',
    '  access_log off;',
    ...kinds.map((kind) => `  ${kind}_temp_path ${folder.file(kind)};`),
    `  server { listen 127.0.0.1:${port};`,
    locations,
    '  }',
    '}',
  ];
  writeFileSync(folder.file('nginx.conf'), config.join('\n'));
  const server = spawn(program, ['-p', folder.path, '-c', folder.file('nginx.conf')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let words = '';
  server.stderr.on('data', (chunk: Buffer) => (words += chunk.toString()));
  const ended = new Promise<void>((resolve) => {
    server.once('exit', () => resolve());
  });
  const kill = (): unknown => server.kill('SIGKILL');
  process.on('exit', kill);
  while (server.exitCode === null && !(await isOpen(port))) await sleep(20);
  if (server.exitCode !== null) {
    if (words.includes('Address already in use')) return undefined;
    throw new Error(`nginx does not start: ${words}`);
  }
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      kill();
      process.off('exit', kill);
      await ended;
      folder[Symbol.dispose]();
    },
  };
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
