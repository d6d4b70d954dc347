import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type Postgres, startPostgres } from '../test/support/postgres.ts';
import { findPostgres } from '../test/support/servers.ts';
import { temporaryFolder } from '../test/support/temporary-folder.ts';

const SERVER = fileURLToPath(new URL('servers/large-batch.ts', import.meta.url));

/** What the server tells of a stage. */
interface Stage {
  readonly stage: string;
  readonly done: number;
  /** Highest since the stage before, in bytes. */
  readonly rss: number;
  readonly heapUsed: number;
  readonly external: number;
  readonly seconds: number;
  readonly id?: string;
  readonly status?: string;
}

/**
 * Memory of a process that runs one batch of many small requests, over a provider on loopback, at a tenth, a half and
 * all of it, and while its results are read over HTTP.
 *
 * @param seconds - Time for each storage, after which the batch is left as it is.
 */
export async function printLargeBatch(requests: number, seconds: number): Promise<void> {
  using folder = temporaryFolder();
  await using postgres: Postgres | undefined = findPostgres() === undefined ? undefined : await startPostgres();
  const stores = [
    ['sqlite', folder.file('large.db')],
    ...(postgres === undefined ? [] : [['postgres', postgres.connectionString] as const]),
  ] as const;
  const upstream = fork(new URL('upstream.ts', import.meta.url));
  const [{ port }] = (await once(upstream, 'message')) as [{ port: number }];
  for (const [kind, where] of stores) {
    console.log(`\nOne batch of ${requests.toLocaleString('en-US')} requests, storage ${kind}:`);
    const parameters = [SERVER, kind, where, `http://127.0.0.1:${port}/v1`, `${requests}`, `${seconds}`];
    const server = spawn(process.execPath, parameters, { stdio: ['pipe', 'pipe', 'inherit'] });
    try {
      const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
      const next = async <Line>(): Promise<Line> => JSON.parse(String((await lines.next()).value)) as Line;
      let stage = await next<Stage>();
      for (; stage.stage !== 'ended'; stage = await next<Stage>()) print(stage);
      print(stage);
      const { port: own } = await next<{ port: number }>();
      if (stage.status !== 'completed') {
        console.log(`  not completed: ${stage.status}`);
        continue;
      }
      const { results, megabytes, took } = await readResults(`http://127.0.0.1:${own}/v1/batches/${stage.id}`);
      server.stdin.write('\n');
      print(await next<Stage>());
      const speed = (megabytes / took).toFixed(0);
      console.log(`  GET gave ${results.toLocaleString('en-US')} results, ${megabytes.toFixed(0)} MB at ${speed} MB/s`);
    } finally {
      server.stdin.end();
      server.kill();
    }
  }
  upstream.kill();
}

function print({ stage, done, rss, heapUsed, external, seconds }: Stage): void {
  const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`;
  const memory = `memory up to ${megabytes(rss)} (heap ${megabytes(heapUsed)}, beside it ${megabytes(external)})`;
  console.log(
    `  ${stage.padEnd(8)}${done.toLocaleString('en-US').padStart(10)} done, ${memory}, ${seconds.toFixed(0)} s`,
  );
}

/** Reads a batch as it comes, and counts its results without keeping them. */
async function readResults(url: string): Promise<{ results: number; megabytes: number; took: number }> {
  const startedAt = performance.now();
  const response = await fetch(url);
  if (response.body === null) throw new Error('no body');
  const decoder = new TextDecoder();
  let [bytes, results, rest] = [0, 0, ''];
  for await (const piece of response.body) {
    bytes += piece.byteLength;
    const text = rest + decoder.decode(piece, { stream: true });
    const parts = text.split('"custom_id":');
    results += parts.length - 1;
    rest = parts.at(-1)?.slice(-12) ?? '';
  }
  return { results, megabytes: bytes / 1e6, took: (performance.now() - startedAt) / 1_000 };
}
