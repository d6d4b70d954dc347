import { spawn } from 'node:child_process';
import { chmodSync, chownSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Postgres } from './postgres.ts';
import { findPgBouncer } from './servers.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** A PgBouncer of the test's own, in front of a PostgreSQL. */
export interface PgBouncer extends AsyncDisposable {
  readonly port: number;
  /** The address of a database through it. */
  readonly connectionString: string;
}

/**
 * Starts a {@link PgBouncer} in transaction mode, which lets in whoever its file names: `signalbox`, with the password
 * `secret`.
 *
 * @param settings - More lines of its configuration.
 */
export async function startPgBouncer(postgres: Postgres, ...settings: readonly string[]): Promise<PgBouncer> {
  const program = findPgBouncer();
  if (program === undefined) throw new Error('PgBouncer is not installed');
  const host = new URL(postgres.connectionString).searchParams.get('host') ?? '';
  for (;;) {
    // The server cannot choose a port that is free, so one that is taken is tried again with another.
    const port = 20_000 + Math.floor(Math.random() * 20_000);
    const folder = temporaryFolder();
    writeFileSync(folder.file('users'), '"signalbox" "secret"\n');
    const config = [
      '[databases]',
      `postgres = host=${host} dbname=postgres`,
      `other = host=${host} dbname=other`,
      'broken = host=127.0.0.1 port=1 dbname=postgres',
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'auth_type = scram-sha-256',
      `auth_file = ${folder.file('users')}`,
      'pool_mode = transaction',
      'default_pool_size = 10',
      ...settings,
    ];
    writeFileSync(folder.file('pgbouncer.ini'), config.join('\n'));
    const { uid, gid } = postgres.owner;
    chmodSync(folder.path, 0o755);
    if (uid !== undefined && gid !== undefined) {
      for (const path of [folder.path, folder.file('users'), folder.file('pgbouncer.ini')]) chownSync(path, uid, gid);
    }
    const server = spawn(program, [folder.file('pgbouncer.ini')], {
      ...postgres.owner,
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
    if (server.exitCode === null) {
      return {
        port,
        connectionString: `postgres://signalbox:secret@127.0.0.1:${port}/postgres`,
        async [Symbol.asyncDispose]() {
          kill();
          process.off('exit', kill);
          await ended;
          folder[Symbol.dispose]();
        },
      };
    }
    process.off('exit', kill);
    folder[Symbol.dispose]();
    if (!words.includes('Address already in use') && !words.includes('EADDRINUSE'))
      throw new Error(`PgBouncer does not start: ${words}`);
  }
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
