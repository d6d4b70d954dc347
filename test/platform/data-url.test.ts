import * as fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { toBase64 } from '../../src/platform/data-url.ts';

afterEach(() => void vi.unstubAllGlobals());

describe('bytes as base64', () => {
  const bytes = fc.tuple(fc.uint8Array({ maxLength: 200 }), fc.integer({ min: 0, max: 300 }));

  it.each(['with', 'without'])('are the same %s what Node has for it, of any part of a buffer', (way) => {
    fc.assert(
      fc.property(bytes, fc.nat(3), ([some, times], skipped) => {
        const long = new Uint8Array(Array.from({ length: times }, () => [...some]).flat());
        const part = long.subarray(Math.min(skipped, long.length));
        const expected = Buffer.from(part).toString('base64');
        if (way === 'without') vi.stubGlobal('Buffer', undefined);
        const written = toBase64(part);
        vi.unstubAllGlobals();
        expect(written).toBe(expected);
      }),
      { numRuns: 100 },
    );
  });
});
