import { fileURLToPath } from 'node:url';
import { type Postgres, startPostgres } from '../test/support/postgres.ts';
import { findPostgres } from '../test/support/servers.ts';
import { temporaryFolder } from '../test/support/temporary-folder.ts';
import { batchOfFile, inlineBatch, measureUpload } from '../test/support/upload.ts';

const SERVER = fileURLToPath(new URL('servers/batches.ts', import.meta.url));
const TOTAL = 195_000_000;
/** The first ones warm up: memory for code is no memory for bodies. */
const SMALL = [inlineBatch(2_000_000, 50), batchOfFile(2_000_000, 50)];
const UPLOADS = {
  '5,000 requests of 39 kB': inlineBatch(TOTAL, 5_000),
  '200 requests of 980 kB': inlineBatch(TOTAL, 200),
  '5,000 requests of 39 kB in a file': batchOfFile(TOTAL, 5_000),
  '200 requests of 980 kB in a file': batchOfFile(TOTAL, 200),
};

/**
 * Taking a batch of 200 MB over a socket, with its requests in the body and in a file that is uploaded before: speed,
 * memory and the longest pause of the event loop, with and without a storage.
 */
export async function printUploads(): Promise<void> {
  using folder = temporaryFolder();
  await using postgres: Postgres | undefined = findPostgres() === undefined ? undefined : await startPostgres();
  const stores = [
    ['none', ''],
    ['sqlite', folder.file('batches.db')],
    ...(postgres === undefined ? [] : [['postgres', postgres.connectionString] as const]),
  ] as const;
  for (const [name, upload] of Object.entries(UPLOADS)) {
    for (const [kind, where] of stores) {
      // Without a storage there are no files.
      if (kind === 'none' && name.endsWith('file')) continue;
      const command = [process.execPath, SERVER, kind, where] as const;
      const { status, megabytes, seconds, grownBytes, ...more } = await measureUpload(command, [...SMALL, upload]);
      const figures = [
        `${(megabytes / seconds).toFixed(0)} MB/s`,
        `memory +${(grownBytes / 1e6).toFixed(0)} MB`,
        `longest pause ${more.blockedMs.toFixed(0)} ms (${more.workMs.toFixed(0)} ms of CPU)`,
        `CPU ${more.cpuSeconds.toFixed(1)} s`,
      ];
      console.log(`${megabytes.toFixed(0)} MB, ${name}, storage ${kind}: ${status}, ${figures.join(', ')}`);
    }
  }
}
