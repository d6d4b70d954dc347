import { describe, expect, it } from 'vitest';
import { VENDOR_WORDINGS } from '../../../src/core/fallback/vendor-wordings.ts';

describe('the table of what providers say when they refuse', () => {
  it.each(VENDOR_WORDINGS.map((row) => [`${row.vendor}: ${row.kind}`, row] as const))(
    'says where each wording was seen, and by what it is known: %s',
    (_name, { code, message, source, statuses }) => {
      for (const one of source.split(', ')) expect(one).toMatch(/^[\w-]+(?:\.[\w-]+)+\/\S+$/);
      expect(code ?? message).toBeDefined();
      expect(statuses.length).toBeGreaterThan(0);
      // Wordings that are asked for one text after the other must not remember where they stopped.
      expect([code?.global, message?.global]).not.toContain(true);
    },
  );

  it('finds what concerns more than one request at the beginning of a message only: callers are quoted in them', () => {
    const wide = VENDOR_WORDINGS.filter(({ concerns, message }) => concerns !== 'request' && message !== undefined);
    expect(wide.length).toBeGreaterThan(3);
    expect(wide.filter(({ message }) => message?.source.startsWith('^') !== true)).toEqual([]);
  });
});
