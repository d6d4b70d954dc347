import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { inlineBatch, measureUpload } from '../support/upload.ts';

const SERVER = fileURLToPath(new URL('../../bench/servers/batches.ts', import.meta.url));
const MEGABYTE = 1e6;

describe('a large batch', () => {
  it('is taken without being held in memory', async () => {
    const { status, body, megabytes, grownBytes } = await measureUpload(
      [process.execPath, SERVER, 'none'],
      [inlineBatch(2 * MEGABYTE, 50), inlineBatch(90 * MEGABYTE, 2_500)],
    );
    expect(status).toBe(202);
    expect(JSON.parse(body)).toMatchObject({ status: 'validating' });
    expect(megabytes).toBeGreaterThan(90);
    expect(grownBytes).toBeLessThan(64 * MEGABYTE);
  });
});
