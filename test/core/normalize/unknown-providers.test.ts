import { describe, expect, it } from 'vitest';
import { buildCatalog } from '../../../src/catalog/catalog.ts';
import { unknownProviders } from '../../../src/core/normalize/unknown-providers.ts';
import { simulated } from '../../../src/index.ts';

const east = simulated({ slug: 'east', name: 'Far East', models: { 'acme/one': { tag: 'priority' } } });
const west = simulated({ slug: 'northwest', models: { 'acme/one': {} } });
const catalog = buildCatalog([east, west]);
const NOTHING = { order: [], only: [], ignore: [] };

describe('providers that a request names and a router does not have', () => {
  it('are said with the nearest that it has, in whichever list they are', () => {
    for (const list of ['order', 'ignore'] as const) {
      expect(unknownProviders({ ...NOTHING, [list]: ['eest'] }, catalog)).toEqual([
        `"eest" in ${list} is no provider of this router; did you mean "east"?`,
      ]);
    }
    expect(unknownProviders({ ...NOTHING, only: [['northwest'], ['wset1']] }, catalog)).toEqual([
      '"wset1" in only is no provider of this router, which has "east" or "northwest"',
    ]);
  });

  it('are none where a slug, a display name or an endpoint has that name, in any case', () => {
    expect(unknownProviders({ ...NOTHING, order: ['EAST', 'far east', 'east/priority'] }, catalog)).toEqual([]);
  });

  it('are said where only the endpoint is wrong', () => {
    expect(unknownProviders({ ...NOTHING, order: ['east/priorty'] }, catalog)).toEqual([
      '"east/priorty" in order is no provider of this router; did you mean "east/priority"?',
    ]);
  });

  it('are vendors whose key is missing, which may be ignored without a word', () => {
    expect(unknownProviders({ ...NOTHING, order: ['anthropic'], ignore: ['openai'] }, catalog)).toEqual([
      '"anthropic" in order is no provider of this router; set ANTHROPIC_API_KEY, or add anthropic() to its providers',
    ]);
  });

  it('are said once, and short', () => {
    const [sentence = '', ...more] = unknownProviders(
      { ...NOTHING, order: ['x'.repeat(5_000), 'x'.repeat(5_000)] },
      catalog,
    );
    expect(more).toEqual([]);
    expect(sentence.length).toBeLessThan(300);
  });
});
