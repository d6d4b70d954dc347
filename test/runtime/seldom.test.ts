import { describe, expect, it } from 'vitest';
import { seldom } from '../../src/platform/seldom.ts';

describe('what is told seldom', () => {
  it('is told once a minute, each text by itself', () => {
    let time = 0;
    const told: string[] = [];
    const tell = seldom({ now: () => time }, (text) => told.push(`${time}: ${text}`));
    for (time = 0; time <= 120_000; time += 1_000) {
      tell('The database is gone');
      if (time === 30_000) tell('The disk is full');
    }
    expect(told).toEqual([
      '0: The database is gone',
      '30000: The disk is full',
      '60000: The database is gone',
      '120000: The database is gone',
    ]);
  });
});
