import { spawn } from 'node:child_process';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';
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
  const server = spawn(
    program,
    ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--repl-diskless-sync-delay', '0', '--dir', folder.path],
    {
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
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

/** Two servers of which one answers at the address of both, until the other takes over. */
export interface RedisPair extends AsyncDisposable {
  readonly url: string;
  readonly signal: (name: NodeJS.Signals) => void;
  /** Makes the one at the address refuse changes, or take them again. */
  readonly refuseWrites: (isRefused: boolean) => Promise<void>;
  /** Keeps what the server answers from arriving; what it is sent arrives. True at first, false in the end. */
  readonly loseAnswers: (areLost: boolean) => void;
  /** Lets the other take over. Connections to the old one stay open, and lead to a replica. */
  readonly failOver: () => Promise<void>;
}

/** Starts a {@link RedisPair}; undefined where servers of the test's own cannot be started. */
export async function startRedisPair(): Promise<RedisPair | undefined> {
  const servers = [await startRedis(), await startRedis()] as const;
  const [{ signal }, { signal: otherSignal }] = servers;
  if (signal === undefined || otherSignal === undefined) return undefined;
  const [portA = 0, portB = 0] = servers.map(({ url }) => Number(new URL(url).port));
  const [one, two] = [new Redis(portA), new Redis(portB)];
  let first = 0;
  let answersAreLost = false;
  const sockets = new Set<Socket>();
  const proxy = createServer((near) => {
    const far = connect(first === 0 ? portA : portB, '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket.on('error', () => {}));
      socket.on('close', () => [near, far].map((each) => each.destroy()));
    }
    near.pipe(far);
    far.on('data', (answer) => answersAreLost || near.write(answer));
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const { port } = proxy.address() as AddressInfo;
  const admin = (): Redis => (first === 0 ? one : two);
  await two.call('REPLICAOF', '127.0.0.1', String(portA));
  await isInSync(two, one);
  return {
    url: `redis://127.0.0.1:${port}`,
    signal: (name) => (first === 0 ? signal : otherSignal)(name),
    async refuseWrites(isRefused) {
      await (isRefused ? admin().call('REPLICAOF', '127.0.0.1', '1') : admin().call('REPLICAOF', 'NO', 'ONE'));
    },
    loseAnswers(areLost) {
      answersAreLost = areLost;
      if (!areLost) for (const socket of sockets) socket.destroy();
    },
    async failOver() {
      const [old, next] = first === 0 ? [one, two] : [two, one];
      await isInSync(next, old);
      await next.call('REPLICAOF', 'NO', 'ONE');
      await old.call('REPLICAOF', '127.0.0.1', String(first === 0 ? portB : portA));
      first = 1 - first;
      await isInSync(old, next);
    },
    async [Symbol.asyncDispose]() {
      one.disconnect();
      two.disconnect();
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => proxy.close(resolve));
      await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
    },
  };
}

/** Waits until a replica has the data of its master. */
async function isInSync(replica: Redis, master: Redis): Promise<void> {
  for (;;) {
    const [status, wanted] = await Promise.all([replica.info('replication'), master.info('replication')]);
    const [, has] = /slave_repl_offset:(\d+)/.exec(status) ?? [];
    const [, all] = /master_repl_offset:(\d+)/.exec(wanted) ?? [];
    if (status.includes('master_link_status:up') && Number(has) >= Number(all)) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
