import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StreamKeys } from '../../../src/runtime/streams/stream-layout.ts';
import { StreamRoom } from '../../../src/runtime/streams/stream-room.ts';
import { runs } from '../../support/properties.ts';

const HOUR = 3_600_000;

/** A room of a thousand bytes, and what was dropped from it. */
function roomOf(limit = 1_000): {
  room: StreamRoom;
  dropped: string[];
  keep: (name: string, bytes: number) => boolean;
} {
  const dropped: string[] = [];
  const room = new StreamRoom(limit, limit / 16, (keys) => dropped.push(keys.stream));
  const keep = (name: string, bytes: number): boolean => {
    const keys = keysOf(name);
    const isKept = room.make(keys, bytes, 0);
    if (isKept) room.ended(keys, bytes, HOUR);
    return isKept;
  };
  return { room, dropped, keep };
}

const keysOf = (name: string): StreamKeys => new StreamKeys(name.slice(0, 1), name);
const named = (names: readonly string[]): readonly string[] => names.map((name) => keysOf(name).stream);

describe('room for kept streams', () => {
  it('is made of the own streams of an account that has its share, the oldest first', () => {
    const { dropped, keep } = roomOf();
    keep('b1', 60);
    for (let each = 1; each <= 22; each += 1) expect(keep(`a${each}`, 60)).toBe(true);
    expect(dropped).toEqual(named(Array.from({ length: 14 }, (_, at) => `a${at + 1}`)));
  });

  it('is made of the streams of who has most where all of it is taken', () => {
    const { dropped, keep } = roomOf();
    for (let each = 1; each <= 8; each += 1) keep(`a${each}`, 60);
    for (let each = 1; each <= 7; each += 1) keep(`b${each}`, 60);
    expect(dropped).toEqual([]);
    expect(keep('c1', 60)).toBe(true);
    expect(keep('c2', 60)).toBe(true);
    expect(dropped).toEqual(named(['a1']));
  });

  it('is everything for an account that is alone', () => {
    const { room, dropped, keep } = roomOf();
    room.divide('one');
    for (let each = 1; each <= 16; each += 1) expect(keep(`a${each}`, 60)).toBe(true);
    expect(dropped).toEqual([]);
    keep('a17', 60);
    expect(dropped).toEqual(named(['a1']));
  });

  it('is given back by what was deleted, dropped or is over', () => {
    const { room, keep } = roomOf();
    for (let each = 1; each <= 8; each += 1) keep(`a${each}`, 60);
    expect(room.make(keysOf('a9'), 60, 0)).toBe(true);
    room.free(keysOf('a9'), 60);
    room.forget(keysOf('a8'));
    room.forget(keysOf('a8'));
    expect(room.make(keysOf('a10'), 60, 2 * HOUR)).toBe(true);
    for (let each = 1; each <= 7; each += 1) expect(room.make(keysOf(`a1${each}`), 60, 2 * HOUR)).toBe(true);
    // None of these has ended, so nothing can make room.
    expect(room.make(keysOf('a20'), 60, 2 * HOUR)).toBe(false);
  });

  it('keeps the ended stream of an account that has little, whatever the others keep', () => {
    const streams = fc.array(
      fc.record({ of: fc.constantFrom('a', 'c', 'd', 'e'), bytes: fc.integer({ min: 1, max: 62 }) }),
      {
        maxLength: 200,
      },
    );
    fc.assert(
      fc.property(streams, fc.nat({ max: 20 }), (kept, at) => {
        const { dropped, keep } = roomOf();
        for (const [index, { of, bytes }] of kept.entries()) {
          if (index === at) expect(keep('b1', 62)).toBe(true);
          keep(`${of}${index}`, bytes);
        }
        expect(dropped).not.toContain(keysOf('b1').stream);
      }),
      runs(400),
    );
  });
});
