import { fileURLToPath } from 'node:url';
import { type Postgres, startPostgres } from '../test/support/postgres.ts';
import { findPostgres } from '../test/support/servers.ts';
import { temporaryFolder } from '../test/support/temporary-folder.ts';
import { batchBody, measureUpload } from '../test/support/upload.ts';
import { printProcesses } from './batch-processes.ts';
import { printItemsPerSecond } from './batch-items.ts';

/**
 * Taking a batch of 200 MB over a socket: speed, memory and the longest pause of the event loop, with and without a
 * storage. Then requests per second on every storage. PostgreSQL is left out where it is not installed.
 * Usage: npm run bench:batch
 */
const server = fileURLToPath(new URL('servers/batches.ts', import.meta.url));
const small = (): Iterable<Buffer> => batchBody(2_000_000, 50);
const bodies = {
  '5,000 requests of 39 kB': () => batchBody(195_000_000, 5_000),
  '200 requests of 980 kB': () => batchBody(195_000_000, 200),
};

{
  using folder = temporaryFolder();
  await using postgres: Postgres | undefined = findPostgres() === undefined ? undefined : await startPostgres();
  const stores = [
    ['none', ''],
    ['sqlite', folder.file('batches.db')],
    ...(postgres === undefined ? [] : [['postgres', postgres.connectionString] as const]),
  ] as const;
  for (const [name, body] of Object.entries(bodies)) {
    for (const [kind, where] of stores) {
      // The first one warms up: memory for code is no memory for bodies.
      const command = [process.execPath, server, kind, where] as const;
      const { status, megabytes, seconds, grownBytes, blockedMs } = await measureUpload(command, [small, body]);
      const figures = [
        `${(megabytes / seconds).toFixed(0)} MB/s`,
        `memory +${(grownBytes / 1e6).toFixed(0)} MB`,
        `longest pause ${blockedMs.toFixed(0)} ms`,
      ];
      console.log(`${megabytes.toFixed(0)} MB, ${name}, storage ${kind}: ${status}, ${figures.join(', ')}`);
    }
  }
}
await printItemsPerSecond();
if (findPostgres() !== undefined) await printProcesses();
