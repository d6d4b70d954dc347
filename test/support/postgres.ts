import { type ChildProcess, execFileSync, type ExecFileSyncOptions, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Pool } from 'pg';
import type { BatchStoreFaults } from 'signalbox/testing';
import { findPostgres } from './servers.ts';

/** A PostgreSQL of the test's own, in a temporary folder. */
export interface Postgres extends AsyncDisposable {
  readonly connectionString: string;
  /** User that the server runs as, where that is another one than that of the test. */
  readonly owner: { readonly uid?: number; readonly gid?: number };
  /** Stops the server as a crash would, and starts it again. */
  crash(): Promise<void>;
  /** Stops every process of the server where it is, until {@link thaw}. */
  freeze(): void;
  /** Lets the server go on. */
  thaw(): void;
  /** The same server behind a proxy, at which faults of {@link BatchStoreFaults} can be brought about. */
  faulty(): Promise<FaultyPostgres>;
}

/** Options of stores that soon give up on a server in trouble. */
export const IMPATIENT = { statementTimeoutMs: 100, connectTimeoutMs: 500, connections: 3 };

/** A {@link Postgres} that is reached through a proxy. */
export interface FaultyPostgres extends AsyncDisposable {
  readonly connectionString: string;
  readonly faults: Required<
    Pick<BatchStoreFaults, 'refuseWrites' | 'failOver' | 'breakConnections' | 'loseAnswers' | 'freeze'>
  >;
}

const USER = 'signalbox';
/** Durability costs time, and a crash of the machine is not what is tested. */
const FAST = [
  '-c',
  'fsync=off',
  '-c',
  'max_connections=60',
  '-c',
  'listen_addresses=',
  '-c',
  'jit=off',
  '-c',
  'full_page_writes=off',
  '-c',
  'autovacuum=off',
];

/** Where data of a new server are kept: to make them takes ten times as long as to copy them. */
const KEPT = fileURLToPath(new URL('../../node_modules/.cache/postgres', import.meta.url));

