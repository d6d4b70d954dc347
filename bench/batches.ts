import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { batchBody, measureUpload } from '../test/support/upload.ts';

/**
 * Taking a batch of 200 MB: speed, memory and the longest pause of the event loop, without a storage and with SQLite.
 * Usage: npm run bench:batch
 */
const server = fileURLToPath(new URL('servers/batches.ts', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'signalbox-bench-'));
const small = (): Iterable<Buffer> => batchBody(2_000_000, 50);
const bodies = {
  '5,000 requests of 39 kB': () => batchBody(195_000_000, 5_000),
  '200 requests of 980 kB': () => batchBody(195_000_000, 200),
};

try {
  for (const [name, body] of Object.entries(bodies)) {
    for (const kind of ['none', 'sqlite']) {
      const command = [process.execPath, server, kind, join(folder, `${kind}-${name}.db`)] as const;
      // The first one warms up: memory for code is no memory for bodies.
      const { status, megabytes, seconds, grownBytes, blockedMs } = await measureUpload(command, [small, body]);
      const figures = [
        `${(megabytes / seconds).toFixed(0)} MB/s`,
        `memory +${(grownBytes / 1e6).toFixed(0)} MB`,
        `longest pause ${blockedMs.toFixed(0)} ms`,
      ];
      console.log(`${megabytes.toFixed(0)} MB, ${name}, storage ${kind}: ${status}, ${figures.join(', ')}`);
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
