import { afterEach, expect, it, vi } from 'vitest';
import { ByteBuffer } from '../../src/platform/byte-buffer.ts';

afterEach(() => void vi.restoreAllMocks());

it.each([1, 4, 32])('puts %i MB together from small pieces without copying each byte many times', (megabytes) => {
  const copies = vi.spyOn(Uint8Array.prototype, 'set');
  const piece = new Uint8Array(16_384).fill(7);
  const buffer = new ByteBuffer();
  while (buffer.length < megabytes * 1_048_576) buffer.add(piece);
  const copied = copies.mock.calls.reduce((sum, [bytes]) => sum + bytes.length, 0);
  expect(copied).toBeLessThanOrEqual(2 * buffer.length);
  expect(Buffer.from(buffer.all()).equals(Buffer.alloc(buffer.length, 7))).toBe(true);
});
