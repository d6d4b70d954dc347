import { describe, expect, it } from 'vitest';
import { StreamReaders } from '../../../src/runtime/streams/stream-readers.ts';

describe('readers of a kept stream', () => {
  it('are eight at a time, for each stream by itself', () => {
    const readers = new StreamReaders();
    const leaves = Array.from({ length: 8 }, () => readers.enter('one'));
    expect(() => readers.enter('one')).toThrow(expect.objectContaining({ status: 429 }) as Error);
    expect(() => readers.enter('one')).toThrow('8 readers of one stream');
    readers.enter('two')();
    leaves[0]?.();
    leaves[0]?.();
    readers.enter('one');
    expect(() => readers.enter('one')).toThrow('8 readers of one stream');
  });
});
