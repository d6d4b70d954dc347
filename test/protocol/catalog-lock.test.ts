import { describe, expect, it } from 'vitest';
import { checkCatalogLock } from '../../src/protocol/catalog-lock.ts';

/** A lock with one model that says this. */
function lockWith(endpoint: object): object {
  return {
    version: 1,
    origins: [{ source: 'a test', date: '2026-11-20', licence: 'MIT' }],
    vendors: { alpha: { one: { endpoint, from: { price: 0 } } } },
  };
}

describe('a catalog lock', () => {
  it('may hold members that this version does not know', () => {
    expect(checkCatalogLock({ ...lockWith({ colour: 'red' }), more: true })).toEqual({ ok: true });
  });

  const rates = { prompt: 1, completion: 1 };
  it.each<readonly [unknown, string]>([
    [null, ''],
    ['text', ''],
    [{}, 'version'],
    [{ ...lockWith({}), version: 2 }, 'version'],
    [{ ...lockWith({}), origins: [{ source: 'a test', date: 'yesterday', licence: 'MIT' }] }, 'origins[0].date'],
    [{ version: 1, origins: [], vendors: { alpha: { one: {} } } }, 'vendors.alpha.one.from'],
    [lockWith({ price: { prompt: 1 } }), 'vendors.alpha.one.endpoint.price.completion'],
    [lockWith({ price: { prompt: -1, completion: 1 } }), 'vendors.alpha.one.endpoint.price.prompt'],
    [lockWith({ contextLength: '1' }), 'vendors.alpha.one.endpoint.contextLength'],
    [lockWith({ inputModalities: ['text', 'smell'] }), 'vendors.alpha.one.endpoint.inputModalities[1]'],
    [
      lockWith({ price: { ...rates, changes: [{ hours: { from: 0, to: 1_440 }, price: rates }] } }),
      'vendors.alpha.one.endpoint.price.changes[0].hours.to',
    ],
    [
      lockWith({ price: { ...rates, serviceTiers: { flex: { prompt: 1 } } } }),
      'vendors.alpha.one.endpoint.price.serviceTiers.flex.completion',
    ],
  ])('%j is refused at "%s"', (value, path) => {
    expect(checkCatalogLock(value)).toEqual({ ok: false, path, problem: expect.any(String) as string });
  });
});
