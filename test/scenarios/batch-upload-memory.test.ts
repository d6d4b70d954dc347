import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { STORMS_ARE_FULL } from '../support/storms.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { batchOfFile, inlineBatch, measureUpload } from '../support/upload.ts';

const SERVER = fileURLToPath(new URL('../../bench/servers/batches.ts', import.meta.url));
const MEGABYTE = 1e6;
const SIZE = 90 * MEGABYTE;
/** What warms the server up: memory for code is no memory for bodies. */
const SMALL = [inlineBatch(2 * MEGABYTE, 50), batchOfFile(2 * MEGABYTE, 50)];

const CASES = [
  ['of short requests, by itself', 'none', inlineBatch(SIZE, 2_500)],
  ['of requests of a megabyte, into a file', 'sqlite', inlineBatch(SIZE, 90)],
  ['of requests of a megabyte that were uploaded, into a file', 'sqlite', batchOfFile(SIZE, 90)],
] as const;
/** What is not held on its way into a file is not held by itself: that tells where it was. */
const BY_ITSELF = ['of requests of a megabyte, by itself', 'none', inlineBatch(SIZE, 90)] as const;

describe('a large batch is taken without being held in memory', () => {
  it.each([...CASES, ...(STORMS_ARE_FULL ? [BY_ITSELF] : [])])(
    '%s',
    { timeout: 60_000 },
    async (_what, kind, upload) => {
      using folder = temporaryFolder();
      const command = [process.execPath, SERVER, kind, folder.file('batches.db')] as const;
      const { status, body, megabytes, grownBytes } = await measureUpload(command, [...SMALL, upload]);
      expect(status).toBe(202);
      expect(JSON.parse(body)).toMatchObject({ status: 'validating' });
      expect(megabytes).toBeGreaterThan(90);
      expect(grownBytes).toBeLessThan(80 * MEGABYTE);
    },
  );
});