/** Makes the data of a new server, or copies what one of this version and user had in the beginning. */
function makeData(initdb: string, data: string, options: ExecFileSyncOptions): void {
  const version = execFileSync(initdb, ['--version'], { encoding: 'utf8' }).replaceAll(/[^\w.]+/g, '-');
  const kept = join(KEPT, `${version}${options.uid ?? process.getuid?.()}`);
  if (existsSync(kept)) return void execFileSync('cp', ['-a', kept, data]);
  const make = ['-D', data, '-U', USER, '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
  execFileSync(initdb, make, options);
  const copy = `${kept}.${process.pid}`;
  mkdirSync(KEPT, { recursive: true });
  execFileSync('cp', ['-a', data, copy]);
  try {
    renameSync(copy, kept);
  } catch {
    // Another process has been faster.
    rmSync(copy, { recursive: true, force: true });
  }
}

/** Starts a {@link Postgres}. It takes about a second, the first time three. */
export async function startPostgres(): Promise<Postgres> {
  const programs = findPostgres();
  if (programs === undefined) throw new Error('PostgreSQL is not installed');
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-pg-'));
  const data = join(folder, 'data');
  // The server refuses to run as root.
  const owner = process.getuid?.() === 0 ? otherUser() : {};
  if (owner.uid !== undefined && owner.gid !== undefined) chownSync(folder, owner.uid, owner.gid);
  const options = { ...owner, cwd: folder, env: { ...process.env, LC_ALL: 'C' } };
  makeData(join(programs, 'initdb'), data, { ...options, stdio: 'ignore' });
  const start = (): Promise<ChildProcess> =>
    running(
      spawn(join(programs, 'postgres'), ['-D', data, '-k', folder, ...FAST], {
        ...options,
        stdio: ['ignore', 'ignore', 'pipe'],
      }),
    );
  let server = await start();
  const signal = (name: NodeJS.Signals): void => {
    for (const pid of [server.pid, ...childrenOf(server.pid)]) if (pid !== undefined) kill(pid, name);
  };
  const killAtExit = (): unknown => server.kill('SIGQUIT');
  process.on('exit', killAtExit);
  return {
    connectionString: `postgres://${USER}@localhost/postgres?host=${encodeURIComponent(folder)}`,
    owner,
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    faulty: () => faultyPostgres(folder, signal),
    async crash() {
      await ended(server);
      server = await start();
    },
    async [Symbol.asyncDispose]() {
      process.off('exit', killAtExit);
      await ended(server);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function faultyPostgres(folder: string, signal: (name: NodeJS.Signals) => void): Promise<FaultyPostgres> {
  let answersAreLost = false;
  const sockets = new Set<Socket>();
  const proxy = createServer((near) => {
    const far = connect(join(folder, '.s.PGSQL.5432'));
    for (const socket of [near, far]) {
      sockets.add(socket.on('error', () => {}));
      socket.on('close', () => [near, far].map((each) => each.destroy()));
    }
    near.pipe(far);
    far.on('data', (answer) => answersAreLost || near.write(answer));
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const { port } = proxy.address() as AddressInfo;
  const admin = new Pool({
    connectionString: `postgres://${USER}@localhost/postgres?host=${encodeURIComponent(folder)}`,
    options: '-c default_transaction_read_only=off',
  });
  admin.on('error', () => {});
  // The settings of a user are read when it connects, those of the server by every transaction.
  const readOnly = async (ofServer: string, ofNewConnections: string): Promise<void> => {
    await admin.query(`ALTER ROLE ${USER} ${ofNewConnections}`);
    await admin.query(`ALTER SYSTEM ${ofServer}`);
    await admin.query('SELECT pg_reload_conf()');
    await admin.query('SELECT pg_sleep(0.05)');
  };
  const endConnections = (): Promise<unknown> =>
    admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'signalbox'`);
  const [refuse, take] = ['SET default_transaction_read_only = on', 'RESET default_transaction_read_only'];
  return {
    connectionString: `postgres://${USER}@127.0.0.1:${port}/postgres`,
    faults: {
      async refuseWrites() {
        await readOnly(refuse, take);
        return () => readOnly(take, take);
      },
      async failOver() {
        await readOnly(refuse, 'SET default_transaction_read_only = off');
        return async () => {
          await readOnly(take, take);
          await endConnections();
        };
      },
      async breakConnections() {
        await endConnections();
        const timer = setInterval(() => void endConnections(), 20);
        return () => Promise.resolve(clearInterval(timer));
      },
      loseAnswers() {
        answersAreLost = true;
        return Promise.resolve(() => {
          answersAreLost = false;
          for (const socket of sockets) socket.destroy();
          return Promise.resolve();
        });
      },
      freeze() {
        signal('SIGSTOP');
        return Promise.resolve(() => Promise.resolve(signal('SIGCONT')));
      },
    },
    async [Symbol.asyncDispose]() {
      await admin.end();
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}

/** Processes that a process has started and that are still there. */
function childrenOf(parent: number | undefined): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && parentOf(name) === parent)
    .map(Number);
}

function parentOf(pid: string): number | undefined {
  try {
    // The name of the program, which may hold anything, ends with the last bracket.
    const [, ppid] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return Number(ppid);
  } catch {
    return undefined;
  }
}

function kill(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended meanwhile.
  }
}

function otherUser(): { readonly uid?: number; readonly gid?: number } {
  for (const name of ['postgres', 'nobody']) {
    try {
      const [uid, gid] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, name], { stdio: 'pipe' })));
      if (uid !== undefined && gid !== undefined) return { uid, gid };
    } catch {
      // There is no such user on this machine.
    }
  }
  return {};
}

function running(server: ChildProcess): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    const said: string[] = [];
    if (server.stderr !== null) {
      createInterface({ input: server.stderr }).on('line', (line) => {
        said.push(line);
        if (line.includes('ready to accept connections')) resolve(server);
      });
    }
    server.once('exit', (code) => reject(new Error(`PostgreSQL ended with ${code}:\n${said.slice(-10).join('\n')}`)));
  });
}

function ended(server: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    server.once('exit', () => resolve());
    server.kill('SIGQUIT');
  });
}
